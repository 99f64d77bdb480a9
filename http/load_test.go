package http_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/http/gate"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/heap"
	"troupe/testkit/leaks"
	"troupe/testkit/need"
)

// loadActors count what is loaded for answers that may be large.
type loadActors struct {
	fakeActors
	loads atomic.Int64
}

const loadedBytes = 4 << 20

func (c *loadActors) Execute(_ context.Context, m *api.Execute) (*api.Executed, error) {
	c.loads.Add(1)
	x := done(m)
	x.Outcome.Data = json.RawMessage(`"` + strings.Repeat("x", loadedBytes) + `"`)
	return x, nil
}

func (c *loadActors) Do(ctx context.Context, m any) (any, error) {
	whole := func(is bool) {
		if is {
			c.loads.Add(1)
		}
	}
	switch m := m.(type) {
	case *api.Poll:
		whole(!m.Bare)
		p := &api.Polled{Status: api.TaskComplete, Executed: &api.Executed{TaskID: m.TaskID, Outcome: &engine.Outcome{End: engine.EndCompleted}}}
		if m.Bare {
			p = p.WithoutOutcome()
		}
		return p, nil
	case *api.GetBatch:
		whole(!m.Bare)
		return &api.Batched{Batch: &api.Batch{ID: m.ID, State: api.BatchEnded}}, nil
	case *api.GetSchedule:
		whole(!m.Bare)
		return &api.Scheduled{Schedule: &api.Schedule{ID: m.ID}}, nil
	case *api.ListSchedules:
		whole(true)
		return &api.SchedulesListed{}, nil
	case *api.ListNotices:
		whole(true)
		return &api.NoticesListed{}, nil
	case *api.GetNotice:
		whole(true)
		return &api.Noticed{Notice: &api.Notice{ID: m.ID}}, nil
	case *api.ListBatchItems:
		whole(true)
		return &api.BatchItemsListed{}, nil
	case *api.ListBatches:
		whole(true)
		return &api.BatchesListed{}, nil
	case *api.KeptAnswer:
		return &api.AnswerKept{Bytes: loadedBytes}, nil
	case *api.BeginCall:
		return &api.CallBegun{Answer: []byte(`{"status":200,"body":{}}`)}, nil
	}
	return c.fakeActors.Do(ctx, m)
}

// hold has tasks played whose answers are not read, each of 4 MiB.
func hold(t *testing.T, e *edge, answers int) (held []net.Conn) {
	t.Helper()
	for range answers {
		c := e.dial(t, nil)
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		fmt.Fprintf(c, "POST /v1/ HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(task), task)
		if _, err := bufio.NewReader(io.LimitReader(c, 16)).ReadByte(); err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	return held
}

// TestWeighedBeforeItIsLoaded: where an account has no room, nothing is loaded for an answer
// that may be large, however it is asked for. Other accounts notice nothing.
func TestWeighedBeforeItIsLoaded(t *testing.T) {
	need.NoRace(t)
	beside(t)
	c := &loadActors{}
	e := openServer(t, c, small(gate.Limits{Account: 16 << 20, Strangers: 1 << 20, All: 64 << 20}))
	held := hold(t, e, 3)
	before := c.loads.Load()
	ways := []struct {
		name, method, path string
		key                bool
	}{
		{"a poll", "GET", "/v1/get-result?taskId=task_1", false},
		{"a poll that waits", "GET", "/v1/get-result?taskId=task_1&wait=1000", false},
		{"a repeated key", "POST", "/v1/", true},
		{"a batch", "GET", "/v1/batches/b1", false},
		{"a batch that is waited for", "GET", "/v1/batches/b1?wait=1000", false},
		{"a repeated change of a batch", "POST", "/v1/batches/b1/pause", true},
		{"the results of a batch", "GET", "/v1/batches/b1/results", false},
		{"the failed items of a batch", "GET", "/v1/batches/b1/failed", false},
		{"the dropped items of a batch", "GET", "/v1/batches/b1/dropped", false},
		{"batches", "GET", "/v1/batches", false},
		{"a schedule", "GET", "/v1/schedules/s1", false},
		{"schedules", "GET", "/v1/schedules", false},
		{"notices", "GET", "/v1/notices", false},
		{"a notice", "GET", "/v1/notices/n1", false},
		{"a notice that is sent again, again", "POST", "/v1/notices/n1/redeliver", true},
	}
	ask := func(token, method, path string, key bool) (int, string) {
		body := ""
		if key {
			body = task
		}
		req, err := nethttp.NewRequestWithContext(t.Context(), method, "http://"+e.addr+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		if key {
			req.Header.Set("Idempotency-Key", "k")
		}
		res, err := alone.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == 429 && res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
		return res.StatusCode, string(b)
	}
	for _, w := range ways {
		status, text := ask("good", w.method, w.path, w.key)
		if status != 429 || !strings.Contains(text, "too_many_waiting") {
			t.Errorf("%s: %d %.200s", w.name, status, text)
		}
		if n := c.loads.Load(); n != before {
			t.Errorf("%s was loaded before it was weighed", w.name)
			before = n
		}
	}
	for _, w := range ways {
		if status, text := ask("boss", w.method, w.path, w.key); status != 200 {
			t.Errorf("%s of another account: %d %.200s", w.name, status, text)
		}
	}
	for _, c := range held {
		c.Close()
	}
	eventually(t, "the room is given back", func() bool { return e.Reading("acc1") == 0 && e.Reading("acc3") == 0 })
	for _, w := range ways {
		if status, text := ask("good", w.method, w.path, w.key); status != 200 {
			t.Errorf("%s afterwards: %d %.200s", w.name, status, text)
		}
	}
	eventually(t, "nothing is left", func() bool { return e.Reading("acc1") == 0 })
}

// TestRepeatsOfALargeAnswer: what clients that repeat a key and read nothing have in
// memory follows the account's limit, and not their number.
func TestRepeatsOfALargeAnswer(t *testing.T) {
	need.NoRace(t)
	leaks.Check(t) // and nothing runs beside it: it measures the heap
	const each, clients, limit = 8 << 20, 20, 32 << 20
	eng := testkit.NewEngine()
	eng.Default = func(testkit.Call) testkit.Script {
		return testkit.Script{Do: func(context.Context, testkit.Call) *engine.Outcome {
			return &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(`"` + strings.Repeat("x", each) + `"`)}
		}}
	}
	files, err := persistence.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	k := testkit.New(t, testkit.Options{Workers: 1, Engine: eng, Config: func(c *actors.Config) { c.Files = files }})
	e := openServer(t, k.Node, small(gate.Limits{Account: limit, Strangers: 1 << 20, All: 4 * limit}))
	if status, p := e.post(t, "application/json", strings.NewReader(task), withKey("k")); status != 200 {
		t.Fatalf("%d %+v", status, p)
	}
	refused, held := 0, []net.Conn{}
	grown := heap.Growth(func() {
		for range clients {
			c := e.dial(t, nil)
			_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
			_ = c.SetReadDeadline(time.Now().Add(hang))
			fmt.Fprintf(c, "POST /v1/ HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: %d\r\n\r\n%s", len(task), task)
			held = append(held, c)
		}
		for _, c := range held {
			b := make([]byte, 12)
			if _, err := io.ReadFull(c, b); err != nil {
				t.Fatal(err)
			}
			if string(b) == "HTTP/1.1 429" {
				refused++
			}
		}
	})
	if n := e.Reading("acc1"); n > limit || refused < clients/2 {
		t.Errorf("%d bytes are held, and %d of %d clients refused", n, refused, clients)
	}
	t.Logf("%d clients: %d MiB", clients, grown>>20)
	if grown > 3*limit {
		t.Errorf("%d clients that read nothing of %d MiB have %d MiB in memory; the limit is %d", clients, each>>20, grown>>20, limit>>20)
	}
}

// TestStreamsThatNobodyReads: streams of events whose tasks have large results weigh what
// they hold, follow their account's limit, and end when nobody takes it.
func TestStreamsThatNobodyReads(t *testing.T) {
	leaks.Check(t) // and nothing runs beside it: it measures the heap
	const each, clients, limit = 8 << 20, 16, 32 << 20
	c := &fakeActors{
		follow: func(context.Context, *api.Follow) (*api.Followed, error) {
			return &api.Followed{Status: api.TaskComplete}, nil
		},
		poll: func(_ context.Context, m *api.Poll) (*api.Polled, error) {
			return &api.Polled{Status: api.TaskComplete, Executed: &api.Executed{TaskID: m.TaskID, Outcome: &engine.Outcome{
				End: engine.EndCompleted, Data: json.RawMessage(`"` + strings.Repeat("x", each) + `"`)}}}, nil
		},
	}
	e := openServer(t, c, small(gate.Limits{Account: limit, Strangers: 1 << 20, All: 4 * limit}), func(c *http.Config) { c.WriteTimeout = 2 * time.Second })
	grown := heap.Growth(func() {
		var all []net.Conn
		for range clients {
			c := e.dial(t, nil)
			_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
			fmt.Fprintf(c, "GET /v1/tasks/task_1/events HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\n\r\n")
			all = append(all, c)
		}
		for _, c := range all {
			if _, err := bufio.NewReader(io.LimitReader(c, 16)).ReadByte(); err != nil {
				t.Fatal(err)
			}
		}
		if n := e.Reading("acc1"); n == 0 || n > limit {
			t.Errorf("%d bytes are held", n)
		}
		if status, text := call(t, e, "GET", "/v1/get-result?taskId=task_1", "boss", ""); status != 200 {
			t.Errorf("another account: %d %.200s", status, text)
		}
		eventually(t, "streams that nobody reads end", func() bool { return e.Reading("acc1") == 0 })
	})
	t.Logf("%d streams: %d MiB", clients, grown>>20)
	if grown > 4*limit {
		t.Errorf("%d streams that nobody reads have %d MiB in memory; the limit is %d", clients, grown>>20, limit>>20)
	}
}
