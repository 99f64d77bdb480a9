package actors

import (
	"context"
	"fmt"
	"strconv"

	"troupe/actors/api"
	"troupe/actors/cron"
	"troupe/engine"
)

// openSchedules reads the schedules of an earlier process, and of other nodes.
func (n *Node) openSchedules() (err error) {
	p := n.parts
	if p.queue == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), recoverTimeout)
	defer cancel()
	c := cron.Config{
		Records: p.records, Queue: scheduleQueue{batchQueue{n}}, Batches: scheduleBatches{n}, Account: p.cfg.Account, Clock: p.cfg.Clock, Boot: p.boot, Alone: !p.sharesQueue(), Log: p.log,
		Limits: func() map[engine.Plan]engine.Limits { return *p.limits.Load() },
		NewID:  func() string { return "sched_" + random(8) + "_" + strconv.FormatInt(p.cfg.Clock.Now().Unix(), 10) },
	}
	if p.schedules, err = cron.Open(ctx, c); err != nil {
		return fmt.Errorf("read the schedules: %w", err)
	}
	return nil
}

// scheduleQueue is the queue as schedules see it: that of all nodes.
type scheduleQueue struct{ batchQueue }

func (q scheduleQueue) Add(ctx context.Context, x *api.Execute) (*api.Started, error) {
	if q.n.parts.sharesQueue() {
		return q.n.parts.cfg.Peers.StartQueued(ctx, x)
	}
	return q.batchQueue.Add(ctx, x)
}

func (q scheduleQueue) Cancel(ctx context.Context, m *api.Cancel) error {
	if q.n.parts.sharesQueue() {
		return q.n.parts.cfg.Peers.CancelQueued(ctx, m)
	}
	return q.batchQueue.Cancel(ctx, m)
}

// withSchedules answers a verb about schedules, where there are any.
func withSchedules[M, R any](refused func(*api.Refusal) *R, f func(*cron.Schedules, context.Context, *M) (*R, error)) struct{} {
	return handleInNode(func(n *Node, ctx context.Context, m *M) (*R, error) {
		if n.parts.schedules == nil {
			return refused(&api.Refusal{Code: engine.CodeQueueUnavailable, Text: "There are no schedules where nodes share a store without a lease"}), nil
		}
		return f(n.parts.schedules, ctx, m)
	})
}

func unscheduled(no *api.Refusal) *api.Scheduled { return &api.Scheduled{Refusal: no} }

// putSchedule makes or changes a schedule, unless receivers are to be told of the ends of
// its runs and nothing can.
func (n *Node) putSchedule(ctx context.Context, m *api.PutSchedule) (*api.Scheduled, error) {
	switch {
	case n.parts.schedules == nil:
		return unscheduled(&api.Refusal{Code: engine.CodeQueueUnavailable, Text: "There are no schedules where nodes share a store without a lease"}), nil
	case n.parts.notices == nil && (len(m.Spec.Task.Notify) > 0 || m.Spec.Batch != nil && len(m.Spec.Batch.Notify) > 0):
		return unscheduled(&api.Refusal{Code: engine.CodeNoticesUnavailable, Text: noNotices}), nil
	}
	return n.parts.schedules.Put(ctx, m)
}

var (
	_ = handleInNode((*Node).putSchedule)
	_ = withSchedules(unscheduled, (*cron.Schedules).Change)
	_ = withSchedules(unscheduled, (*cron.Schedules).Get)
	_ = withSchedules(func(no *api.Refusal) *api.SchedulesListed { return &api.SchedulesListed{Refusal: no} }, (*cron.Schedules).List)
)
