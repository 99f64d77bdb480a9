package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/answer"
	"troupe/http/mcp"
	"troupe/persistence"
)

// mcpPath is where models' programs speak the Model Context Protocol.
const mcpPath = "/mcp"

// messageTimes is how many times a message of a model is in memory while its tool runs: as it
// came, as it is read, as its arguments, and as the request of the API that is made of them.
const messageTimes = 6

// newModels makes what answers them.
func (s *Server) newModels() *mcp.Server {
	journal := mcp.NewMemory()
	if s.cfg.Sessions != nil {
		journal = mcp.NewStored(s.cfg.Sessions, s.cfg.Ledger)
	}
	return mcp.New(mcp.Config{Service: inner{s}, Journal: journal, Version: s.cfg.Version, Log: s.cfg.Log})
}

// mcp answers a message of the protocol. What begins to be sent before its handler has
// ended becomes a stream of events.
func (s *Server) mcp(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	if _, no := contentOf(ctx, false); no != nil {
		return no
	}
	b, no := s.bodies.readJSON(ctx, maxPayload, account.ID)
	if no != nil {
		b.remove()
		return no
	}
	// It counts with its copies, and is there while the requests of its tool wait.
	if err := errors.Join(b.weight.Add((messageTimes-1)*int64(len(b.payload))), b.weight.Hold()); err != nil {
		b.remove()
		return answer.RefuseBy(tooMuch(err))
	}
	waiting, stop := s.disconnects.track(s.base, ctx.Conn())
	r, err := http.NewRequestWithContext(mcp.WithRoom(waiting, func() error { return s.cfg.Ledger.Full(account.ID, s.within(account)) }), http.MethodPost, mcpPath, nil)
	if err != nil {
		stop()
		b.remove()
		return s.faults.Refuse(ctx, "read a message of a model", err)
	}
	r.Host, r.RemoteAddr = string(ctx.Host()), ctx.RemoteAddr().String()
	for name, value := range ctx.Request.Header.All() {
		r.Header.Add(string(name), string(value))
	}
	w := &responseWriter{header: http.Header{}, sent: make(chan []byte), done: make(chan struct{}), gone: waiting.Done()}
	from, id := s.control.ClientText(ctx), answer.RequestID(ctx)
	s.wg.Go(func() {
		defer close(w.done)
		defer b.remove()
		defer func() {
			if v := recover(); v != nil {
				s.cfg.Log.Error().Str("request", id).Any("panic", v).Bytes("stack", debug.Stack()).Msg("a message of a model failed")
				w.failed = true
			}
		}()
		s.models.Handle(w, r, account.ID, from, b.payload)
	})
	select {
	case <-w.done:
		defer stop()
		if w.failed {
			return answer.Refuse(engine.CodeInternal)
		}
		w.write(ctx)
		ctx.Response.SetBodyRaw(w.body.Bytes())
	case first := <-w.sent:
		w.write(ctx)
		ctx.Response.Header.Set("X-Accel-Buffering", "no")
		ctx.SetBodyStream(&eventBody{w: w, rest: first, conn: ctx.Conn(), patience: s.cfg.WriteTimeout, heartbeat: s.cfg.Heartbeat, stop: stop}, -1)
	}
	return nil
}

// responseWriter is the answer of a handler of net/http: all of it, or pieces as soon as
// the handler sends them.
type responseWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
	sent   chan []byte   // pieces
	done   chan struct{} // closed when the handler has ended
	gone   <-chan struct{}
	failed bool
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush sends what was written.
func (w *responseWriter) Flush() {
	if w.body.Len() == 0 {
		return
	}
	select {
	case w.sent <- bytes.Clone(w.body.Bytes()):
	case <-w.gone:
	}
	w.body.Reset()
}

// write makes the head of the answer. Connections are the business of the edge.
func (w *responseWriter) write(ctx *fasthttp.RequestCtx) {
	for name, values := range w.header {
		if name == fasthttp.HeaderConnection {
			continue
		}
		for _, v := range values {
			ctx.Response.Header.Add(name, v)
		}
	}
	ctx.Response.Header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	if w.status != 0 {
		ctx.SetStatusCode(w.status)
	}
}

// eventBody is the body of an answer that is sent while it is made. The goroutine of the
// connection reads and closes it.
type eventBody struct {
	w                   *responseWriter
	rest                []byte
	conn                net.Conn
	patience, heartbeat time.Duration
	stop                func()
	over                bool
}

// Read gives what is there, and waits where nothing is. Where it waits long, it gives a
// comment, by which both sides find out whether the other is still there.
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.over {
			return 0, io.EOF
		}
		select {
		case b.rest = <-b.w.sent:
		case <-b.w.done:
			b.rest, b.over = b.w.body.Bytes(), true
		case <-time.After(b.heartbeat):
			b.rest = []byte(":\n\n")
		}
	}
	_ = b.conn.SetWriteDeadline(time.Now().Add(b.patience))
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close is called when the client is gone, too.
func (b *eventBody) Close() error {
	b.stop()
	return nil
}

// inner is the way to the API from inside: requests are answered as those that come over
// the network are, without one.
type inner struct{ s *Server }

// RoundTrip is part of [http.RoundTripper].
func (i inner) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := &fasthttp.RequestCtx{}
	ctx.Init2(&innerConn{ctx: r.Context()}, &i.s.cfg.Log, false)
	ctx.Request.Header.SetMethod(r.Method)
	ctx.Request.SetRequestURI(r.URL.RequestURI())
	ctx.Request.Header.SetHost("service")
	for name, values := range r.Header {
		for _, v := range values {
			ctx.Request.Header.Add(name, v)
		}
	}
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fmt.Errorf("read a request: %w", err)
		}
		ctx.Request.SetBodyStream(bytes.NewReader(b), len(b))
	}
	i.s.answerInner(ctx)
	res := &http.Response{StatusCode: ctx.Response.StatusCode(), Header: http.Header{}, Request: r, ContentLength: -1}
	for name, value := range ctx.Response.Header.All() {
		res.Header.Add(string(name), string(value))
	}
	if stream := ctx.Response.BodyStream(); stream != nil {
		res.Body = innerBody{stream, ctx}
	} else {
		b := ctx.Response.Body()
		res.Body, res.ContentLength = innerAnswer{bytes.NewReader(b), ctx}, int64(len(b))
	}
	return res, nil
}

// answerInner runs the handler of a request from inside.
func (s *Server) answerInner(ctx *fasthttp.RequestCtx) {
	answer.SetRequestID(ctx)
	defer func() {
		if v := recover(); v != nil {
			s.cfg.Log.Error().Str("request", answer.RequestID(ctx)).Any("panic", v).Bytes("stack", debug.Stack()).Msg("a request failed")
			s.turnAway(ctx, answer.Refuse(engine.CodeInternal))
		}
	}()
	if no := s.handlerFor(ctx)(ctx); no != nil {
		s.turnAway(ctx, no)
	}
}

// innerAnswer is the body of an answer that is there. It counts until it is closed.
type innerAnswer struct {
	io.Reader
	ctx *fasthttp.RequestCtx
}

func (b innerAnswer) Close() error {
	unload(b.ctx)
	return nil
}

// innerBody is the body of an answer that goes on while it is read.
type innerBody struct {
	io.Reader
	ctx *fasthttp.RequestCtx
}

func (b innerBody) Close() error { return b.ctx.Response.CloseBodyStream() }

// innerConn stands for the connection of a request from inside. Its client is gone when
// the context ends.
type innerConn struct {
	net.Conn
	ctx context.Context
}

func (*innerConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (*innerConn) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (*innerConn) SetDeadline(time.Time) error      { return nil }
func (*innerConn) SetReadDeadline(time.Time) error  { return nil }
func (*innerConn) SetWriteDeadline(time.Time) error { return nil }
func (*innerConn) Close() error                     { return nil }
