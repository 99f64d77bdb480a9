package actors

import (
	"context"
	"errors"
	"fmt"
)

// Survey lists all workers, for the operator.
func (n *Node) Survey(ctx context.Context, m *SurveyWorkers) (*Workers, error) {
	return askNode[Workers](ctx, n, n.parts.pool, m)
}

// AddWorker adds a worker and writes it down.
func (n *Node) AddWorker(ctx context.Context, m *AddWorker) (WorkerInfo, error) {
	return n.change(ctx, m)
}

// DrainWorker tells a worker to take no more tasks.
func (n *Node) DrainWorker(ctx context.Context, m *DrainWorker) (WorkerInfo, error) {
	return n.change(ctx, m)
}

// ResumeWorker lets a drained worker take tasks again.
func (n *Node) ResumeWorker(ctx context.Context, m *ResumeWorker) (WorkerInfo, error) {
	return n.change(ctx, m)
}

// RemoveWorker ends a worker that was added and forgets it.
func (n *Node) RemoveWorker(ctx context.Context, m *RemoveWorker) (WorkerInfo, error) {
	return n.change(ctx, m)
}

func (n *Node) change(ctx context.Context, m any) (WorkerInfo, error) {
	c, err := askNode[WorkerChanged](ctx, n, n.parts.pool, m)
	if err != nil {
		return WorkerInfo{}, err
	}
	return c.Result()
}

// errNoAccount: what belongs to no account, as shared workers do, is not removed with
// one.
var errNoAccount = errors.New("remove an account: none is named")

// RemoveAccount ends what an account has in the node and erases what is on disk
// of it. Where that fails it can be called again. What an account has outside the
// node, its tokens first, is for the caller to remove before.
func (n *Node) RemoveAccount(ctx context.Context, m *RemoveAccount) (*AccountRemoved, error) {
	if m.Account == "" {
		return nil, errNoAccount
	}
	r, err := askNode[AccountRemoved](ctx, n, n.parts.admission, m)
	if err == nil && r.Fault != "" {
		err = errors.New(r.Fault)
	}
	if err == nil {
		err = n.settle(ctx, m.Account)
	}
	if err == nil && n.parts.usage != nil {
		err = n.parts.usage.Written(ctx, m.Account)
	}
	if err == nil {
		n.parts.board.forget(m.Account)
		n.parts.feed.forget(m.Account)
		err = n.parts.records.eraseAccount(ctx, m.Account)
	}
	if err != nil {
		return nil, fmt.Errorf("remove an account: %w", err)
	}
	return r, nil
}
