package http

import (
	"context"
	"errors"
	"io"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/answer"
	"troupe/http/gate"
	"troupe/persistence"
)

// maxWaits is how many polls that wait, and streams of the events of single tasks, one
// account may have at once, so that others have room.
const maxWaits = 256

// Weights of what is in memory. One account has room for two answers of any size that are
// made at once, and for many small ones behind each other.
const (
	// MaxMemory is how many bytes requests and answers of everybody may have, unless the
	// operator says otherwise.
	MaxMemory = 512 << 20
	// MinMemory leaves one account room for what takes most while it is loaded, beside requests.
	MinMemory = 20 * engine.MaxResult
	// answerWeight is how much room the largest answer takes while it is loaded and encoded.
	answerWeight = loadedTimes * engine.MaxResult
	// partWeight is how much a part of a list of items and results takes: what it has about,
	// one more result, and all that as it is encoded.
	partWeight = 3 * engine.MaxResult
	// loadedTimes is how many times what is kept of an answer is in memory while it is sent:
	// as it was read, as it was understood, and as it is encoded.
	loadedTimes = 3
	// smallAnswer is how much of an answer that its client does not take counts for nothing:
	// the connection itself costs as much.
	smallAnswer = 16 << 10
)

// MemoryLimits shares so many bytes out: one account can have a quarter of them, and all who
// show no token a sixteenth.
func MemoryLimits(all int64) gate.Limits {
	return gate.Limits{Account: all / 4, Strangers: all / 16, All: all}
}

// meteredReader is a reader whose bytes count for an account until they are given back.
type meteredReader struct {
	io.Reader
	weight *gate.Weight
}

func (w *meteredReader) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		if full := w.weight.Add(int64(n)); full != nil {
			return 0, full
		}
	}
	return n, err
}

// tooMuch refuses what there is no room for in memory; nil: err is about something else.
func tooMuch(err error) *api.Refusal {
	switch {
	case errors.Is(err, gate.ErrAccount):
		return api.Refuse(engine.CodeTooManyWaiting, "The account's open requests, and answers that were not taken, have as much memory as an account may have: wait until some are answered")
	case errors.Is(err, gate.ErrAll):
		return api.Refuse(engine.CodeTooManyWaiting, "The open requests, and answers that were not taken, have as much memory as the service has for them: retry")
	}
	return nil
}

type (
	accountKey struct{} // of a request: the account that it is of
	weightKey  struct{} // of a request: what its answer weighs
	bodyKey    struct{} // of a request: what its body weighs
	sharedBody struct{} // of a request: its answer is the same bytes for all
)

// sendShared answers with bytes that are the same for everybody, and that nothing changes.
func sendShared(ctx *fasthttp.RequestCtx, b []byte) {
	ctx.SetUserValue(sharedBody{}, true)
	ctx.Response.SetBodyRaw(b)
}

// loading lets a handler load an answer that may be large when there is room for it.
func (s *Server) loading(h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, name string) *answer.Refusal {
		if no := s.load(ctx, account.ID); no != nil {
			return no
		}
		return h(ctx, account, name)
	}
}

// loadingAlone is loading for what is made of everything that an account keeps of a kind:
// the account has one such answer made at a time.
func (s *Server) loadingAlone(h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, name string) *answer.Refusal {
		if no := s.loadWeighing(ctx, account.ID, s.cfg.Memory.Account/2+1); no != nil {
			return no
		}
		return h(ctx, account, name)
	}
}

// load waits until an account has room for an answer that may be large, as long as a
// request may take to arrive.
func (s *Server) load(ctx *fasthttp.RequestCtx, account string) *answer.Refusal {
	return s.loadWeighing(ctx, account, answerWeight)
}

// mostLoaded is how much one load counts at most. Where an account may have little at all, the
// request itself still has its part of that.
func (s *Server) mostLoaded() int64 {
	return max(s.cfg.Memory.Account/2+1, min(partWeight, s.cfg.Memory.Account-s.cfg.Memory.Account/4))
}

func (s *Server) loadWeighing(ctx *fasthttp.RequestCtx, account string, n int64) *answer.Refusal {
	unload(ctx) // what it has is part of n
	w, no := s.room(ctx, account, n)
	if no == nil {
		ctx.SetUserValue(weightKey{}, w)
	}
	return no
}

// room waits for room, whoever gives it back.
func (s *Server) room(ctx *fasthttp.RequestCtx, account string, n int64) (*gate.Weight, *answer.Refusal) {
	listening, stop := s.disconnects.track(s.base, ctx.Conn())
	defer stop()
	patient, cancel := context.WithTimeout(listening, s.cfg.RequestTimeout)
	defer cancel()
	if b, _ := ctx.UserValue(bodyKey{}).(*gate.Weight); b != nil {
		if err := b.Hold(); err != nil {
			return nil, answer.RefuseBy(tooMuch(err))
		}
	}
	w := s.gate.Weigh(account)
	if err := w.Wait(patient, min(n, s.mostLoaded())); err != nil {
		return nil, answer.RefuseBy(tooMuch(err))
	}
	return w, nil
}

// unload gives back what a request has loaded, or was about to.
func unload(ctx *fasthttp.RequestCtx) {
	if w, _ := ctx.UserValue(weightKey{}).(*gate.Weight); w != nil {
		w.Release()
	}
}

// loaded weighs an answer as it is, or gives its room back where it is small.
func (s *Server) loaded(ctx *fasthttp.RequestCtx) {
	w, _ := ctx.UserValue(weightKey{}).(*gate.Weight)
	r := &ctx.Response
	if r.IsBodyStream() || ctx.UserValue(sharedBody{}) != nil || len(r.Body()) <= smallAnswer || ctx.IsHead() {
		w.Release()
		return
	}
	body := r.Body()
	if raw := r.SwapBody(nil); len(raw) == len(body) { // then its buffer is not for the next answer
		body = raw
	}
	if w == nil {
		account, _ := ctx.UserValue(accountKey{}).(string)
		w = s.gate.Weigh(account)
		if repeatable(ctx) {
			patient, cancel := context.WithTimeout(s.base, s.cfg.RequestTimeout)
			err := w.Wait(patient, int64(len(body)))
			cancel()
			if err != nil {
				s.turnAway(ctx, answer.RefuseBy(tooMuch(err)))
				return
			}
		}
	}
	w.Is(int64(len(body)))
	r.SetBodyStream(&weighed{rest: body, weight: w}, len(body))
}

// repeatable reports whether a request does no more when it is sent again. The answer to any
// other says what was done: it counts, but is not refused. The next request of the account is.
func repeatable(ctx *fasthttp.RequestCtx) bool {
	return ctx.IsGet() || ctx.IsHead() || len(ctx.Request.Header.Peek(keyHeader)) > 0
}

// weighed is an answer that counts until its client has taken it, or is gone.
type weighed struct {
	rest   []byte
	weight *gate.Weight
}

func (b *weighed) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close is called when the client is gone, too.
func (b *weighed) Close() error {
	b.weight.Release()
	return nil
}
