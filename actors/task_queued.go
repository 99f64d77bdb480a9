package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/outcome"
)

// lingerQueued is lingerTime for tasks of the queue: thousands may end in a minute.
const lingerQueued = 2 * time.Second

// maxLingering bounds the tasks of the queue that stay after their end. Later ones stay
// only where a client follows their steps.
const maxLingering = 256

func (t *task) linger() time.Duration {
	switch {
	case t.from == nil:
		return lingerTime
	case t.node.lingering.Add(1) > maxLingering && !t.followed:
		return 0
	}
	return lingerQueued
}

// played tells the queue that the worker is free for another one of its tasks.
func (t *task) played() {
	if t.from != nil {
		t.node.system.Root.Send(t.node.queue, &queuedPlayed{t.x.TaskID})
	}
}

// beginsAgain reports whether the task has an attempt left after this end. Then it is
// the queue's again, and this actor ends.
func (t *task) beginsAgain(ctx actor.Context) bool {
	code := outcome.Code(t.out)
	after, again := backlog.Again(t.from.queue, t.rec.Queue.Attempts, code)
	if !again {
		return false
	}
	t.node.log.Info().Str("task", t.x.TaskID).Str("code", string(code)).Int("attempts", t.rec.Queue.Attempts).Dur("after", after).Msg("queued task begins again")
	t.backInQueue(ctx)
	root := t.node.system.Root
	root.Send(t.node.queue, &queuedAgain{Task: t.rec, After: after, q: t.from.q})
	root.Send(ctx.Parent(), &taskFinished{Task: t.x.TaskID})
	root.Send(ctx.Parent(), &taskExpired{Task: t.x.TaskID})
	return true
}

// backInQueue says that the task is the queue's again.
func (t *task) backInQueue(ctx actor.Context) {
	t.node.statusCache.Delete(t.x.TaskID)
	t.endTried, t.again = true, true
	for w := range t.waits { // they go on to wait in the queue
		t.forget(w)
		ctx.RequestWithCustomSender(t.node.queue, waitsOn(w.message, time.Until(w.until)), w.client)
	}
}

// waitsOn is a question with what is left of its wait.
func waitsOn(message any, left time.Duration) any {
	switch m := message.(type) {
	case *api.Poll:
		on := *m
		on.Wait = max(left, 0)
		return &on
	case *api.Follow:
		on := *m
		on.Wait = max(left, 0)
		return &on
	}
	return message
}
