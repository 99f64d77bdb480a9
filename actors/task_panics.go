package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
)

// afterPanic gives the task an end that is written down, and answers those who
// wait for it.
func (t *task) afterPanic(ctx actor.Context, message any, no *api.Refusal) bool {
	switch m := message.(type) {
	case *actor.Started:
		t.refused(ctx, &api.Started{TaskID: t.x.TaskID, Refusal: no})
	case *actor.Stopping:
		t.stop(ctx)
	case *startRequest:
		if !t.written {
			t.run, t.rec = nil, records.Task{}
		}
	case *taskWritten:
		t.failStarted(ctx, m, no)
	case *api.Executed:
		t.recordEnd(ctx, m, no)
	case *stepEnded:
		t.wake(ctx)
	case *endStored: // endWritten follows
		t.wake(ctx)
	case *writeEndAgain:
		t.after(ctx, rewriteAfter, m)
	case *endWritten:
		t.endOnDisk = true
		t.show()
		t.wake(ctx)
		t.finished(ctx)
		if t.retryTimer != nil {
			t.retryTimer.Stop()
		}
		t.expireAfter(ctx, lingerTime)
	case *waited:
		if _, waits := t.waits[m.wait]; waits {
			ctx.Send(m.wait.client, &failure{api.FailedInside})
			t.forget(m.wait)
		}
	case *api.Poll, *api.Follow:
		for w := range t.waits {
			if w.message == message {
				t.forget(w)
			}
		}
	case *expire:
		ctx.Send(ctx.Parent(), &taskExpired{Task: t.x.TaskID})
	}
	return false
}

// failStarted fails a task that was about to begin. If the task is on disk, its
// client learns that it has started and failed.
func (t *task) failStarted(ctx actor.Context, m *taskWritten, no *api.Refusal) {
	if t.run != nil {
		ctx.Send(t.run, &startAck{})
	}
	t.stored = m.revision
	if m.err != nil {
		t.refused(ctx, &api.Started{TaskID: t.x.TaskID, Refusal: no})
		return
	}
	t.written = true
	t.show()
	t.tell(ctx, t.started())
	if t.out == nil {
		t.out = failedInside()
	}
	t.writeEnd(ctx)
}

// recordEnd keeps how the task ended.
func (t *task) recordEnd(ctx actor.Context, x *api.Executed, no *api.Refusal) {
	switch {
	case t.endOnDisk || t.endBeingWritten: // it is being written
	case t.written:
		if t.out = x.Outcome; t.out == nil {
			t.out = failedInside()
		}
		t.writeEnd(ctx)
	case t.rec.ID != "" && x.Outcome != nil: // it is being written down that it begins
		t.out = x.Outcome
	default:
		t.refused(ctx, &api.Started{TaskID: t.x.TaskID, Refusal: no})
	}
}

// failedInside is the outcome of a task that failed by our fault.
func failedInside() *engine.Outcome {
	return &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{
		Code: engine.CodeInternal, Text: "The task failed inside the service",
	}}}
}
