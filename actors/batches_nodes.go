package actors

import (
	"context"
	"errors"
	"fmt"

	"troupe/actors/api"
	"troupe/actors/batch"
	"troupe/engine"
	"troupe/persistence"
)

// feeder are the batches that this node gives to the queue; nil: it has none, or another
// node orders the queue.
func (n *nodeParts) feeder() *batch.Batches {
	if n.batches != nil {
		return n.batches
	}
	return n.batchLead.Load()
}

// batchOf are the batches that have to hear of a task; nil: it belongs to none.
func (u *queue) batchOf(t *queuedTask) *batch.Batches {
	if t.q != nil && t.q.Batch == nil {
		return nil
	}
	return u.node.feeder()
}

// overFor tells that the queue does not have a task any more: its batch looks up what has
// become of it.
func (u *queue) overFor(task string, t *queuedTask) { u.batchOf(t).Over(task) }

// leadBatches reads the batches of all nodes, for this one that orders the queue in a term
// of its lease.
func (n *Node) leadBatches(ctx context.Context, term uint64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recoverTimeout)
	defer cancel()
	cfg := n.batchConfig()
	cfg.Queue = orderedQueue{cfg.Queue}
	cfg.Serves = func() bool { return n.parts.leases.Serves(term) }
	b, err := batch.Open(ctx, cfg)
	if err != nil {
		return fmt.Errorf("read the batches: %w", err)
	}
	n.parts.batchLead.Store(b)
	return nil
}

func (n *nodeParts) dropBatches() { n.batchLead.Swap(nil).Stop() }

// orderedQueue is the queue as the node knows it that orders it. It does not wait for an
// answer of what orders the queue no more.
type orderedQueue struct{ batch.Queue }

func (q orderedQueue) Add(ctx context.Context, x *api.Execute) (*api.Started, error) {
	type answer struct {
		x   *api.Started
		err error
	}
	got := make(chan answer, 1)
	go func() {
		var a answer
		a.err = protect(func() (err error) {
			a.x, err = q.Queue.Add(ctx, x)
			return err
		})
		got <- a
	}()
	select {
	case a := <-got:
		return a.x, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// withBatches answers a verb about batches, where there are any.
func withBatches[M, R any](refused func(*api.Refusal) *R, f func(*batch.Batches, context.Context, *M) (*R, error)) struct{} {
	return handleInNode(func(n *Node, ctx context.Context, m *M) (*R, error) {
		return atFeeder(n, ctx, m, refused, f)
	})
}

func atFeeder[M, R any](n *Node, ctx context.Context, m *M, refused func(*api.Refusal) *R, f func(*batch.Batches, context.Context, *M) (*R, error)) (*R, error) {
	if no := n.parts.mayBatch(); no != nil {
		return refused(no), nil
	}
	b := n.parts.feeder()
	if b == nil {
		return refused(api.NotOrderedHere()), nil
	}
	r, err := f(b, ctx, m)
	if err == nil || !n.parts.sharesQueue() || ctx.Err() != nil {
		return r, err
	}
	switch {
	case errors.Is(err, persistence.ErrNoQuorum):
		return refused(api.RefusalFor(err)), nil
	case !errors.Is(err, context.Canceled) && !errors.Is(err, persistence.ErrConflict):
		return nil, err
	}
	if again := api.VerbOf(m).Again; again != nil && again(m) { // another node orders the queue now
		return refused(api.NotOrderedHere()), nil
	}
	return refused(api.NobodyOrders()), nil
}

// mayBatch says why there are no batches here, or nil.
func (n *nodeParts) mayBatch() *api.Refusal {
	if n.batches == nil && !n.sharesQueue() {
		return &api.Refusal{Code: engine.CodeQueueUnavailable, Text: "There are no batches where nodes share a store without a lease"}
	}
	return nil
}

// createBatch makes a batch, unless receivers are to be told of its end and nothing can.
func (n *Node) createBatch(ctx context.Context, m *api.CreateBatch) (*api.Batched, error) {
	if m.Task == nil {
		return unbatched(api.Refuse(engine.CodeInvalidRequest, "a batch needs a task")), nil
	}
	if n.parts.notices == nil && len(m.Notify)+len(m.Task.Notify) > 0 {
		return unbatched(&api.Refusal{Code: engine.CodeNoticesUnavailable, Text: noNotices}), nil
	}
	return atFeeder(n, ctx, m, unbatched, (*batch.Batches).Create)
}

// askFeeder asks the node that has the batches.
func askFeeder[R any](ctx context.Context, n *Node, m api.Request[R]) (*R, error) {
	if !n.parts.sharesQueue() {
		return api.Ask(ctx, n, m)
	}
	x, err := n.parts.cfg.Peers.AskQueue(ctx, m)
	if err != nil {
		return nil, err
	}
	return take[R](x)
}

// addBatchItems writes items of a batch, after the node that has the batches has counted
// them. So what they have goes to the store, and nowhere else.
func (n *Node) addBatchItems(ctx context.Context, m *api.AddBatchItems) (*api.Batched, error) {
	if no := n.parts.mayBatch(); no != nil {
		return unbatched(no), nil
	}
	if n.parts.batches != nil {
		return n.parts.batches.Add(ctx, m)
	}
	r := &api.ReserveBatchItems{Account: m.Account, ID: m.ID, From: m.From, Before: m.Before, Items: len(m.Items)}
	for _, it := range m.Items {
		r.Bytes += int64(len(it))
	}
	x, err := askFeeder(ctx, n, r)
	if err == nil && x.Refusal == nil {
		err = n.parts.records.Batches().PutItems(ctx, m.Account.ID, m.ID, m.From, m.Items)
	}
	if err != nil {
		return nil, fmt.Errorf("write items of a batch: %w", err)
	}
	return x, nil
}

// listBatchItems lists items that have ended. What the records have of them is read here.
func (n *Node) listBatchItems(ctx context.Context, m *api.ListBatchItems) (*api.BatchItemsListed, error) {
	if no := n.parts.mayBatch(); no != nil {
		return unlisted(no), nil
	}
	if m.Order == api.OrderDropped {
		return batch.Dropped(ctx, n.parts.records, m)
	}
	if n.parts.batches != nil {
		return n.parts.batches.Items(ctx, m)
	}
	l, err := askFeeder(ctx, n, (*api.ListBatchEnds)(m))
	if err != nil || l.Refusal != nil {
		return l, err
	}
	return l, batch.Fill(ctx, n.parts.records, m, l)
}

// scheduleBatches are the batches as schedules see them: those of all nodes.
type scheduleBatches struct{ n *Node }

func (b scheduleBatches) Create(ctx context.Context, m *api.CreateBatch) (*api.Batched, error) {
	return askFeeder(ctx, b.n, m)
}

func (b scheduleBatches) Add(ctx context.Context, m *api.AddBatchItems) (*api.Batched, error) {
	return b.n.addBatchItems(ctx, m)
}

func (b scheduleBatches) Change(ctx context.Context, m *api.ChangeBatch) (*api.Batched, error) {
	return askFeeder(ctx, b.n, m)
}

func unbatched(no *api.Refusal) *api.Batched         { return &api.Batched{Refusal: no} }
func unlisted(no *api.Refusal) *api.BatchItemsListed { return &api.BatchItemsListed{Refusal: no} }

var (
	_ = handleInNode((*Node).createBatch)
	_ = handleInNode((*Node).addBatchItems)
	_ = withBatches(unbatched, (*batch.Batches).Reserve)
	_ = withBatches(unbatched, (*batch.Batches).Change)
	_ = withBatches(unbatched, (*batch.Batches).Get)
	_ = withBatches(func(no *api.Refusal) *api.BatchesListed { return &api.BatchesListed{Refusal: no} }, (*batch.Batches).List)
	_ = handleInNode((*Node).listBatchItems)
	_ = withBatches(unlisted, (*batch.Batches).Ends)
)
