package http_test

import (
	"bufio"
	"io"
	"net"
	nethttp "net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine"
)

// BenchmarkTask is a task's way through the edge and back over one connection,
// with actors that answer at once.
func BenchmarkTask(b *testing.B) {
	e := openServer(b, &fakeActors{})
	rounds(b, e.addr)
}

// BenchmarkBare is the same for a handler that does nothing but decode the
// body: what HTTP itself costs here.
func BenchmarkBare(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if _, err := engine.Parse(ctx.PostBody(), nil); err != nil {
			ctx.Error(err.Error(), 400)
			return
		}
		ctx.SetContentType("application/json")
		ctx.SetBodyString(`{"success":true,"taskId":"task_0011223344556677_1700000000","workerId":"w1","workerName":"worker-1","data":"done","duration":0}`)
	}}
	go func() { _ = s.Serve(ln) }()
	defer func() { _ = s.Shutdown() }()
	rounds(b, ln.Addr().String())
}

func rounds(b *testing.B, addr string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	send := []byte(taskRequest())
	for b.Loop() {
		if _, err := c.Write(send); err != nil {
			b.Fatal(err)
		}
		answer, err := nethttp.ReadResponse(r, nil)
		if err != nil || answer.StatusCode != 200 {
			b.Fatal(answer, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLook is one look at a thousand waiting connections; there are ten a
// second.
func BenchmarkLook(b *testing.B) {
	w := newWaiting()
	w.started = make(chan struct{}, 1000)
	w.ends = make(chan error, 1000)
	e := openServer(b, w)
	for range 1000 {
		c := e.dial(b, nil)
		_ = c.SetDeadline(time.Now().Add(time.Hour))
		if _, err := io.WriteString(c, taskRequest()); err != nil {
			b.Fatal(err)
		}
		<-w.started
	}
	for b.Loop() {
		e.PollDisconnects()
	}
	close(w.finish)
}
