package http_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/testkit/need"
)

// readAnswer reads one answer from a connection.
func readAnswer(t testing.TB, c net.Conn) (*nethttp.Response, problem) {
	t.Helper()
	r, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer r.Body.Close()
	return r, judge(t, r)
}

// closed reports whether the server ends the connection.
func closed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(hang))
	_, err := io.Copy(io.Discard, c)
	timeout, ok := err.(net.Error)
	return err == nil || !ok || !timeout.Timeout()
}

// TestBadHTTP: what is no request gets the contract's body too, and the
// connection is not used again.
func TestBadHTTP(t *testing.T) {
	for name, tc := range map[string]struct {
		sent, code string
		status     int
	}{
		"not HTTP":         {"hello\r\n\r\n", "invalid_request", 400},
		"no host":          {"GET /healthz HTTP/1.1\r\n\r\n", "invalid_request", 400},
		"bad header":       {"GET /healthz HTTP/1.1\r\nHost: test\r\n: x\r\n\r\n", "invalid_request", 400},
		"huge header":      {"GET /healthz HTTP/1.1\r\nHost: test\r\nX-A: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", "headers_too_large", 431},
		"huge line":        {"GET /" + strings.Repeat("a", 64<<10) + " HTTP/1.1\r\nHost: test\r\n\r\n", "headers_too_large", 431},
		"many headers":     {"GET /healthz HTTP/1.1\r\nHost: test\r\n" + strings.Repeat("X-A: b\r\n", 9000) + "\r\n", "headers_too_large", 431},
		"two lengths":      {"POST /v1/ HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "invalid_request", 400},
		"length and chunk": {"POST /v1/ HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "invalid_request", 400},
		"negative length":  {"POST /v1/ HTTP/1.1\r\nHost: test\r\nContent-Length: -5\r\n\r\n", "invalid_request", 400},
		"broken chunk": {"POST /v1/ HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\n" +
			"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "incomplete_request", 400},
	} {
		t.Run(name, func(t *testing.T) {
			c := &fakeActors{}
			e := openServer(t, c)
			conn := e.dial(t, nil)
			_, _ = io.WriteString(conn, tc.sent)
			r, p := readAnswer(t, conn)
			if r.StatusCode != tc.status || p.Code != tc.code {
				t.Errorf("the answer is %d %+v", r.StatusCode, p)
			}
			if !closed(conn) {
				t.Error("the connection stays open")
			}
			if c.taskCount() != 0 {
				t.Error("a task came of it")
			}
		})
	}
}

// TestUnreadBodyIsNoRequest: what a refused request carried must not be read as
// the next one.
func TestUnreadBodyIsNoRequest(t *testing.T) {
	e := openServer(t, &fakeActors{})
	inner := taskRequest()
	inner += strings.Repeat(" ", 100<<10-len(inner))
	conn := e.dial(t, nil)
	go func() {
		_, _ = fmt.Fprintf(conn, "POST /nowhere HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n%s", len(inner), inner)
	}()
	r, p := readAnswer(t, conn)
	if r.StatusCode != 404 || p.Code != "not_found" || !r.Close {
		t.Errorf("the answer is %d %+v, close: %v", r.StatusCode, p, r.Close)
	}

	// A small one is read to its end, and the connection goes on.
	conn = e.dial(t, nil)
	_, _ = fmt.Fprintf(conn, "POST /nowhere HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhelloGET /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
	buffered := bufio.NewReader(conn)
	for _, want := range []int{404, 200} {
		r, err := nethttp.ReadResponse(buffered, nil)
		if err != nil || r.StatusCode != want || r.Close {
			t.Fatalf("the answer is %+v, %v; want %d", r, err, want)
		}
		_, _ = io.Copy(io.Discard, r.Body)
	}
}

// TestSlowClients: half a request holds nothing for long.
func TestSlowClients(t *testing.T) {
	beside(t)
	server, client := certificate(t)
	for name, tc := range map[string]struct {
		sent string
		tls  *tls.Config
		code string
	}{
		"nothing":            {"", nil, "incomplete_request"},
		"half a handshake":   {"\x16\x03\x01", client, ""},
		"half a header":      {"POST /v1/ HTTP/1.1\r\nHost: te", nil, ""},
		"half a body":        {request + "100\r\n\r\n{\"actions\":", nil, "incomplete_request"},
		"half a body, TLS":   {request + "100\r\n\r\n{\"actions\":", client, "incomplete_request"},
		"half a large body":  {request + "100000\r\n\r\n" + strings.Repeat(" ", 50000), nil, "incomplete_request"},
		"half of the chunks": {strings.Replace(request, "Content-Length: ", "Transfer-Encoding: chunked", 1) + "\r\n\r\n5\r\n{\"act", nil, "incomplete_request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &fakeActors{}
			e := openServer(t, c, func(cfg *http.Config) {
				cfg.RequestTimeout = 3 * time.Second // the first half comes in it, handshake included
				if tc.tls != nil {
					cfg.TLS = server
				}
			})
			speaks := tc.tls
			if name == "half a handshake" {
				speaks = nil
			}
			conn := e.dial(t, speaks)
			_, _ = io.WriteString(conn, tc.sent)
			if tc.code != "" {
				if r, p := readAnswer(t, conn); p.Code != tc.code {
					t.Errorf("the answer is %d %+v", r.StatusCode, p)
				}
			}
			if !closed(conn) {
				t.Error("the connection is held")
			}
			if c.taskCount() != 0 {
				t.Error("a task came of it")
			}
		})
	}
}

// TestTricklingClients: a byte now and then does not extend the time of a
// request.
func TestTricklingClients(t *testing.T) {
	need.Time(t)
	for name, begin := range map[string]string{"header": "POST /v1/ HTTP/1.1\r\nX-A: ", "body": request + "100\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			e := openServer(t, &fakeActors{}, func(cfg *http.Config) { cfg.RequestTimeout = 300 * time.Millisecond })
			conn := e.dial(t, nil)
			start := time.Now() // a write to a connection that was ended fails
			_, err := io.WriteString(conn, begin)
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for err == nil && time.Since(start) < hang/2 {
				<-tick.C
				_, err = io.WriteString(conn, "a")
			}
			if err == nil {
				t.Errorf("the connection was held for %v", time.Since(start))
			}
		})
	}
}

// TestClientsThatDoNotRead an answer lose it, and their connection, in time.
func TestClientsThatDoNotRead(t *testing.T) {
	beside(t)
	c := &fakeActors{execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		x := done(m)
		x.Outcome.Data = []byte(`"` + strings.Repeat("x", 15<<20) + `"`)
		return x, nil
	}}
	e := openServer(t, c, func(cfg *http.Config) { cfg.MaxConns, cfg.WriteTimeout = 1, 200*time.Millisecond })
	conn := e.dial(t, nil)
	_, _ = io.WriteString(conn, taskRequest())
	eventually(t, "somebody else gets the place", func() bool {
		other, err := net.Dial("tcp", e.addr)
		if err != nil {
			return false
		}
		defer other.Close()
		_, _ = io.WriteString(other, "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
		r, err := nethttp.ReadResponse(bufio.NewReader(other), nil)
		return err == nil && r.StatusCode == 200 && c.taskCount() == 1
	})
}

// TestSilentHandshake: a client that opens a TLS connection and says nothing
// stops nobody else.
func TestSilentHandshake(t *testing.T) {
	server, client := certificate(t)
	e := openServer(t, &fakeActors{}, func(c *http.Config) { c.TLS, c.MaxConns = server, 2 })
	e.dial(t, nil)
	conn := e.dial(t, client)
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if r, err := nethttp.ReadResponse(bufio.NewReader(conn), nil); err != nil || r.StatusCode != 200 {
		t.Errorf("the answer is %v, %v", r, err)
	}
	// The limit is reached now: the third is turned away, without a word.
	if third := e.dial(t, nil); !closed(third) {
		t.Error("the third connection stays open")
	}
}

func TestConnectionsPerAddress(t *testing.T) {
	e := openServer(t, &fakeActors{}, func(c *http.Config) { c.MaxConnsPerIP = 1 })
	first := e.dial(t, nil)
	if second := e.dial(t, nil); !closed(second) {
		t.Error("the second connection stays open")
	}
	first.Close()
	eventually(t, "a new connection is let in", func() bool {
		c := e.dial(t, nil)
		defer c.Close()
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
		r, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
		return err == nil && r.StatusCode == 200
	})
}

// TestPanicIsAnswered: a fault of ours is a 500 with a log line, and the
// connection is still good.
func TestPanicIsAnswered(t *testing.T) {
	var log strings.Builder
	c := &fakeActors{execute: func(context.Context, *api.Execute) (*api.Executed, error) { panic("secret inside") }}
	e := openServer(t, c, func(cfg *http.Config) { cfg.Log = zerolog.New(&log) })
	status, p := e.post(t, "application/json", strings.NewReader(task), func(r *nethttp.Request) { r.Header.Set("X-Request-Id", "find-me") })
	if status != 500 || p.Code != "internal" || strings.Contains(p.Error, "secret") {
		t.Errorf("the answer is %d %+v", status, p)
	}
	if s := log.String(); !strings.Contains(s, `"request":"find-me"`) || !strings.Contains(s, "secret inside") {
		t.Errorf("the log says %s", s)
	}
	// A result that is no JSON is a fault of ours too.
	c.execute = func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		x := done(m)
		x.Outcome.Data = []byte("{")
		return x, nil
	}
	if status, p := e.post(t, "application/json", strings.NewReader(task)); status != 500 || p.Code != "internal" {
		t.Errorf("the answer is %d %+v", status, p)
	}
}

// TestLargeResultIsNotSent, but the client hears of it, and keeps its session.
func TestLargeResultIsNotSent(t *testing.T) {
	c := &fakeActors{execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		x := done(m)
		x.Outcome.Data = []byte(`"` + strings.Repeat("x", 16<<20) + `"`)
		return x, nil
	}}
	e := openServer(t, c)
	status, p := e.post(t, "application/json", strings.NewReader(task))
	if status != 413 || p.Code != "payload_too_large" || !strings.Contains(p.Error, "result") {
		t.Errorf("the answer is %d %+v", status, p)
	}
}

func TestRequestIDs(t *testing.T) {
	e := openServer(t, &fakeActors{})
	get := func(sent string) string {
		conn := e.dial(t, nil)
		_, _ = fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: test\r\nX-Request-Id: %s\r\n\r\n", sent)
		r, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.Header.Get("X-Request-Id")
	}
	if got := get("01J-a.b_c:d"); got != "01J-a.b_c:d" {
		t.Errorf("a sane name came back as %q", got)
	}
	seen := map[string]bool{}
	for _, odd := range []string{"", "a b", "a\"b", "größe", strings.Repeat("a", 129)} {
		got := get(odd)
		if got == odd || len(got) != 24 || seen[got] {
			t.Errorf("%q came back as %q", odd, got)
		}
		seen[got] = true
	}
}

// TestShutdownWaitsForRunningTasks and lets everybody hear of it meanwhile.
func TestShutdownWaitsForRunningTasks(t *testing.T) {
	w := newWaiting()
	e := openServer(t, w)
	running, idle, silent := e.dial(t, nil), e.dial(t, nil), e.dial(t, nil)
	_ = silent
	_, _ = io.WriteString(running, taskRequest())
	<-w.started
	e.Drain()

	for path, want := range map[string]int{"/readyz": 503, "/healthz": 200} {
		_, _ = fmt.Fprintf(idle, "GET %s HTTP/1.1\r\nHost: test\r\n\r\n", path)
		r, err := nethttp.ReadResponse(bufio.NewReader(idle), nil)
		if err != nil || r.StatusCode != want {
			t.Errorf("%s: %v, %v", path, r, err)
		}
	}
	_, _ = io.WriteString(idle, taskRequest())
	if r, p := readAnswer(t, idle); r.StatusCode != 503 || p.Code != "draining" || r.Header.Get("Retry-After") == "" {
		t.Errorf("a new task: %d %+v", r.StatusCode, p)
	}

	stopped := make(chan error, 1)
	go func() { stopped <- e.Shutdown(context.Background()) }()
	select {
	case err := <-stopped:
		t.Fatalf("the server did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	start := time.Now()
	close(w.finish)
	if r, p := readAnswer(t, running); r.StatusCode != 200 || !*p.Success {
		t.Errorf("the running task: %d %+v", r.StatusCode, p)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 10*time.Second { // it may be silent for 30 s
		t.Errorf("the stop took %v: a silent client held it up", took)
	}
	if _, err := net.Dial("tcp", e.addr); err == nil {
		t.Error("the server still listens")
	}
}

// TestADrainingNodeAsksOthers where there are any.
func TestADrainingNodeAsksOthers(t *testing.T) {
	c := &fakeActors{status: api.Status{Workers: 1, Online: 1, PeerWorkers: 1}}
	e := openServer(t, c)
	play := func() (int, problem) {
		t.Helper()
		conn := e.dial(t, nil)
		_, _ = io.WriteString(conn, taskRequest())
		r, p := readAnswer(t, conn)
		return r.StatusCode, p
	}
	for _, drained := range []bool{false, true} {
		e.Pause(drained)
		if status, p := play(); status != 200 {
			t.Errorf("drained %v: %d %+v", drained, status, p)
		}
		if m := c.seen[len(c.seen)-1]; m.RemoteOnly != drained {
			t.Errorf("drained %v: the task is for others alone: %v", drained, m.RemoteOnly)
		}
	}
	c.status.PeerWorkers = 0
	if status, p := play(); status != 503 || p.Code != "draining" {
		t.Errorf("where nobody else is there: %d %+v", status, p)
	}
}

// TestShutdownInterrupts what does not end in time: it gets its answer.
func TestShutdownInterrupts(t *testing.T) {
	w := newWaiting()
	e := openServer(t, w)
	c := e.dial(t, nil)
	_, _ = io.WriteString(c, taskRequest())
	<-w.started
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := e.Shutdown(ctx); err == nil {
		t.Error("the stop says that nothing was left")
	}
	if r, p := readAnswer(t, c); r.StatusCode != 200 || p.Code != string(engine.CodeInterrupted) {
		t.Errorf("the answer is %d %+v", r.StatusCode, p)
	}
}
