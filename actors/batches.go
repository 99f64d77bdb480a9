package actors

import (
	"context"
	"strconv"
	"time"

	"troupe/actors/api"
	"troupe/actors/batch"
	"troupe/engine"
)

// openBatches reads the batches of an earlier process. Of nodes that share a queue, the one
// that orders it has them: see [Node.leadBatches].
func (n *Node) openBatches() (err error) {
	p := n.parts
	if p.queue == nil || p.sharesQueue() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), recoverTimeout)
	defer cancel()
	p.batches, err = batch.Open(ctx, n.batchConfig())
	return err
}

func (n *Node) batchConfig() batch.Config {
	p := n.parts
	return batch.Config{
		Records: p.records, Queue: batchQueue{n}, Log: p.log,
		Limits:  func() map[engine.Plan]engine.Limits { return *p.limits.Load() },
		Account: p.cfg.Account,
		Order:   p.order,
		NewID:   func() string { return "batch_" + random(8) + "_" + strconv.FormatInt(time.Now().Unix(), 10) },
	}
}

// order is the place of what ends now in lists of ends.
func (n *nodeParts) order() uint64 {
	now := time.Now()
	return n.orders.Order(now, now)
}

// batchQueue is the queue as batches see it.
type batchQueue struct{ n *Node }

func (q batchQueue) Name(x *api.Execute) *api.Execute { return q.n.withQueueID(withID(x)) }

func (q batchQueue) Add(ctx context.Context, x *api.Execute) (*api.Started, error) {
	return q.n.start(ctx, x, 0)
}

func (q batchQueue) Cancel(ctx context.Context, m *api.Cancel) error {
	_, err := api.Ask(ctx, q.n, m)
	return err
}

// givenBack tells that the record of a task is gone that its batch wants to keep.
type givenBack struct {
	task string
	err  error
}

// giveBack takes a task out of the queue whose batch is paused. The batch adds it again
// when it goes on.
func (u *queue) giveBack(task string, t *queuedTask) {
	t.leaving = true
	u.write(t.place.Account, func(c context.Context) error {
		return u.node.records.Queue().Delete(c, t.place.Key(task), false)
	}, func(err error) any { return &givenBack{task, err} })
}

func (u *queue) onGivenBack(m *givenBack) {
	t := u.live[m.task]
	if t == nil {
		return
	}
	u.written(t.place.Account)
	t.leaving = false
	if m.err != nil {
		u.node.log.Error().Err(m.err).Str("task", m.task).Msg("task of a paused batch not given back")
		u.putBack(m.task, u.after(again))
		return
	}
	if t.cause != "" { // it was cancelled meanwhile
		u.endWaiting(&endWaiting{q: t.q, key: t.place.Key(m.task), task: m.task, out: cancelledOutcome(), code: engine.CodeCancelled})
		return
	}
	u.release(m.task)
	delete(u.live, m.task)
	u.touched(m.task)
	u.node.feeder().Returned(t.q.Batch)
	u.wake(m.task)
}
