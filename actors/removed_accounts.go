package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
)

// removedAccounts ends what removed accounts have in the pool.
type removedAccounts struct {
	pool *pool
	all  map[string]bool
	open map[string]*accountRemoval // those that something is left of
}

// accountRemoval is an account that is being removed.
type accountRemoval struct {
	asked []*actor.PID
	count api.AccountRemoved
}

// onRemove ends what an account has here. Where it has a session or a task, the
// worker ends it: it alone knows how far that is.
func (r *removedAccounts) onRemove(ctx actor.Context, m *api.RemoveAccount) {
	a := r.open[m.Account]
	if a == nil {
		a = &accountRemoval{}
		r.open[m.Account], r.all[m.Account] = a, true
		r.disown(ctx, m.Account, &a.count)
	}
	a.asked = append(a.asked, ctx.Sender())
}

func (r *removedAccounts) disown(ctx actor.Context, account string, count *api.AccountRemoved) {
	for _, j := range r.pool.scheduler.Jobs {
		if j.Account() != account {
			continue
		}
		count.Tasks++
		if j.Cause = api.CauseRemoved; j.Waiting() {
			r.pool.refuse(ctx, j, cancelledFor(j.Cause))
		}
	}
	for _, s := range r.pool.scheduler.All {
		if s.Status.Holder == account {
			count.Sessions++
		}
		// A worker that has not reported yet gets the message with its first report.
		if s.Reported && (s.Status.Holder == account || s.Job != nil && s.Job.Account() == account) {
			ctx.Send(s.PID, &workerEndAccount{account})
		}
		if s.Spec.Owner == account {
			count.Workers++
			r.pool.workers.dismiss(ctx, s, 0)
			r.pool.workers.finishRemoval(ctx, s)
		}
	}
}

// check answers the removals of accounts that have nothing left.
func (r *removedAccounts) check(ctx actor.Context) {
	for account, a := range r.open {
		if r.pool.scheduler.Has(account) || r.pool.workers.addsFor(account) {
			continue
		}
		delete(r.open, account)
		for _, asker := range a.asked {
			ctx.Send(asker, &a.count)
		}
	}
}
