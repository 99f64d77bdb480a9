package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/engine"
)

// taskWait is a poll that waits for progress of the task.
type taskWait struct {
	client *actor.PID
	steps  bool // waits for a step, too
	after  int
	timer  *time.Timer
	until  time.Time
	answer func() any

	message any // that asked
}

// await answers a poll now if the task has progressed, else when it does, or when its
// wait is over.
func (t *task) await(ctx actor.Context, w *taskWait, most time.Duration) {
	if t.from != nil && (!t.written || t.again) { // it waits in the queue, as far as others know
		ctx.RequestWithCustomSender(t.node.queue, w.message, w.client)
		return
	}
	if !t.written { // nobody can know of it
		most = 0
	}
	if most <= 0 || t.hasProgress(w) {
		ctx.Send(w.client, w.answer())
		return
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	w.until = time.Now().Add(most)
	w.timer = time.AfterFunc(most, func() { root.Send(self, &waited{w}) })
	t.waits[w] = struct{}{}
}

func (t *task) hasProgress(w *taskWait) bool { return t.endOnDisk || w.steps && t.steps.last > w.after }

func (t *task) wake(ctx actor.Context) {
	for w := range t.waits {
		if t.hasProgress(w) {
			t.release(ctx, w)
		}
	}
}

func (t *task) release(ctx actor.Context, w *taskWait) {
	if _, waits := t.waits[w]; waits {
		ctx.Send(w.client, w.answer())
		t.forget(w)
	}
}

func (t *task) forget(w *taskWait) {
	delete(t.waits, w)
	w.timer.Stop()
}

// stop answers the polls that still wait.
func (t *task) stop(ctx actor.Context) {
	if t.retryTimer != nil {
		t.retryTimer.Stop()
	}
	if t.lingers {
		t.lingers = false
		t.node.lingering.Add(-1)
	}
	for w := range t.waits {
		t.release(ctx, w)
	}
	t.tell(ctx, &api.Started{TaskID: t.x.TaskID, Refusal: api.Refuse(engine.CodeDraining, "")})
}
