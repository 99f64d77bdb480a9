package actors

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// errNoActor tells that the asked actor does not exist, or ended before it
// answered.
var errNoActor = errors.New("nobody is there to answer")

// asker is a process that takes one answer. The library's futures are not used
// because they can give an answer and a timeout for the same question, race
// with their own timer, and know nothing of contexts.
type asker struct {
	answer chan any
	done   atomic.Bool
}

func (p *asker) SendUserMessage(_ *actor.PID, m any) {
	if p.done.CompareAndSwap(false, true) {
		_, msg, _ := actor.UnwrapEnvelope(m)
		p.answer <- msg
	}
}

func (p *asker) SendSystemMessage(_ *actor.PID, m any) {
	if t, ok := m.(*actor.Terminated); ok && p.done.CompareAndSwap(false, true) {
		p.answer <- t
	}
}

func (p *asker) Stop(*actor.PID) {}

// question is a message that was sent and is not answered yet.
type question struct {
	system  *actor.ActorSystem
	to, pid *actor.PID
	asker   *asker
	watched bool
}

// put sends a question. The asker must call forget in the end.
func put(system *actor.ActorSystem, to *actor.PID, m any) *question {
	p := &asker{answer: make(chan any, 1)}
	pid, _ := system.ProcessRegistry.Add(p, "ask"+system.ProcessRegistry.NextID())
	system.Root.RequestWithCustomSender(to, m, pid)
	return &question{system: system, to: to, pid: pid, asker: p}
}

// watchTarget turns the end of the asked actor into an answer. The library drops
// a question that is still in the mailbox then.
func (q *question) watchTarget() {
	q.watched = true
	q.about(&actor.Watch{Watcher: q.pid})
}

func (q *question) forget() {
	if q.watched {
		q.about(&actor.Unwatch{Watcher: q.pid})
	}
	q.system.ProcessRegistry.Remove(q.pid)
}

func (q *question) about(m any) {
	p, _ := q.system.ProcessRegistry.Get(q.to) // without an actor it is the dead letters process, which answers too
	p.SendSystemMessage(q.to, m)
}

// take turns what came into an answer of the wanted type.
func take[T any](got any) (*T, error) {
	switch x := got.(type) {
	case *T:
		return x, nil
	case error:
		return nil, x
	default:
		return nil, errNoActor
	}
}

// askAny asks an actor of the node, and gives whatever it answers.
func askAny(ctx context.Context, n *Node, to *actor.PID, m any) (any, error) {
	q := put(n.parts.system, to, m)
	defer q.forget()
	select {
	case got := <-q.asker.answer:
		switch got := got.(type) {
		case error:
			return nil, fmt.Errorf("ask %s: %w", to.Id, got)
		case *actor.DeadLetterResponse, *actor.Terminated, nil:
			return nil, fmt.Errorf("ask %s: %w", to.Id, errNoActor)
		}
		return got, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("ask %s: %w", to.Id, context.Cause(ctx))
	case <-n.ended:
		return nil, fmt.Errorf("ask %s: %w", to.Id, errNoActor)
	}
}

// ask sends a message and waits for its answer until ctx ends.
func ask[T any](ctx context.Context, system *actor.ActorSystem, to *actor.PID, m any) (*T, error) {
	q := put(system, to, m)
	defer q.forget()
	q.watchTarget()
	return await[T](ctx, q, nil)
}

// await waits for the answer until ctx ends or the asked actor has ended.
func await[T any](ctx context.Context, q *question, ended <-chan struct{}) (*T, error) {
	select {
	case got := <-q.asker.answer:
		return take[T](got)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-ended:
		return nil, errNoActor
	}
}
