package http_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit/heap"
	"troupe/testkit/need"
)

// head is the beginning of a request of an account.
func head(method, path string, size int, more ...string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", method, path, size, strings.Join(more, ""))
}

// statusOf reads the status of an answer, and how long it asks to wait.
func statusOf(t *testing.T, c net.Conn) (status int, after string, p problem) {
	t.Helper()
	r, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer r.Body.Close()
	if r.StatusCode >= 400 {
		p = judge(t, r)
	}
	return r.StatusCode, r.Header.Get("Retry-After"), p
}

// TestAttackTinyValues: large requests of very many small values, at once, take the
// memory of a few of them. It measures memory, so nothing runs beside it.
func TestAttackTinyValues(t *testing.T) {
	need.NoRace(t)
	need.Time(t)
	need.All(t)
	e := openServer(t, &fakeActors{})
	const all = 24
	for name, one := range map[string]string{"numbers": "1,", "empty arrays": "[],", "as many as there may be": `"aaaaa",`} {
		body := `{"actions":[` + strings.Repeat(one, (1<<20-100)/len(one)) + `1]}`
		grown := heap.Growth(func() {
			var over sync.WaitGroup
			for i := range all {
				c := e.dial(t, nil)
				path := []string{"/v1/", "/v1/validate"}[i%2]
				_, _ = io.WriteString(c, head("POST", path, len(body))+body[:len(body)-1])
				over.Go(func() {
					_, _ = io.WriteString(c, body[len(body)-1:])
					if status, _, p := statusOf(t, c); path == "/v1/" && status != 400 || status >= 500 {
						t.Errorf("%s: %d %s", name, status, p.Error)
					}
				})
			}
			over.Wait()
		})
		t.Logf("%s: the heap grows by %d MiB", name, grown>>20)
		if grown > 300<<20 { // some 150, of which 24 are the requests
			t.Errorf("%s: the heap grows by %d MiB for %d requests", name, grown>>20, all)
		}
	}
}

// TestAttackLargeRequestsTakeTurns: while others are parsed a large request waits for
// its turn, no longer than a request may take, and a small one waits for nobody. It
// takes all turns there are, so nothing runs beside it.
func TestAttackLargeRequestsTakeTurns(t *testing.T) {
	need.Time(t)
	with, store := withFlows(t)
	e := openServer(t, &fakeActors{}, with, func(c *http.Config) { c.RequestTimeout = time.Second })
	flow := `{"actions":[{"set":{"n":"` + strings.Repeat("x", engine.SmallBody) + `"}}]}`
	if _, err := store.Put(t.Context(), "acc1", persistence.Flow{Name: "large", Source: []byte(flow)}); err != nil {
		t.Fatal(err)
	}
	var ends []func()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		end, err := engine.BeginParse(ctx, 1<<20)
		cancel()
		if err != nil {
			break
		}
		ends = append(ends, end)
	}
	large := task[:len(task)-1] + strings.Repeat(" ", engine.SmallBody) + "}"
	contentType, parts := form(part{name: "payload", data: []byte(large)})
	if status, p := e.post(t, contentType, parts); status != 429 || p.Code != "rate_limited" || !*p.Retryable {
		t.Errorf("a large form: %d %+v", status, p)
	}
	if status, p := e.post(t, "application/json", strings.NewReader(large), withKey("k")); status != 429 || p.Code != "rate_limited" {
		t.Errorf("a large request: %d %+v", status, p)
	}
	if status, p := e.post(t, "application/json", strings.NewReader(task)); status != 200 {
		t.Errorf("a small request: %d %+v", status, p)
	}
	runs := `{"actions":[{"run":"large"}]}`
	for _, path := range []string{"/v1/", "/v1/validate"} {
		if status, text := callOnce(t, e, "POST", path, "good", runs); status != 429 || !strings.Contains(text, `"rate_limited"`) {
			t.Errorf("%s with a small list that runs a large flow: %d %s", path, status, text)
		}
	}
	for _, end := range ends {
		end()
	}
	if status, p := e.post(t, "application/json", strings.NewReader(large)); status != 200 {
		t.Errorf("afterwards: %d %+v", status, p)
	}
}

// TestAttackAnnouncedBodies: a request takes memory as it comes, not as it is
// announced. It measures memory, so nothing runs beside it.
func TestAttackAnnouncedBodies(t *testing.T) {
	need.Time(t)
	e := openServer(t, &fakeActors{})
	const all = 200
	grown := heap.Growth(func() {
		for range all {
			c := e.dial(t, nil)
			_, _ = io.WriteString(c, head("POST", "/v1/", 1<<20)+"{"+strings.Repeat(" ", 20<<10))
		}
		eventually(t, "all are read", func() bool { return e.Reading("acc1") > all*16<<10 })
	})
	t.Logf("the heap grows by %d MiB", grown>>20)
	if grown > 60<<20 { // 200 if all were believed; their connections take 16 KiB each
		t.Errorf("%d requests of 20 KiB make the heap grow by %d MiB", all, grown>>20)
	}
}

// TestAttackBodiesHeldBack: requests that come but for their last byte hold no more
// than their account may have under way; others are served.
func TestAttackBodiesHeldBack(t *testing.T) {
	need.Time(t)
	beside(t)
	e := openServer(t, &fakeActors{})
	const all = 140
	body := task + strings.Repeat(" ", 1<<20-len(task))
	var refused atomic.Int64
	var over sync.WaitGroup
	conns := make([]net.Conn, all)
	for i := range conns {
		c := e.dial(t, nil)
		conns[i] = c
		over.Go(func() {
			_, _ = io.WriteString(c, head("POST", "/v1/", len(body))+body[:len(body)-1])
			if status, after, p := statusOf(t, c); status == 429 && p.Code == "too_many_waiting" && after != "" {
				refused.Add(1)
			} else if status != 200 {
				t.Errorf("%d %+v", status, p)
			}
		})
	}
	eventually(t, "those beyond the budget are refused", func() bool { return refused.Load() >= all-128 })
	if status, p := e.post(t, "application/json", strings.NewReader(body), as("small")); status != 200 {
		t.Errorf("another account: %d %+v", status, p)
	}
	for _, c := range conns {
		_, _ = io.WriteString(c, " ")
	}
	over.Wait()
	if n := refused.Load(); n > all-127 {
		t.Errorf("%d of %d requests were refused", n, all)
	}
	if status, p := e.post(t, "application/json", strings.NewReader(body)); status != 200 {
		t.Errorf("afterwards: %d %+v", status, p)
	}
}

// as sends a request with another token.
func as(token string) func(*nethttp.Request) {
	return func(r *nethttp.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

// TestAttackWaits: one account has a bounded number of polls that wait and of streams
// of the events of tasks, in whatever way they end.
func TestAttackWaits(t *testing.T) {
	beside(t)
	var waiting atomic.Int64
	pending := func(ctx context.Context, wait time.Duration) {
		if wait > 0 {
			defer waiting.Add(-1)
			waiting.Add(1)
			<-ctx.Done()
		}
	}
	e := openServer(t, &fakeActors{
		poll: func(ctx context.Context, m *api.Poll) (*api.Polled, error) {
			pending(ctx, m.Wait)
			return &api.Polled{Status: api.TaskPending}, context.Cause(ctx)
		},
		follow: func(ctx context.Context, m *api.Follow) (*api.Followed, error) {
			pending(ctx, m.Wait)
			return &api.Followed{Status: api.TaskPending}, context.Cause(ctx)
		},
	})
	send := func(request string) net.Conn {
		c := e.dial(t, nil)
		_, _ = io.WriteString(c, request)
		return c
	}
	// Answers without a body begin no stream that would go on.
	for range http.MaxWaits + 10 {
		c := send("HEAD" + strings.TrimPrefix(eventsRequest, "GET"))
		_, _ = io.ReadFull(c, make([]byte, 12))
		c.Close()
	}
	for round := range 2 {
		var open []net.Conn
		for i := range http.MaxWaits {
			open = append(open, send([]string{pollRequest, eventsRequest}[i%2]))
		}
		eventually(t, "all wait that may", func() bool { return waiting.Load() == http.MaxWaits })
		for name, request := range map[string]string{"poll": pollRequest, "stream": eventsRequest} {
			if status, after, p := statusOf(t, send(request)); status != 429 || p.Code != "too_many_waiting" || after != "1" {
				t.Errorf("one more %s in round %d: %d, %q, %+v", name, round, status, after, p)
			}
		}
		if status, _, p := statusOf(t, send(strings.Replace(pollRequest, "&wait=60000", "", 1))); status != 200 {
			t.Errorf("a poll that does not wait: %d %+v", status, p)
		}
		mine := waiting.Load()
		other := send(strings.Replace(pollRequest, "good", "small", 1))
		eventually(t, "another account waits", func() bool { return waiting.Load() == mine+1 })
		other.Close()
		for _, c := range open {
			c.Close()
		}
		eventually(t, "all have ended", func() bool { return waiting.Load() == 0 })
	}
}

// TestAttackLargeJSON: a request for a ticket or a link is refused by its length, and
// nothing of it is parsed.
func TestAttackLargeJSON(t *testing.T) {
	beside(t)
	e := openServer(t, &fakeActors{})
	for _, path := range []string{"/v1/tickets", "/v1/links"} {
		c := e.dial(t, nil)
		_, _ = io.WriteString(c, head("POST", path, 65<<10)) // and not a byte more
		if status, _, p := statusOf(t, c); status != 413 || !strings.Contains(p.Error, "64 KiB") {
			t.Errorf("%s: %d %+v", path, status, p)
		}
		c = e.dial(t, nil)
		_, _ = io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n11000\r\n"+strings.Repeat(" ", 0x11000))
		if status, _, p := statusOf(t, c); status != 413 {
			t.Errorf("%s, in chunks: %d %+v", path, status, p)
		}
	}
}
