package actors

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// A call is a request with a key that runs no task: it makes a ticket, begins a run of a
// schedule, and so on. The edge carries it out. Its key is written down before, as that of
// a task is, and its answer after, so that it is done once.

// callWithin is how long a call may take. Another node may still be at one that is younger.
const callWithin = 2 * time.Minute

// callLookAgain is how soon the record of a call is read again that another node is at.
const callLookAgain = 100 * time.Millisecond

var keysVerbs = &handlers[*keys]{at: func(n *nodeParts) *actor.PID { return n.keys }}

var (
	_ = handle(keysVerbs, (*keys).onBeginCall)
	_ = handle(keysVerbs, (*keys).onEndCall)
)

type (
	// callBegun tells whether the beginning of a call is on the disk.
	callBegun struct {
		req *keyedRequest
		err error
	}
	// callEnded tells whether the end of a call is on the disk.
	callEnded struct {
		req    *keyedRequest
		caller *actor.PID
		answer []byte // nil: it was refused
		err    error
	}
)

var _ = handleInNode((*Node).keptAnswer)

// keptAnswer looks how large the answer to a key is.
func (n *Node) keptAnswer(ctx context.Context, m *api.KeptAnswer) (*api.AnswerKept, error) {
	bound, cancel := context.WithTimeout(ctx, api.WriteTimeout)
	defer cancel()
	bytes, err := n.parts.records.AnswerSize(bound, m.Account.ID, m.Key)
	if err != nil {
		return &api.AnswerKept{Refusal: api.RefusalFor(n.parts.explainLate(bound, err))}, nil
	}
	return &api.AnswerKept{Bytes: bytes}, nil
}

func (k *keys) onBeginCall(ctx actor.Context, m *api.BeginCall) {
	k.onRequest(ctx, &keyed{Execute: &api.Execute{TaskID: NewTaskID(time.Now()), Account: m.Account, Idempotency: m.Idempotency}, Call: true})
}

// beginCall writes a call down before it is carried out.
func (k *keys) beginCall(ctx actor.Context, r *keyedRequest) {
	r.rec = records.Key{Digest: r.Execute.Idempotency.Digest, TaskID: r.Execute.TaskID, Made: time.Now(), Call: true}
	k.write(ctx, r, k.node.records.BeginKey, func(err error) any { return &callBegun{r, err} })
}

func (k *keys) onCallBegun(ctx actor.Context, m *callBegun) {
	r := m.req
	r.writing = false
	switch {
	case errors.Is(m.err, persistence.ErrConflict): // another node was first
		k.read(ctx, r)
	case m.err != nil:
		k.node.log.Error().Err(m.err).Msg("a request was not carried out: its key could not be written down")
		k.end(ctx, r, r.refused(api.RefusalFor(m.err)))
		k.node.undoKey(r.Execute, r.rec.TaskID)
	default:
		ctx.Send(r.waiting[0], &api.CallBegun{Run: r.rec.TaskID})
	}
}

// onCallRead answers a call whose key has a record.
func (k *keys) onCallRead(ctx actor.Context, r *keyedRequest, rec *records.Key) {
	switch {
	case rec.Answer != nil:
		answer, err := k.node.records.CallAnswer(r.Execute.Account.ID, r.Execute.Idempotency.Key, rec)
		if err != nil {
			k.node.log.Error().Err(err).Msg("answer to a key not read")
			k.end(ctx, r, r.refused(api.RefusalFor(err)))
			return
		}
		k.end(ctx, r, &api.CallBegun{Answer: answer})
	case rec.Node != k.node.cfg.Node && time.Since(rec.Made) < callWithin:
		k.readLater(ctx, r, callLookAgain)
	default:
		k.end(ctx, r, r.refused(&api.Refusal{
			Code: engine.CodeInterrupted,
			Text: "The service ended while it carried out the request with this key, so it may have been done or not: look, and send another key to do it again",
		}))
	}
}

// onEndCall writes the answer to a call down. A refused one goes to the next that waits,
// or leaves nothing.
func (k *keys) onEndCall(ctx actor.Context, m *api.EndCall) {
	r := k.live[[2]string{m.Account.ID, m.Key}]
	if r == nil || !r.Call || r.rec.TaskID != m.Run || r.writing {
		ctx.Respond(&api.CallEnded{})
		return
	}
	k.dropFirst(r) // who carries it out has its answer
	if m.Answer == nil && len(r.waiting) > 0 {
		ctx.Respond(&api.CallEnded{})
		ctx.Send(r.waiting[0], &api.CallBegun{Run: r.rec.TaskID})
		return
	}
	caller := ctx.Sender()
	k.write(ctx, r, func(c context.Context, account, key string, rec records.Key) error {
		if m.Answer == nil {
			return k.node.records.DropKey(c, account, key)
		}
		return k.node.records.EndCall(c, account, key, rec, m.Answer)
	}, func(err error) any { return &callEnded{r, caller, m.Answer, err} })
}

func (k *keys) onCallEnded(ctx actor.Context, m *callEnded) {
	r := m.req
	r.writing = false
	if m.err != nil {
		k.node.log.Error().Err(m.err).Msg("answer to a key not written")
	}
	ctx.Send(m.caller, &api.CallEnded{})
	switch {
	case m.answer != nil: // what was done is done, whether its answer is kept or not
		k.end(ctx, r, &api.CallBegun{Answer: m.answer})
	case len(r.waiting) > 0: // came while it was being dropped
		k.beginCall(ctx, r)
	default:
		k.end(ctx, r, nil)
	}
}

// dropFirst takes out who carries a call out.
func (k *keys) dropFirst(r *keyedRequest) {
	r.waiting = r.waiting[1:]
	if account := r.Execute.Account.ID; len(r.waiting) > 0 {
		if k.repeats[account]--; k.repeats[account] <= 0 {
			delete(k.repeats, account)
		}
	}
}
