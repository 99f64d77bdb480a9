package persistence

import (
	"context"
	"errors"
	"fmt"
)

// request is a change on its way through the writer.
type request struct {
	change
	ctx  context.Context
	done chan answer // nil: nobody waits
	answer
	rest  []*request // follow it
	after *request   // goes before it: if that fails, so does this
}

// last is the one that is answered.
func (r *request) last() *request {
	if n := len(r.rest); n > 0 {
		return r.rest[n-1]
	}
	return r
}

// answer is what came of a request.
type answer struct {
	revision uint64
	total    int64
	ok       bool
	err      error
}

func (r *request) reply() {
	if r.done != nil {
		r.done <- r.answer
	}
}

func (b *Badger) do(ctx context.Context, c change) answer {
	if err := b.refuses(c); err != nil {
		return answer{err: fmt.Errorf("write %q: %w", c.key, err)}
	}
	return b.submit(ctx, b.requests, &request{change: c, ctx: ctx, done: make(chan answer, 1)})
}

// refuses says why a change is not made now, or nil. Changes that make room are allowed
// on a full disk, too.
func (b *Badger) refuses(c change) error {
	err := b.Blocked()
	if c.kind != put && c.kind != add && !errors.Is(err, ErrFailed) {
		return nil
	}
	return err
}

// submit hands a request over and waits for its answer. When ctx ends first
// the change may still come about.
func (b *Badger) submit(ctx context.Context, to chan<- *request, r *request) answer {
	if err := b.hand(ctx, to, r); err != nil {
		return answer{err: err}
	}
	return r.last().wait(ctx)
}

// hand hands a request over.
func (b *Badger) hand(ctx context.Context, to chan<- *request, r *request) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return ErrClosed
	}
	select {
	case to <- r:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait waits for the answer to a request that was handed over.
func (r *request) wait(ctx context.Context) answer {
	select {
	case a := <-r.done:
		return a
	case <-ctx.Done():
		return answer{err: context.Cause(ctx)}
	}
}
