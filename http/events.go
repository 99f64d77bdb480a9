package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
)

// events tells of a task's steps as they end, and then of its end, as
// server-sent events.
func (s *Server) events(ctx *fasthttp.RequestCtx, p *pass, id string) *answer.Refusal {
	if !answer.SaneID([]byte(id)) {
		return answer.Refuse(engine.CodeTaskNotFound)
	}
	m := api.Follow{TaskID: id, Account: access.ForActors(p.account)}
	if last := ctx.Request.Header.Peek("Last-Event-ID"); len(last) > 0 {
		n, err := strconv.ParseUint(string(last), 10, 31)
		if err != nil {
			return answer.RefuseInvalid(lang.Fault{Message: fmt.Sprintf("Last-Event-ID is %q: want the id of an event of this task", last)})
		}
		m.After = int(n)
	}
	first, err := api.Ask(s.base, s.cfg.Company, &m)
	switch {
	case err != nil:
		return s.faults.Refuse(ctx, "follow a task", err)
	case first.Refusal != nil:
		return answer.RefuseBy(first.Refusal)
	}
	leave, ok := s.waits.Take(p.account.ID)
	if !ok {
		return tooManyWaits()
	}
	f := &following{company: s.cfg.Company, ask: m}
	f.ask.Wait = s.cfg.Heartbeat
	t := s.stream(ctx, f.next)
	f.guard = s.guarded(t, p, nil)
	gone := t.stop
	t.stop = func() {
		gone()
		leave()
	}
	t.log = t.log.With().Str("task", id).Logger()
	t.beat()
	f.take(t, first)
	t.begin(ctx)
	return nil
}

// stream is the body of an answer that is made while it is sent. It is read and
// closed by the goroutine of the connection, before that lets go of it.
type stream struct {
	conn     net.Conn
	patience time.Duration // for the client to take what is there
	log      zerolog.Logger
	ctx      context.Context // ends when the client goes away
	stop     func()
	more     func(*stream) // waits for the next thing to tell

	buf  bytes.Buffer
	over bool
}

// stream makes the body of an answer that more goes on with.
func (s *Server) stream(ctx *fasthttp.RequestCtx, more func(*stream)) *stream {
	t := &stream{
		conn: ctx.Conn(), patience: s.cfg.WriteTimeout, more: more,
		log: s.cfg.Log.With().Str("request", answer.RequestID(ctx)).Logger(),
	}
	t.ctx, t.stop = s.watch.while(s.base, t.conn)
	return t
}

// begin makes it the body of the answer, as server-sent events.
func (t *stream) begin(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	ctx.SetContentType("text/event-stream")
	h.Set(fasthttp.HeaderCacheControl, "no-store")
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set("X-Accel-Buffering", "no") // proxies that collect answers would keep the events
	ctx.SetBodyStream(t, -1)
}

// Read gives what is there, and waits where nothing is.
func (t *stream) Read(p []byte) (int, error) {
	for t.buf.Len() == 0 {
		if t.over {
			return 0, io.EOF
		}
		t.next()
	}
	_ = t.conn.SetWriteDeadline(time.Now().Add(t.patience))
	return t.buf.Read(p)
}

// Close is called when the client is gone, too.
func (t *stream) Close() error {
	t.stop()
	return nil
}

// next waits for the next thing to tell. Nobody above recovers a panic here.
func (t *stream) next() {
	defer func() {
		if v := recover(); v != nil {
			t.over = true
			t.log.Error().Any("panic", v).Bytes("stack", debug.Stack()).Msg("a stream of events failed")
		}
	}()
	t.more(t)
}

// following is what the events of one task are made from.
type following struct {
	company Company
	guard   *guard
	ask     api.Follow
}

func (f *following) next(t *stream) {
	if !f.guard.lets() {
		t.over = true
		return
	}
	m, err := api.Ask(t.ctx, f.company, &f.ask)
	if err != nil {
		// The client asks again, with the number of the last event it has got.
		t.over = true
		if t.ctx.Err() == nil && !errors.Is(err, engine.ErrDraining) {
			t.log.Error().Err(err).Msg("failed to follow a task")
		}
		return
	}
	f.take(t, m)
}

// take makes events of an answer of the actors.
func (f *following) take(t *stream, m *api.Followed) {
	switch {
	case m.Refusal != nil:
		t.end(answer.RefuseBy(m.Refusal))
	case len(m.Steps) > 0:
		for _, step := range m.Steps {
			t.numbered(uint64(step.Seq), "step", step.Step)
			f.ask.After = step.Seq
		}
	case m.Status != api.TaskPending:
		f.finish(t)
	default:
		t.beat()
	}
}

// finish tells how the task ended, as a poll does.
func (f *following) finish(t *stream) {
	p, err := api.Ask(t.ctx, f.company, &api.Poll{TaskID: f.ask.TaskID, Account: f.ask.Account})
	switch {
	case err != nil:
		t.over = true
	case p.Refusal != nil:
		t.end(answer.RefuseBy(p.Refusal))
	default:
		t.end(answer.OfPoll(p))
	}
}

func (t *stream) end(v any) {
	t.over = true
	t.event("end", v)
}

// numbered writes an event that a client can name when it comes again.
func (t *stream) numbered(id uint64, name string, v any) {
	fmt.Fprintf(&t.buf, "id: %d\n", id)
	t.event(name, v)
}

// event writes an event. JSON has no line breaks that are not escaped.
func (t *stream) event(name string, v any) {
	fmt.Fprintf(&t.buf, "event: %s\ndata: ", name)
	enc := json.NewEncoder(&t.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	t.buf.WriteByte('\n')
}

// beat writes a comment, by which both sides find out whether the other is
// still there.
func (t *stream) beat() { t.buf.WriteString(":\n\n") }
