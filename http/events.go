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

	"troupe/actors"
	"troupe/engine"
	"troupe/persistence"
)

// events tells of a task's steps as they end, and then of its end, as
// server-sent events.
func (s *Server) events(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *refusal {
	m := actors.Follow{TaskID: id, Account: by(account)}
	if last := ctx.Request.Header.Peek("Last-Event-ID"); len(last) > 0 {
		n, err := strconv.ParseUint(string(last), 10, 31)
		if err != nil {
			return refuseInvalid(engine.Fault{Message: fmt.Sprintf("Last-Event-ID is %q: want the id of an event of this task", last)})
		}
		m.After = int(n)
	}
	first, err := s.cfg.Company.Follow(s.base, &m)
	switch {
	case err != nil:
		return s.failed(ctx, "follow a task", err)
	case first.Refusal != nil:
		return refuseBy(first.Refusal)
	}
	t := &stream{
		company: s.cfg.Company, conn: ctx.Conn(), patience: s.cfg.WriteTimeout, ask: m,
		log: s.cfg.Log.With().Str("request", requestID(ctx)).Str("task", id).Logger(),
	}
	t.ctx, t.stop = s.watch.while(s.base, t.conn)
	t.ask.Wait = s.cfg.Heartbeat
	t.beat()
	t.take(first)
	h := &ctx.Response.Header
	ctx.SetContentType("text/event-stream")
	h.Set(fasthttp.HeaderCacheControl, "no-store")
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set("X-Accel-Buffering", "no") // proxies that collect answers would keep the events
	ctx.SetBodyStream(t, -1)
	return nil
}

// stream is the body of an answer that is made while it is sent. It is read and
// closed by the goroutine of the connection, before that lets go of it.
type stream struct {
	company  Company
	conn     net.Conn
	patience time.Duration // for the client to take what is there
	log      zerolog.Logger
	ctx      context.Context // ends when the client goes away
	stop     func()

	ask  actors.Follow
	buf  bytes.Buffer
	over bool
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
	f, err := t.company.Follow(t.ctx, &t.ask)
	if err != nil {
		// The client asks again, with the number of the last event it has got.
		t.over = true
		if t.ctx.Err() == nil && !errors.Is(err, engine.ErrDraining) {
			t.log.Error().Err(err).Msg("failed to follow a task")
		}
		return
	}
	t.take(f)
}

// take makes events of an answer of the actors.
func (t *stream) take(f *actors.Followed) {
	switch {
	case f.Refusal != nil:
		t.end(refuseBy(f.Refusal))
	case len(f.Steps) > 0:
		for _, step := range f.Steps {
			fmt.Fprintf(&t.buf, "id: %d\n", step.Seq)
			t.event("step", step.Step)
			t.ask.After = step.Seq
		}
	case f.Status != actors.TaskPending:
		t.finish()
	default:
		t.beat()
	}
}

// finish tells how the task ended, as a poll does.
func (t *stream) finish() {
	p, err := t.company.Poll(t.ctx, &actors.Poll{TaskID: t.ask.TaskID, Account: t.ask.Account})
	switch {
	case err != nil:
		t.over = true
	case p.Refusal != nil:
		t.end(refuseBy(p.Refusal))
	default:
		t.end(polled(p))
	}
}

func (t *stream) end(v any) {
	t.over = true
	t.event("end", v)
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
