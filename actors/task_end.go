package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/outcome"
	"troupe/actors/records"
)

// writeEnd writes down the end of the task.
func (t *task) writeEnd(ctx actor.Context) {
	if t.cancelled && !t.endBeingWritten {
		t.out = outcome.Cancelled(t.out)
	}
	if t.from != nil && t.beginsAgain(ctx) {
		return
	}
	if t.rec.Ended.IsZero() {
		t.rec.Status, t.rec.Ended = outcome.Polled(t.out.End), time.Now()
		t.node.tellEnd(t.rec, t.out)
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	rec, stored, out, kept := t.rec, t.stored, t.out, &endWritten{}
	listed := t.node.orders.Order(rec.Ended, rec.Ended)
	ended := func() { root.Send(self, &endStored{}) }
	then := func(err error) {
		kept.err = err
		root.Send(self, kept)
	}
	if t.from != nil {
		e := &records.Ending{Task: rec, Queued: &t.from.q, Outcome: out, Code: outcome.Code(out), Listed: listed, First: !t.endBeingWritten}
		if t.from.sent() { // else what follows takes no longer than the end, and clients find all of it
			e.Stored = ended
		}
		t.node.grouped.add(groupedWrite{
			prepare: func(c context.Context) *records.Writes { return t.node.records.Queue().PrepareEnd(c, e) },
			alone: func(c context.Context) (err error) {
				kept.found, err = t.node.records.Queue().End(c, e)
				return err
			},
			then: then,
		})
		t.endBeingWritten = true
		return
	}
	t.node.onDisk(func(c context.Context) (err error) {
		kept.found, err = t.node.records.FinishTask(c, rec, stored, out, outcome.Code(out), ended)
		return err
	}, then)
	t.endBeingWritten = true
}

// onEndWritten answers those who wait for the end. If the end could not be written, the
// write is repeated until it succeeds. Clients of a node without others learn the end
// all the same. Where there are others, one of them may have recorded another end: then
// the task counts as running until the record says which.
func (t *task) onEndWritten(ctx actor.Context, err error) {
	if err == nil || t.node.records.Node == "" {
		t.seen(ctx)
	}
	if err == nil {
		t.node.notices.Ended(t.x.Account.ID, t.x.TaskID)
	}
	if !t.endTried {
		t.endTried = true
		t.finished(ctx)
	}
	if err == nil {
		lingers := t.linger()
		if t.lingers = t.from != nil; lingers == 0 {
			t.expire(ctx)
			return
		}
		t.expireAfter(ctx, lingers)
		return
	}
	t.node.log.Error().Err(err).Str("task", t.x.TaskID).Msg("end of a task not written")
	if time.Since(t.rec.Ended) >= records.TaskRetention {
		t.expireAfter(ctx, 0)
		return
	}
	t.after(ctx, rewriteAfter, &writeEndAgain{})
}

// seen lets clients see the end: receivers of notices may ask at once.
func (t *task) seen(ctx actor.Context) {
	if !t.endOnDisk {
		t.endOnDisk = true
		t.show()
		t.wake(ctx)
	}
}
