package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
)

// remote asks other nodes that are up. Waiting for a node ends when it goes down.
type remote struct {
	transport *link.Transport
	peers     *presence
}

// askNamed asks a named node. Its error is a sentence for people.
func (r *remote) askNamed(ctx context.Context, node string, m any, most time.Duration) (any, error) {
	alive, up := r.peers.aliveContext(node)
	if !up {
		return nil, fmt.Errorf("the node %q does not answer, or there is none of this name", node)
	}
	ctx, cancel := within(ctx, alive, most)
	defer cancel(nil)
	x, err := r.transport.Ask(ctx, node, m)
	if undelivered(err) || lost(err) {
		return nil, fmt.Errorf("the node %q does not answer", node)
	}
	return x, err
}

// askVerb asks a node for the reply of a verb.
func (r *remote) askVerb(ctx context.Context, v *api.Verb, node string, m any) (any, error) {
	x, err := r.transport.Ask(ctx, node, m)
	if err == nil && !v.IsReply(x) {
		return nil, fmt.Errorf("ask %s: it answers %T with %T", node, m, x)
	}
	return x, err
}

// findAt asks all nodes that are up at once, and returns the first answer that will do,
// with its node; empty without one.
func findAt[T any](ctx context.Context, r *remote, most time.Duration, m any, will func(*T) bool) (string, *T) {
	node, got := r.findAny(ctx, most, m, func(x any) bool {
		t, ok := x.(*T)
		return ok && will(t)
	})
	if got == nil {
		return "", nil
	}
	return node, got.(*T)
}

func (r *remote) findAny(ctx context.Context, most time.Duration, m any, will func(any) bool) (string, any) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	type found struct {
		node string
		x    any
	}
	nodes := r.peers.upNodes(nil)
	answers := make(chan found, len(nodes))
	for _, node := range nodes {
		go func() {
			alive, up := r.peers.aliveContext(node)
			if !up {
				answers <- found{}
				return
			}
			ctx, cancel := within(ctx, alive, most)
			defer cancel(nil)
			x, err := r.transport.Ask(ctx, node, m)
			if err != nil || !will(x) {
				answers <- found{}
				return
			}
			answers <- found{node, x}
		}()
	}
	for range nodes {
		if f := <-answers; f.node != "" {
			return f.node, f.x
		}
	}
	return "", nil
}

// askAll asks all nodes that are up at once, for a short answer. It omits nodes that do
// not answer.
func askAll[T any](ctx context.Context, r *remote, m any) (all []*T) {
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, node := range r.peers.upNodes(nil) {
		asked.Go(func() {
			alive, up := r.peers.aliveContext(node)
			if !up {
				return
			}
			ctx, cancel := within(ctx, alive, replyTimeout)
			defer cancel(nil)
			if x, err := link.AskFor[T](ctx, r.transport, node, m); err == nil {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, x)
			}
		})
	}
	asked.Wait()
	return all
}

// askNext asks a node for the next piece of a view.
func (r *remote) askNext(ctx context.Context, node, id string) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, viewWait+replyTimeout)
	defer cancel()
	x, err := r.transport.Ask(ctx, node, &link.NextInView{ID: id})
	if err != nil {
		return nil, fmt.Errorf("ask %s for the next piece of a view: %w", node, err)
	}
	return x, nil
}
