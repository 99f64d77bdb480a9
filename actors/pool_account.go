package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
)

// accountRemoval is an account that is being removed.
type accountRemoval struct {
	asked []*actor.PID
	count api.AccountRemoved
}

// onRemoveAccount ends what an account has here. Where it has a session or a
// task, the worker ends it: it alone knows how far that is.
func (p *pool) onRemoveAccount(ctx actor.Context, m *api.RemoveAccount) {
	r := p.removals[m.Account]
	if r == nil {
		r = &accountRemoval{}
		p.removals[m.Account], p.gone[m.Account] = r, true
		p.disown(ctx, m.Account, &r.count)
	}
	r.asked = append(r.asked, ctx.Sender())
}

func (p *pool) disown(ctx actor.Context, account string, count *api.AccountRemoved) {
	for _, j := range p.jobs {
		if j.Account() != account {
			continue
		}
		count.Tasks++
		if j.Cause = api.CauseRemoved; j.Waiting() {
			p.refuse(ctx, j, cancelledFor(j.Cause))
		}
	}
	for _, s := range p.roster.All {
		if s.Status.Holder == account {
			count.Sessions++
		}
		// Whoever has not spoken is told when it does.
		if s.Reported && (s.Status.Holder == account || s.Job != nil && s.Job.Account() == account) {
			ctx.Send(s.PID, &workerDisown{account})
		}
		if s.Spec.Owner == account {
			count.Workers++
			p.dismiss(ctx, s, 0)
			p.finishRemoval(ctx, s)
		}
	}
}

// checkAccountRemovals answers the removals of accounts of which nothing is left.
func (p *pool) checkAccountRemovals(ctx actor.Context) {
	for account, r := range p.removals {
		if p.has(account) {
			continue
		}
		delete(p.removals, account)
		for _, who := range r.asked {
			ctx.Send(who, &r.count)
		}
	}
}

// has reports whether anything of an account goes on.
func (p *pool) has(account string) bool {
	for _, j := range p.jobs {
		if j.Account() == account {
			return true
		}
	}
	for _, s := range p.roster.All {
		if s.Status.Holder == account || s.Spec.Owner == account {
			return true
		}
	}
	for _, spec := range p.adding {
		if spec.Owner == account {
			return true
		}
	}
	return false
}
