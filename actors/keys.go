package actors

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// keys makes requests that carry a key safe to repeat. They come here before
// admission: a repeated answer counts for nothing.
//
// keys knows the keys whose request goes on. All others are on disk, where they
// are written before the task begins. So a key whose task has run never runs
// again, whatever happens.
type keys struct {
	node    *nodeParts
	live    map[[2]string]*keyedRequest // by account and key
	tasks   map[string]*keyedRequest
	repeats map[string]int // requests of an account that wait for the answer of an earlier one
	flushes []flushWaiter  // wait until nothing goes on
}

// keyed is a request with a key. Reply: [api.Started] when it is a start,
// [api.CallBegun] when it is a call, else [api.Executed].
type keyed struct {
	Execute *api.Execute
	Start   bool
	Call    bool   // it runs no task: Execute has only whose it is, and its key
	Files   uint64 // see [startTask]
}

// keyedRequest is the first request of a key, with all clients that wait for its
// answer.
type keyedRequest struct {
	keyed
	waiting []*actor.PID
	rec     records.Key
	writing bool
	taken   bool          // another node has written its beginning down first
	answer  *api.Executed // came while the beginning was being written
	unkept  error         // why its answer could not be written; it is tried again
}

type (
	keyRead struct {
		req *keyedRequest
		rec *records.Key
		err error
	}
	keyWritten struct {
		req *keyedRequest
		run *actor.PID
		err error
	}
	// answerWritten tells whether the answer is on disk. Found is set when another
	// one was there before: another node has given the request up. Again: it was not,
	// and is to be tried again.
	answerWritten struct {
		req   *keyedRequest
		found *records.Key
		again bool
		err   error
	}
)

func (m *keyed) id() [2]string { return [2]string{m.Execute.Account.ID, m.Execute.Idempotency.Key} }

func (k *keys) Receive(ctx actor.Context) {
	defer recoverIn(ctx, k.node, k)
	switch m := ctx.Message().(type) {
	case *keyed:
		k.onRequest(ctx, m)
	case *keyRead:
		k.onRead(ctx, m)
	case *startRequest:
		k.onStartRequest(ctx, m)
	case *keyWritten:
		k.onKeyWritten(ctx, m)
	case *api.Executed:
		k.onExecuted(ctx, m)
	case *answerWritten:
		k.onAnswerWritten(ctx, m)
	case *api.Started: // its task has written the key
		switch r := k.tasks[m.TaskID]; {
		case r == nil:
		case m.KeyTaken: // and finds there which task counts
			delete(k.tasks, m.TaskID)
			k.read(ctx, r)
		default:
			k.end(ctx, r, m)
		}
	case *callBegun:
		k.onCallBegun(ctx, m)
	case *callEnded:
		k.onCallEnded(ctx, m)
	case *flush:
		k.flushes = append(k.flushes, flushWaiter{ctx.Sender(), m.Account})
		k.check(ctx)
	default:
		keysVerbs.answer(k, ctx, m)
	}
}

func (k *keys) onRequest(ctx actor.Context, m *keyed) {
	first := k.live[m.id()]
	switch {
	case first == nil:
		r := &keyedRequest{keyed: *m, waiting: []*actor.PID{ctx.Sender()}}
		k.live[m.id()] = r
		k.read(ctx, r)
	case !bytes.Equal(first.Execute.Idempotency.Digest, m.Execute.Idempotency.Digest) || first.Start != m.Start || first.Call != m.Call:
		ctx.Respond(m.refused(api.Refuse(engine.CodeIdempotencyMismatch, "")))
	case k.repeats[m.Execute.Account.ID] >= api.MaxRepeats:
		ctx.Respond(m.refused(api.RefuseRepeat()))
	case first.unkept != nil:
		ctx.Respond(m.refused(api.RefusalFor(first.unkept)))
	default:
		k.repeats[m.Execute.Account.ID]++
		first.waiting = append(first.waiting, ctx.Sender())
	}
}

// read reads the record of a key.
func (k *keys) read(ctx actor.Context, r *keyedRequest) { k.readLater(ctx, r, 0) }

func (k *keys) readLater(ctx actor.Context, r *keyedRequest, after time.Duration) {
	root, self, read, x := ctx.ActorSystem().Root, ctx.Self(), &keyRead{req: r}, r.Execute
	k.node.onDisk(func(c context.Context) (err error) {
		if after > 0 {
			select {
			case <-time.After(after):
			case <-c.Done():
			}
		}
		read.rec, err = k.node.records.Key(c, x.Account.ID, x.Idempotency.Key)
		return err
	}, func(err error) {
		read.err = err
		root.Send(self, read)
	})
}

// refused is the refusal as an answer to this kind of request.
func (m *keyed) refused(no *api.Refusal) any {
	if m.Call {
		return &api.CallBegun{Refusal: no}
	}
	if m.Start {
		return &api.Started{TaskID: m.Execute.TaskID, Refusal: no}
	}
	return m.Execute.Refused(0, no)
}

// onRead sends a request on its way, unless it was answered before.
func (k *keys) onRead(ctx actor.Context, m *keyRead) {
	r, rec := m.req, m.rec
	switch {
	case errors.Is(m.err, persistence.ErrNotFound) && r.Call:
		k.beginCall(ctx, r)
	case errors.Is(m.err, persistence.ErrNotFound):
		k.tasks[r.Execute.TaskID] = r
		if r.Execute.Task.Queue != nil {
			ctx.RequestWithCustomSender(k.node.queue, &enqueue{Execute: r.Execute, Files: r.Files}, ctx.Self())
		} else if r.Start {
			ctx.RequestWithCustomSender(k.node.tasks, &startTask{Execute: r.Execute, Files: r.Files}, ctx.Self())
		} else {
			ctx.RequestWithCustomSender(k.node.admission, &executeWithAck{Execute: r.Execute}, ctx.Self())
		}
	case m.err != nil:
		k.node.log.Error().Err(m.err).Msg("key not read")
		k.end(ctx, r, r.refused(api.RefusalFor(m.err)))
	case !bytes.Equal(rec.Digest, r.Execute.Idempotency.Digest) || r.Start != (rec.Started != nil) || r.Call != rec.Call:
		k.end(ctx, r, r.refused(api.Refuse(engine.CodeIdempotencyMismatch, "")))
	case r.Call:
		k.onCallRead(ctx, r, rec)
	case r.Start:
		k.end(ctx, r, rec.Started)
	case rec.Executed.Outcome == nil && rec.Node != k.node.cfg.Node: // it may still run there
		no := api.Refuse(engine.CodeWorkerLost, "")
		no.ForwardTo = &api.ForwardTo{Node: rec.Node}
		k.end(ctx, r, r.Execute.Refused(0, no))
	case rec.Executed.Outcome == nil: // it ran when its node ended
		r.rec, r.rec.Executed = *rec, rec.Executed.With(records.Interrupted())
		k.writeAnswer(ctx, r)
	default:
		k.end(ctx, r, rec.Executed)
	}
}

// onStartRequest writes the key down before its task begins.
func (k *keys) onStartRequest(ctx actor.Context, m *startRequest) {
	r := k.tasks[m.Executed.TaskID]
	if r == nil || r.rec.TaskID != "" {
		ctx.Respond(&startAck{})
		return
	}
	r.rec = records.Key{
		Digest: r.Execute.Idempotency.Digest, TaskID: r.Execute.TaskID, Made: time.Now(), Executed: m.Executed,
	}
	run := ctx.Sender()
	k.write(ctx, r, k.node.records.BeginKey, func(err error) any { return &keyWritten{r, run, err} })
}

func (k *keys) write(ctx actor.Context, r *keyedRequest, keep func(context.Context, string, string, records.Key) error, then func(error) any) {
	r.writing = true
	root, self, rec, x := ctx.ActorSystem().Root, ctx.Self(), r.rec, r.Execute
	k.node.onDisk(func(c context.Context) error {
		return keep(c, x.Account.ID, x.Idempotency.Key, rec)
	}, func(err error) { root.Send(self, then(err)) })
}

func (k *keys) onKeyWritten(ctx actor.Context, m *keyWritten) {
	m.req.writing, m.req.taken = false, errors.Is(m.err, persistence.ErrConflict)
	if m.err != nil {
		k.node.log.Error().Err(m.err).Str("task", m.req.rec.TaskID).Msg("task not begun: its key could not be written down")
	}
	ack := &startAck{OK: m.err == nil}
	if m.err != nil && !m.req.taken {
		ack.Refusal = api.RefusalFor(m.err)
		k.node.undoKey(m.req.Execute, m.req.rec.TaskID)
	}
	ctx.Send(m.run, ack)
	if x := m.req.answer; x != nil {
		m.req.answer = nil
		k.onExecuted(ctx, x)
	}
}

// undoAgain is how long after a failure it is tried again to remove a key.
const undoAgain = time.Second

// undoKey removes what may be written of a request that has not begun: a repeat is not to
// hear that it has.
func (n *nodeParts) undoKey(x *api.Execute, task string) {
	n.onDisk(func(c context.Context) error {
		for {
			err := n.records.UndoKey(c, x.Account.ID, x.Idempotency.Key, task)
			if err == nil || c.Err() != nil {
				return err
			}
			pause(c, undoAgain)
		}
	}, nil)
}

// onExecuted takes the answer of the request. Only the answer of a task that had
// a worker is kept: after a refusal another try may succeed.
func (k *keys) onExecuted(ctx actor.Context, x *api.Executed) {
	r := k.tasks[x.TaskID]
	switch {
	case r == nil:
	case r.taken: // what it says now is the answer
		delete(k.tasks, r.Execute.TaskID)
		k.read(ctx, r)
	case x.Refusal != nil:
		k.end(ctx, r, x)
	case r.writing:
		r.answer = x
	default:
		r.rec.Digest, r.rec.TaskID, r.rec.Executed = r.Execute.Idempotency.Digest, x.TaskID, x
		if r.rec.Made.IsZero() {
			r.rec.Made = time.Now()
		}
		k.writeAnswer(ctx, r)
	}
}

func (k *keys) writeAnswer(ctx actor.Context, r *keyedRequest) {
	wrote := &answerWritten{req: r}
	k.write(ctx, r, func(c context.Context, account, key string, rec records.Key) (err error) {
		wrote.found, err = k.node.records.EndKey(c, account, key, rec)
		return err
	}, func(err error) any {
		wrote.err = err
		return wrote
	})
}

// onAnswerWritten answers the clients with what the record says. Where other nodes may
// answer, too, an answer that is not in the record is none: they would say something
// else. The write is repeated, and its clients may come again.
func (k *keys) onAnswerWritten(ctx actor.Context, m *answerWritten) {
	r := m.req
	if m.again {
		k.writeAnswer(ctx, r)
		return
	}
	if m.err != nil {
		k.node.log.Error().Err(m.err).Str("task", r.rec.TaskID).Msg("answer to a key not written")
	}
	switch {
	case m.found != nil && m.found.Executed != nil && m.found.Executed.Outcome != nil:
		k.end(ctx, r, m.found.Executed)
	case m.found != nil: // another task of the key: a repeat gets its answer
		k.end(ctx, r, r.refused(api.Refuse(engine.CodeNoQuorum, "another node plays the request")))
	case m.err == nil || k.node.records.Node == "" || time.Since(r.rec.Made) >= records.KeyRetention:
		k.end(ctx, r, r.rec.Executed)
	default:
		r.unkept = m.err
		k.answer(ctx, r, r.refused(api.RefusalFor(m.err)))
		k.check(ctx)
		root, self := ctx.ActorSystem().Root, ctx.Self()
		time.AfterFunc(rewriteAfter, func() { root.Send(self, &answerWritten{req: r, again: true}) })
	}
}

// answer answers all clients that wait.
func (k *keys) answer(ctx actor.Context, r *keyedRequest, answer any) {
	for _, client := range r.waiting {
		ctx.Send(client, answer)
	}
	if account := r.Execute.Account.ID; k.live[r.id()] == r && len(r.waiting) > 0 { // and not ended again after a panic
		if k.repeats[account] -= len(r.waiting) - 1; k.repeats[account] <= 0 {
			delete(k.repeats, account)
		}
	}
	r.waiting = nil
}

// end answers all clients that wait, for good.
func (k *keys) end(ctx actor.Context, r *keyedRequest, answer any) {
	k.answer(ctx, r, answer)
	delete(k.live, r.id()) // last: should this panic, they are still known
	delete(k.tasks, r.Execute.TaskID)
	k.check(ctx)
}

func (k *keys) check(ctx actor.Context) {
	k.flushes = slices.DeleteFunc(k.flushes, func(s flushWaiter) bool {
		for id, r := range k.live {
			if r.unkept == nil && (s.account == "" || s.account == id[0]) {
				return false
			}
		}
		ctx.Send(s.sender, &flushed{})
		return true
	})
}
