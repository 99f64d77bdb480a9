package actors

import (
	"context"
	"fmt"
	"reflect"

	"github.com/asynkron/protoactor-go/actor"
)

// handlers are the verbs that one kind of actor answers, see [handle].
type handlers[A any] struct {
	at func(*nodeParts) *actor.PID // where the actor is
	of map[reflect.Type]func(a A, ctx actor.Context, m any)
}

// actorOf is where a verb is answered that the node itself does not handle.
var actorOf = map[reflect.Type]func(*nodeParts) *actor.PID{}

// handle registers the method with which a kind of actor answers a verb. Write it
// next to the method.
func handle[A, M any](h *handlers[A], f func(a A, ctx actor.Context, m *M)) struct{} {
	if h.of == nil {
		h.of = map[reflect.Type]func(A, actor.Context, any){}
	}
	t := reflect.TypeFor[*M]()
	h.of[t] = func(a A, ctx actor.Context, m any) { f(a, ctx, m.(*M)) }
	actorOf[t] = h.at
	return struct{}{}
}

// answer handles the message of a verb. It reports whether the actor answers it.
func (h *handlers[A]) answer(a A, ctx actor.Context, m any) bool {
	f := h.of[reflect.TypeOf(m)]
	if f != nil {
		f(a, ctx, m)
	}
	return f != nil
}

var (
	poolVerbs      = &handlers[*pool]{at: func(n *nodeParts) *actor.PID { return n.pool }}
	admissionVerbs = &handlers[*admission]{at: func(n *nodeParts) *actor.PID { return n.admission }}
	tasksVerbs     = &handlers[*tasks]{at: func(n *nodeParts) *actor.PID { return n.tasks }}
)

// nodeVerbs are the verbs that take more than one actor's answer.
var nodeVerbs = map[reflect.Type]func(ctx context.Context, n *Node, m any) (any, error){}

// handleInNode makes the node itself answer a verb.
func handleInNode[M, R any](f func(n *Node, ctx context.Context, m *M) (*R, error)) struct{} {
	nodeVerbs[reflect.TypeFor[*M]()] = func(ctx context.Context, n *Node, m any) (any, error) {
		var r *R
		err := protect(func() (err error) { // what another node sends is not to end this one
			r, err = f(n, ctx, m.(*M))
			return err
		})
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	return struct{}{}
}

// Do carries out a verb on this node: see [api.Ask].
func (n *Node) Do(ctx context.Context, m any) (any, error) {
	t := reflect.TypeOf(m)
	if f := nodeVerbs[t]; f != nil {
		return f(ctx, n, m)
	}
	at := actorOf[t]
	if at == nil {
		return nil, fmt.Errorf("ask the node: it has no answer to %T", m)
	}
	return askAny(ctx, n, at(n.parts), m)
}
