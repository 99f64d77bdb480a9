package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/schedule"
	"troupe/engine"
	"troupe/persistence"
)

// countTimeout bounds one change of the daily count.
const countTimeout = persistence.Patience + 3*time.Second

// admission applies the rules that come before any worker: the plan, whose worker
// it is, the daily count. The count is in a store, so it is taken outside of the
// mailbox.
type admission struct {
	node     *nodeParts
	owners   map[string]string
	counting map[string]*schedule.Request // by task

	gone     map[string]bool         // accounts that were removed
	removing map[string][]*actor.PID // accounts whose tasks are being counted, with their waiting askers
}

func newAdmission(n *nodeParts) *admission {
	a := &admission{
		node: n, owners: map[string]string{}, counting: map[string]*schedule.Request{},
		gone: map[string]bool{}, removing: map[string][]*actor.PID{},
	}
	for _, s := range n.cfg.Workers {
		a.owners[s.ID] = s.Owner
	}
	return a
}

// counted tells how the taking of a daily count ended.
type counted struct {
	adm  *schedule.Request
	used int64
	ok   bool
	err  error
}

func (a *admission) Receive(ctx actor.Context) {
	defer recoverIn(ctx, a.node, a)
	switch m := ctx.Message().(type) {
	case *api.Execute:
		a.onExecute(ctx, m, false)
	case *executeWithAck:
		a.onExecute(ctx, m.Execute, true)
	case *counted:
		a.onCounted(ctx, m)
	case *cancelRunning:
		a.cancelRequest(ctx, m.Cancel)
	case *workerAdded:
		a.owners[m.Worker] = m.Owner
	case *workerRemoved:
		delete(a.owners, m.Worker)
	default:
		admissionVerbs.answer(a, ctx, m)
	}
}

var (
	_ = handle(admissionVerbs, (*admission).onCancel)
	_ = handle(admissionVerbs, (*admission).onRemoveAccount)
)

// onCancel asks the queue first about a task that may wait there.
func (a *admission) onCancel(ctx actor.Context, m *api.Cancel) {
	if a.node.queue != nil && m.Cause != api.CauseClient {
		if _, queued := backlog.PlaceOf(m.Account.ID, m.TaskID); queued {
			ctx.RequestWithCustomSender(a.node.queue, m, ctx.Sender())
			return
		}
	}
	a.cancelRequest(ctx, m)
}

func (a *admission) cancelRequest(ctx actor.Context, m *api.Cancel) {
	if adm := a.counting[m.TaskID]; adm != nil && adm.Execute.Account.ID == m.Account.ID {
		adm.Cause = m.Cause
		reply(ctx, &api.Cancelled{Found: true})
		return
	}
	ctx.RequestWithCustomSender(a.node.pool, m, ctx.Sender())
}

func (a *admission) onRemoveAccount(ctx actor.Context, m *api.RemoveAccount) {
	a.gone[m.Account] = true
	a.removeCounted(ctx, m, ctx.Sender())
}

// removeCounted passes the removal of an account to pool when none of its tasks
// is being counted any more. So pool has seen all of its requests by then.
func (a *admission) removeCounted(ctx actor.Context, m *api.RemoveAccount, asker *actor.PID) {
	for _, adm := range a.counting {
		if adm.Execute.Account.ID == m.Account {
			a.removing[m.Account] = append(a.removing[m.Account], asker)
			return
		}
	}
	ctx.RequestWithCustomSender(a.node.pool, m, asker)
}

func (a *admission) onExecute(ctx actor.Context, x *api.Execute, attended bool) {
	if a.gone[x.Account.ID] {
		ctx.Respond(x.Refused(0, cancelledFor(api.CauseRemoved)))
		return
	}
	limits, ok := (*a.node.limits.Load())[x.Account.Plan]
	if !ok {
		ctx.Respond(x.Refused(0, api.Refuse(engine.CodePlanRequired, "there is no plan "+api.Quoted(string(x.Account.Plan)))))
		return
	}
	timeout, no := admit(x, limits, a.owners)
	if text := a.node.cfg.Isolation.Refuses(x.Task.Config.Isolation); no == nil && text != "" {
		no = api.Refuse(engine.CodeInvalidRequest, text)
	}
	if no != nil {
		ctx.Respond(x.Refused(timeout, no))
		return
	}
	adm := &schedule.Request{Execute: x, Limits: limits, Timeout: timeout, Client: ctx.Sender(), NeedsAck: attended}
	switch {
	case a.node.usage == nil || !x.Task.Counts():
		ctx.Send(a.node.pool, adm)
	case limits.TasksPerDay <= 0: // nothing to decide: it is written while the task runs
		if err := a.node.usage.Ready(); err != nil {
			ctx.Respond(x.Refused(timeout, api.RefusalFor(err)))
			return
		}
		adm.Counted = time.Now()
		a.node.usage.Count(x.Account.ID, adm.Counted)
		ctx.Send(a.node.pool, adm)
	case a.takeNow(adm):
		ctx.Send(a.node.pool, adm)
	case a.counting[x.TaskID] != nil:
		ctx.Respond(x.Refused(timeout, api.Refuse(engine.CodeInternal, "two tasks have the same id")))
	default:
		a.counting[x.TaskID] = adm
		root, self, now := ctx.ActorSystem().Root, ctx.Self(), time.Now()
		a.count(func(c context.Context) error {
			m := &counted{adm: adm, err: errNoActor} // unless it does not panic
			defer func() { root.Send(self, m) }()
			m.used, m.ok, m.err = a.node.usage.Take(c, x.Account.ID, limits.TasksPerDay, now)
			m.err = a.node.explainLate(c, m.err)
			adm.Counted = now
			return m.err
		})
	}
}

// takeNow counts the task on the node's share of the account's day, if that has
// one left.
func (a *admission) takeNow(adm *schedule.Request) bool {
	now := time.Now()
	if !a.node.usage.TakeNow(adm.Execute.Account.ID, adm.Limits.TasksPerDay, now) {
		return false
	}
	adm.Counted = now
	return true
}

func (a *admission) onCounted(ctx actor.Context, m *counted) {
	x := m.adm.Execute
	delete(a.counting, x.TaskID)
	switch {
	case a.gone[x.Account.ID]:
		ctx.Send(m.adm.Client, x.Refused(m.adm.Timeout, cancelledFor(api.CauseRemoved)))
		waiting := a.removing[x.Account.ID]
		delete(a.removing, x.Account.ID)
		for _, asker := range waiting {
			a.removeCounted(ctx, &api.RemoveAccount{Account: x.Account.ID}, asker)
		}
	case m.err != nil:
		ctx.Send(m.adm.Client, x.Refused(m.adm.Timeout, api.RefusalFor(m.err)))
	case !m.ok:
		ctx.Send(m.adm.Client, x.Refused(m.adm.Timeout, dailyLimit(x.Account, m.used, time.Now())))
	default:
		ctx.Send(a.node.pool, m.adm)
	}
}

// count changes a daily count outside of the mailbox.
func (a *admission) count(f func(context.Context) error) {
	a.node.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
		defer cancel()
		if err := protect(func() error { return f(ctx) }); err != nil {
			a.node.log.Error().Err(err).Msg("daily count not changed")
		}
	})
}

// admit decides by the rules of the account's plan. It returns the time the
// task may take. It does not count: that takes a store.
func admit(x *api.Execute, limits engine.Limits, owners map[string]string) (time.Duration, *api.Refusal) {
	t := x.Task
	timeout, lacking := limits.Admit(t)
	if lacking != "" {
		return 0, api.Refuse(engine.CodePlanRequired, fmt.Sprintf("plan %s has no %s", x.Account.Plan, lacking))
	}
	if x.Target() != "" {
		// A foreign worker and an unknown one must look the same.
		if owner, ok := owners[t.WorkerID]; !ok || owner != "" && owner != x.Account.ID {
			return 0, api.Refuse(engine.CodeForeignWorker, fmt.Sprintf("%q", t.WorkerID))
		}
	}
	return timeout, nil
}
