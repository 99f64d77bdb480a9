package http_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/http/gate"
	"troupe/persistence"
	"troupe/testkit/heap"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// small is a service with little room, in which nobody waits long for it.
func small(l gate.Limits) func(*http.Config) {
	return func(c *http.Config) { c.Memory, c.RequestTimeout = l, 300*time.Millisecond }
}

// tooMany reports whether an answer tells its client to come again later. A client that found
// no turn to be read, as on a busy machine, asks again.
func tooMany(t *testing.T, e *edge, method, path, token, kind, body string) (is bool) {
	t.Helper()
	wait.Until(t, "the request is read", func() bool {
		turn := true
		is, turn = askedTooMuch(t, e, method, path, token, kind, body)
		return turn
	})
	return is
}

func askedTooMuch(t *testing.T, e *edge, method, path, token, kind, body string) (is, turn bool) {
	t.Helper()
	req, err := nethttp.NewRequestWithContext(t.Context(), method, "http://"+e.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := alone.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), noTurn) {
		return false, false
	}
	if path == "/mcp" {
		return strings.Contains(string(b), "too_many_waiting"), true
	}
	var no problem
	_ = json.Unmarshal(b, &no)
	if res.StatusCode == nethttp.StatusTooManyRequests && no.Code == "too_many_waiting" && res.Header.Get("Retry-After") != "" {
		return true, true
	}
	t.Logf("%s %s: %d %.300s", method, path, res.StatusCode, b)
	return false, true
}

// TestFlowsThatRunCountLikeABody: a request of a few bytes that runs large flows is one of
// many bytes, whatever way it comes. Nothing is left of it.
func TestFlowsThatRunCountLikeABody(t *testing.T) {
	need.NoRace(t)
	beside(t)
	with, store := withFlows(t)
	e := openServer(t, &fakeActors{}, with, small(gate.Limits{Account: 320 << 10, Strangers: 1 << 20, All: 8 << 20}))
	large := `{"actions":[{"set":{"n":[` + strings.Repeat("1,", 35_000) + `1]}}]}` // above engine.SmallBody each, and four of them fit
	var runs []string
	for i := range 8 {
		name := fmt.Sprintf("large-%d", i)
		if _, err := store.Put(t.Context(), "acc1", persistence.Flow{Name: name, Source: []byte(large)}); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, `{"run":"`+name+`"}`)
	}
	list := func(n int) string { return `"actions":[` + strings.Join(runs[:n], ",") + `]` }
	for name, way := range map[string]struct{ method, path, kind, body string }{
		"a check":             {"POST", "/v1/validate", "application/json", `{` + list(8) + `}`},
		"a task":              {"POST", "/v1/", "application/json", `{` + list(8) + `,"workerId":"somebody-elses"}`},
		"a batch":             {"POST", "/v1/batches", "application/json", `{"task":{` + list(8) + `},"items":[{"n":1}]}`},
		"a batch in lines":    {"POST", "/v1/batches", "application/x-ndjson", `{"task":{` + list(8) + "}}\n{\"n\":1}\n"},
		"a schedule":          {"POST", "/v1/schedules", "application/json", `{"every":10000,"task":{` + list(8) + `}}`},
		"a batch of schedule": {"POST", "/v1/schedules", "application/json", `{"every":10000,"batch":{"task":{` + list(8) + `},"items":[{"n":1}]}}`},
		"a flow":              {"PUT", "/v1/flows/outer", "application/json", `{` + list(8) + `}`},
		"a model":             {"POST", "/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"validate","arguments":{` + list(8) + `}}}`},
	} {
		if !tooMany(t, e, way.method, way.path, "good", way.kind, way.body) {
			t.Errorf("%s was read", name)
		}
		eventually(t, name+" gives its room back", func() bool { return e.Reading("acc1") == 0 })
	}
	if status, text := call(t, e, "POST", "/v1/validate", "good", `{`+list(2)+`}`); status != 200 {
		t.Errorf("what fits: %d %.200s", status, text)
	}
}

// TestUnreadAnswersCount: what clients do not take counts for their account until they are
// gone. Others notice nothing.
func TestUnreadAnswersCount(t *testing.T) {
	beside(t)
	with, store := withFlows(t)
	e := openServer(t, &fakeActors{execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		x := done(m)
		x.Outcome.Data = json.RawMessage(`"` + strings.Repeat("x", 4<<20) + `"`)
		return x, nil
	}}, with, small(gate.Limits{Account: 16 << 20, Strangers: 1 << 20, All: 64 << 20}))
	for _, account := range []string{"acc1", "acc2"} {
		if _, err := store.Put(t.Context(), account, persistence.Flow{Name: "f", Source: []byte(`{"actions":[{"wait":1}]}`)}); err != nil {
			t.Fatal(err)
		}
	}
	var held []net.Conn
	for range 3 {
		c := e.dial(t, nil)
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		fmt.Fprintf(c, "POST /v1/ HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(task), task)
		if _, err := bufio.NewReader(io.LimitReader(c, 16)).ReadByte(); err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	if n := e.Reading("acc1"); n < 12<<20 || n > 13<<20 {
		t.Errorf("three answers of 4 MiB weigh %d", n)
	}
	if !tooMany(t, e, "GET", "/v1/flows/f", "good", "application/json", "") {
		t.Error("an account with 12 MiB of 16 that nobody reads may load an answer of any size")
	}
	if status, text := call(t, e, "GET", "/v1/flows/f", "small", ""); status != 200 {
		t.Errorf("another account: %d %s", status, text)
	}
	for _, c := range held {
		c.Close()
	}
	eventually(t, "the room is given back", func() bool { return e.Reading("acc1") == 0 })
	if status, text := call(t, e, "GET", "/v1/flows/f", "good", ""); status != 200 {
		t.Errorf("afterwards: %d %s", status, text)
	}
}

// TestWhatWasCarriedOutIsAnswered: a task that was played is answered, however much its account
// has not taken. The next one is refused before it is played.
func TestWhatWasCarriedOutIsAnswered(t *testing.T) {
	beside(t)
	var played atomic.Int64
	e := openServer(t, &fakeActors{execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		played.Add(1)
		x := done(m)
		x.Outcome.Data = json.RawMessage(`"` + strings.Repeat("x", 4<<20) + `"`)
		return x, nil
	}}, small(gate.Limits{Account: 10 << 20, Strangers: 1 << 20, All: 64 << 20}))
	for range 3 { // the third one is beyond the limit, and knows that when it has run
		c := e.dial(t, nil)
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		fmt.Fprintf(c, "POST /v1/ HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(task), task)
		line, err := bufio.NewReader(io.LimitReader(c, 16)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) || !strings.HasPrefix(line, "HTTP/1.1 200") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if !tooMany(t, e, "POST", "/v1/", "good", "application/json", task) || played.Load() != 3 {
		t.Errorf("%d tasks were played, and a fourth one was not refused before", played.Load())
	}
}

// TestAnswersForAllAreShared: what is the same for everybody is in memory once, however
// many strangers do not read it.
func TestAnswersForAllAreShared(t *testing.T) {
	s, err := http.New(http.Config{Actors: &fakeActors{}, Auth: testAuth{}, Uploads: t.TempDir() + "/uploads"})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0") // what other servers of tests listen with looks at all answers
	if err != nil {
		t.Fatal(err)
	}
	e := &edge{Server: s, addr: ln.Addr().String(), served: make(chan error, 1)}
	go func() { e.served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		<-e.served
	})
	const clients = 60
	for _, path := range []string{"/docs", "/openapi.json", "/docs/actions", "/llms.txt"} {
		for _, coding := range []string{"", "Accept-Encoding: gzip\r\n"} {
			ask := func() {
				c := e.dial(t, nil)
				_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
				fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: test\r\n%s\r\n", path, coding)
				if _, err := bufio.NewReader(io.LimitReader(c, 16)).ReadByte(); err != nil {
					t.Fatal(err)
				}
			}
			ask() // makes what is shared
			grown := heap.Growth(func() {
				for range clients {
					ask()
				}
			})
			if each := grown / clients; each > 64<<10 {
				t.Errorf("%s %q: each unread answer takes %d bytes", path, coding, each)
			}
		}
	}
}

// TestBatchStreamsOfTheUnentitled: an account whose plan has no batches is told before
// anything of its body is read.
func TestBatchStreamsOfTheUnentitled(t *testing.T) {
	beside(t)
	e := openServer(t, &fakeActors{}, func(c *http.Config) {
		c.Limits = engine.DefaultLimits()
		l := c.Limits[engine.Free]
		l.QueueTasks = 0
		c.Limits[engine.Free] = l
	})
	for _, kind := range []string{"application/x-ndjson", "application/json"} {
		c := e.dial(t, nil)
		fmt.Fprintf(c, "POST /v1/batches HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer small\r\nContent-Type: %s\r\nContent-Length: 1000000\r\n\r\n%s", kind, strings.Repeat(" ", 64<<10))
		resp, no := readAnswer(t, c)
		if resp.StatusCode != nethttp.StatusForbidden || no.Code != "plan_required" {
			t.Errorf("%s: %d %s", kind, resp.StatusCode, no.Code)
		}
		if n := e.Reading("acc2"); n != 0 {
			t.Errorf("%s: %d bytes are held", kind, n)
		}
	}
}

// TestDrippingBatches: a stream of lines that brings a byte now and then, or empty lines,
// is ended. One that brings a line now and then goes on.
func TestDrippingBatches(t *testing.T) {
	beside(t)
	const patience = 600 * time.Millisecond
	for name, drip := range map[string]string{"bytes": "x", "empty lines": "\n", "spaces": " "} {
		e := openServer(t, &fakeActors{}, func(c *http.Config) { c.RequestTimeout = patience })
		c := e.dial(t, nil)
		fmt.Fprint(c, "POST /v1/batches HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n")
		ended := make(chan int, 1)
		go func() {
			resp, _ := readAnswer(t, c)
			ended <- resp.StatusCode
		}()
		tick := time.NewTicker(patience / 10)
		defer tick.Stop()
		for over := time.After(hang); ; {
			select {
			case <-tick.C:
				_, _ = io.WriteString(c, drip)
				continue
			case status := <-ended:
				if status != nethttp.StatusBadRequest && status != nethttp.StatusRequestTimeout {
					t.Errorf("%s: %d", name, status)
				}
			case <-over:
				t.Errorf("a stream of %s goes on", name)
			}
			break
		}
	}
}

// TestModelsSendOneMessage: a request of a few bytes cannot ask for any number of answers.
func TestModelsSendOneMessage(t *testing.T) {
	beside(t)
	e := openServer(t, &fakeActors{})
	one := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, body := range []string{"[" + one + "]", "\n [" + one + "," + one + "]", "[" + strings.Repeat(one+",", 15_000) + one + "]", "[]"} {
		req, err := nethttp.NewRequestWithContext(t.Context(), "POST", "http://"+e.addr+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"Authorization": "Bearer good", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
			req.Header.Set(k, v)
		}
		res, err := alone.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != nethttp.StatusBadRequest || !strings.Contains(string(b), "one message") {
			t.Errorf("%.60s: %d %.200s", body, res.StatusCode, b)
		}
	}
}
