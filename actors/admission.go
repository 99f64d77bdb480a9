package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/engine"
)

// usage is what admission counts with.
type usage interface {
	Take(ctx context.Context, account string, limit int64, now time.Time) (used int64, ok bool, err error)
	GiveBack(ctx context.Context, account string, taken time.Time) error
}

// countTimeout bounds one change of the daily count.
const countTimeout = 5 * time.Second

// admission applies the rules that come before any worker: the plan, whose
// worker it is, the daily count. The count is in a store, so it is taken beside
// the mailbox.
type admission struct {
	node     *nodeParts
	owners   map[string]string
	usage    usage                // nil: nothing is counted
	counting map[string]*admitted // by task
}

// counted says how the taking of a daily count ended.
type counted struct {
	adm  *admitted
	used int64
	ok   bool
	err  error
}

func (a *admission) Receive(ctx actor.Context) {
	defer recoverIn(ctx, a.node)
	switch m := ctx.Message().(type) {
	case *Execute:
		a.onExecute(ctx, m, false)
	case *attended:
		a.onExecute(ctx, m.Execute, true)
	case *counted:
		a.onCounted(ctx, m)
	case *giveBack:
		a.count(func(c context.Context) error { return a.usage.GiveBack(c, m.Account, m.Counted) })
	case *Cancel:
		if adm := a.counting[m.TaskID]; adm != nil && adm.Execute.Account.ID == m.Account.ID {
			adm.Cause = m.Cause
			reply(ctx, &Cancelled{Found: true})
			return
		}
		ctx.RequestWithCustomSender(a.node.pool, m, ctx.Sender())
	}
}

func (a *admission) onExecute(ctx actor.Context, x *Execute, attended bool) {
	limits, ok := a.node.cfg.Limits[x.Account.Plan]
	if !ok {
		ctx.Respond(refused(x, 0, refuse(engine.CodePlanRequired, "there is no plan "+quoted(string(x.Account.Plan)))))
		return
	}
	timeout, no := admit(x, limits, a.owners)
	if no != nil {
		ctx.Respond(refused(x, timeout, no))
		return
	}
	adm := &admitted{Execute: x, Limits: limits, Timeout: timeout, Client: ctx.Sender(), Attended: attended}
	switch {
	case a.usage == nil || !x.Task.Counts():
		ctx.Send(a.node.pool, adm)
	case a.counting[x.TaskID] != nil:
		ctx.Respond(refused(x, timeout, refuse(engine.CodeInternal, "two tasks have the same id")))
	default:
		a.counting[x.TaskID] = adm
		root, self, now := ctx.ActorSystem().Root, ctx.Self(), time.Now()
		a.count(func(c context.Context) error {
			m := &counted{adm: adm, err: errNobody} // unless it does not panic
			defer func() { root.Send(self, m) }()
			m.used, m.ok, m.err = a.usage.Take(c, x.Account.ID, limits.TasksPerDay, now)
			adm.Counted = now
			return m.err
		})
	}
}

func (a *admission) onCounted(ctx actor.Context, m *counted) {
	x := m.adm.Execute
	delete(a.counting, x.TaskID)
	switch {
	case m.err != nil:
		ctx.Send(m.adm.Client, refused(x, m.adm.Timeout, refuse(engine.CodeInternal, "")))
	case !m.ok:
		ctx.Send(m.adm.Client, refused(x, m.adm.Timeout, dailyLimit(x.Account, m.used, time.Now())))
	default:
		ctx.Send(a.node.pool, m.adm)
	}
}

// count changes a daily count beside the mailbox.
func (a *admission) count(f func(context.Context) error) {
	a.node.goes.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
		defer cancel()
		if err := protect(func() error { return f(ctx) }); err != nil {
			a.node.log.Error().Err(err).Msg("daily count not changed")
		}
	})
}

func refused(x *Execute, timeout time.Duration, r *Refusal) *Executed {
	return &Executed{TaskID: x.TaskID, Timeout: timeout, Refusal: r}
}
