package cluster

import (
	"bytes"
	"context"
	"sync"

	"troupe/actors/api"
)

// Requests with a key that are repeated while the first one goes on get its answer. Where
// another node has it, it is brought once for all that wait for it here: each copy would be
// in memory before anybody could weigh it.

// joinedRequests knows the requests with a key of this node's clients that wait for an answer.
type joinedRequests struct {
	mu      sync.Mutex
	first   map[[2]string]*firstRequest // by account and key
	repeats map[string]int              // of an account
}

// firstRequest is a request with a key that others wait for.
type firstRequest struct {
	digest []byte
	over   chan struct{}

	// Set when it is over.
	x    *api.Executed
	err  error
	left bool // it was ended before it had an answer
}

// answered runs a request with a key, or waits for the one of the same key that runs already.
func (j *joinedRequests) answered(ctx context.Context, m *api.Execute, run func() (*api.Executed, error)) (*api.Executed, error) {
	account, id := m.Account.ID, [2]string{m.Account.ID, m.Idempotency.Key}
	for {
		j.mu.Lock()
		if j.first == nil {
			j.first, j.repeats = map[[2]string]*firstRequest{}, map[string]int{}
		}
		first := j.first[id]
		switch {
		case first == nil:
			first = &firstRequest{digest: m.Idempotency.Digest, over: make(chan struct{})}
			j.first[id] = first
			j.mu.Unlock()
			return j.lead(ctx, id, first, run)
		case !bytes.Equal(first.digest, m.Idempotency.Digest): // the node of the key says what is wrong
			j.mu.Unlock()
			return run()
		case j.repeats[account] >= api.MaxRepeats:
			j.mu.Unlock()
			return &api.Executed{TaskID: m.TaskID, Refusal: api.RefuseRepeat()}, nil
		}
		j.repeats[account]++
		j.mu.Unlock()
		select {
		case <-first.over:
		case <-ctx.Done():
		}
		j.mu.Lock()
		if j.repeats[account]--; j.repeats[account] == 0 {
			delete(j.repeats, account)
		}
		j.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !first.left:
			return first.x, first.err
		}
	}
}

// lead runs the first request of a key.
func (j *joinedRequests) lead(ctx context.Context, id [2]string, first *firstRequest, run func() (*api.Executed, error)) (*api.Executed, error) {
	first.left = true // should this panic
	defer func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.first, id)
		close(first.over)
	}()
	first.x, first.err = run()
	first.left = ctx.Err() != nil && (first.err != nil || first.x.Refusal != nil)
	return first.x, first.err
}
