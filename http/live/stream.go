package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"troupe/http/answer"
	"troupe/http/gate"
)

// stream is the body of an answer that is made while it is sent. It is read and
// closed by the goroutine of the connection, before that lets go of it.
type stream struct {
	conn     net.Conn
	patience time.Duration // for the client to take what is there
	log      zerolog.Logger
	ctx      context.Context // ends when the client goes away
	stop     func()
	more     func(*stream) // waits for the next thing to tell
	weight   *gate.Weight  // of what is not sent

	buf  bytes.Buffer
	over bool
}

// stream makes the body of an answer that more goes on with.
func (s *Streams) stream(ctx *fasthttp.RequestCtx, account string, more func(*stream)) *stream {
	t := &stream{
		conn: ctx.Conn(), patience: s.cfg.WriteTimeout, more: more, weight: s.cfg.Gate.Weigh(account),
		log: s.cfg.Faults.Log.With().Str("request", answer.RequestID(ctx)).Logger(),
	}
	t.ctx, t.stop = s.cfg.While(s.cfg.Faults.Base, t.conn)
	return t
}

// begin makes it the body of the answer, as server-sent events, unless its account has no
// room for what there is to send first.
func (s *Streams) begin(ctx *fasthttp.RequestCtx, t *stream) *answer.Refusal {
	if err := t.weigh(); err != nil {
		_ = t.Close()
		return answer.RefuseBy(s.cfg.TooMuch(err))
	}
	h := &ctx.Response.Header
	ctx.SetContentType("text/event-stream")
	h.Set(fasthttp.HeaderCacheControl, "no-store")
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set("X-Accel-Buffering", "no") // proxies that collect answers would keep the events
	ctx.SetBodyStream(t, -1)
	return nil
}

// weigh counts what is not sent, if there is room for it.
func (t *stream) weigh() error {
	n := int64(t.buf.Len())
	t.weight.Release()
	return t.weight.Add(n)
}

// drained gives back what the events before have taken.
func (t *stream) drained() {
	t.weight.Release()
	if t.buf.Cap() > keptBuffer {
		t.buf = bytes.Buffer{}
	}
}

// keptBuffer is how large a buffer may be to be used again.
const keptBuffer = 16 << 10

// Read gives what is there, and waits where nothing is.
func (t *stream) Read(p []byte) (int, error) {
	for t.buf.Len() == 0 {
		if t.over {
			return 0, io.EOF
		}
		t.drained()
		t.next()
		t.weight.Is(int64(t.buf.Len())) // it is there: whoever asks for more is refused
	}
	_ = t.conn.SetWriteDeadline(time.Now().Add(t.patience))
	return t.buf.Read(p)
}

// Close is called when the client is gone, too.
func (t *stream) Close() error {
	t.stop()
	t.weight.Release()
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
