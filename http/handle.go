package http

import (
	"bytes"
	"errors"
	"io"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/answer"
)

// handler answers one request. A returned refusal is sent as the answer; nil means that
// it has answered already.
type handler func(ctx *fasthttp.RequestCtx) *answer.Refusal

// handle answers a request, whatever its handler does.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	c := connOf(ctx.Conn())
	if c != nil {
		c.serving.Store(true)
	}
	answer.SetRequestID(ctx)
	setTransport(ctx)
	func() {
		defer func() {
			if v := recover(); v != nil {
				s.cfg.Log.Error().Str("request", answer.RequestID(ctx)).Any("panic", v).
					Bytes("stack", debug.Stack()).Msg("a request failed")
				unload(ctx)
				ctx.Response.ResetBody()
				s.turnAway(ctx, answer.Refuse(engine.CodeInternal))
			}
		}()
		r := ambiguous(ctx)
		answered := false
		if r == nil {
			r, answered = s.foreign(ctx)
		}
		if r == nil && !answered {
			r = s.handlerFor(ctx)(ctx)
		}
		if r != nil {
			s.turnAway(ctx, r)
		}
		compress(ctx)
		s.loaded(ctx)
	}()
	if !bodyTaken(ctx) {
		// The next request on this connection would be read out of the middle
		// of this one's body.
		ctx.SetConnectionClose()
		if c != nil {
			c.linger.Store(true)
		}
	}
}

// turnAway answers with a refusal.
func (s *Server) turnAway(ctx *fasthttp.RequestCtx, r *answer.Refusal) {
	r.Send(ctx)
	if s.cfg.Refused != nil {
		s.cfg.Refused(r.Code)
	}
}

// ambiguous refuses a request that a proxy in front may end at another byte: it would
// take the rest for the next request. Such are bodies with two lengths, encodings other
// than chunks, and fields that continue in the next line, which is read in two ways.
func ambiguous(ctx *fasthttp.RequestCtx) (r *answer.Refusal) {
	var length, encoding, folded bool
	for line := range bytes.Lines(ctx.Request.Header.RawHeaders()) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		length = length || bytes.EqualFold(name, []byte(fasthttp.HeaderContentLength))
		encoding = encoding || bytes.EqualFold(name, []byte(fasthttp.HeaderTransferEncoding))
		folded = folded || line[0] == ' ' || line[0] == '\t'
	}
	switch v := string(ctx.Request.Header.Protocol()); {
	case v != "HTTP/1.1" && v != "HTTP/1.0":
		r = answer.RefuseText(engine.CodeInvalidRequest, "The version of HTTP must be 1.1 or 1.0")
	case length && encoding:
		r = answer.RefuseText(engine.CodeInvalidRequest, "The request has both Content-Length and Transfer-Encoding: send one")
	case encoding && ctx.Request.Header.ContentLength() != -1:
		r = answer.RefuseText(engine.CodeInvalidRequest, "The Transfer-Encoding must be chunked")
	case folded:
		r = answer.RefuseText(engine.CodeInvalidRequest, "A header continues on the next line: write each header on one line")
	default:
		return nil
	}
	ctx.SetConnectionClose()
	return r
}

// bodyBroken is what is known of a request whose body could not be read on.
type bodyBroken struct{}

// incoming is the body of a request.
type incoming struct {
	io.Reader
	ctx *fasthttp.RequestCtx
}

func (b incoming) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.ctx.SetUserValue(bodyBroken{}, true)
	}
	return n, err
}

// bodyOf is the body of a request; nil: it has none.
func bodyOf(ctx *fasthttp.RequestCtx) io.Reader {
	if r := ctx.RequestBodyStream(); r != nil {
		return incoming{r, ctx}
	}
	return nil
}

// bodyTaken reports whether nothing of the request's body is left unread. A
// small rest that is already on its way is read here, but not behind what is
// broken: nobody knows where such a body ends.
func bodyTaken(ctx *fasthttp.RequestCtx) bool {
	r := bodyOf(ctx)
	if r == nil {
		return true
	}
	if ctx.UserValue(bodyBroken{}) != nil {
		return false
	}
	const rest, moment = 64 << 10, 100 * time.Millisecond
	_ = ctx.Conn().SetReadDeadline(time.Now().Add(moment))
	_, err := io.CopyN(io.Discard, r, rest)
	return errors.Is(err, io.EOF)
}

// handleBroken answers what fasthttp could not read as a request.
func (s *Server) handleBroken(ctx *fasthttp.RequestCtx, err error) {
	ctx.Response.Reset()
	if c := connOf(ctx.Conn()); c != nil {
		c.linger.Store(true)
	}
	answer.SetRequestID(ctx)
	setTransport(ctx)
	var small *fasthttp.ErrSmallBuffer
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &small):
		s.turnAway(ctx, answer.Refuse(answer.CodeHeadersTooLarge))
	case errors.As(err, &timeout) && timeout.Timeout():
		s.turnAway(ctx, answer.RefuseText(answer.CodeIncompleteRequest, "The request did not arrive in time"))
	case errors.Is(err, io.ErrUnexpectedEOF):
		s.turnAway(ctx, answer.Refuse(answer.CodeIncompleteRequest))
	default:
		s.turnAway(ctx, answer.RefuseText(engine.CodeInvalidRequest, "The request is not valid HTTP"))
	}
}

type health struct {
	Status string `json:"status"`
}

// health says that the process is alive.
func (s *Server) health(ctx *fasthttp.RequestCtx) *answer.Refusal {
	answer.SendJSON(ctx, fasthttp.StatusOK, health{"ok"})
	return nil
}

// readiness is whether a task would be taken, and why not.
type readiness struct {
	Ready   bool     `json:"ready"`
	Status  string   `json:"status"`
	Notices []string `json:"notices,omitempty"`
}

// ready says whether a task would be taken now. With writes=true that includes tasks
// that have to be written down.
func (s *Server) ready(ctx *fasthttp.RequestCtx) *answer.Refusal {
	now, status := s.readiness(), fasthttp.StatusOK
	if now.Status == degraded && ctx.QueryArgs().GetBool("writes") {
		now.Ready = false
	}
	if !now.Ready {
		status = fasthttp.StatusServiceUnavailable
	}
	answer.SendJSON(ctx, status, now)
	return nil
}

// degraded is the status of a service that takes tasks, but not all that it should.
const degraded = "degraded"

// Ready reports what /readyz says.
func (s *Server) Ready() bool { return s.readiness().Ready }

func (s *Server) readiness() (now readiness) {
	if s.cfg.Notices != nil {
		now.Notices = s.cfg.Notices()
	}
	switch {
	case s.Drains():
		now.Status = "draining"
		return now
	case !s.cfg.Actors.Status().Ready():
		now.Status = "no worker has a browser"
		return now
	}
	if s.cfg.Unready != nil {
		if now.Status = s.cfg.Unready(); now.Status != "" {
			return now
		}
	}
	now.Ready, now.Status = true, "ready"
	if s.cfg.Degraded != nil && s.cfg.Degraded() {
		now.Status = degraded
	}
	return now
}
