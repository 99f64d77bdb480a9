package http_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
)

// follower gives the steps of a scripted answer that come after the one asked
// for.
func follower(x *api.Followed) func(context.Context, *api.Follow) (*api.Followed, error) {
	return func(_ context.Context, m *api.Follow) (*api.Followed, error) {
		f := &api.Followed{Status: x.Status, Refusal: x.Refusal}
		for _, s := range x.Steps {
			if s.Seq > m.After {
				f.Steps = append(f.Steps, s)
			}
		}
		return f, nil
	}
}

const (
	pollRequest   = "GET /v1/get-result?taskId=task_1&wait=60000 HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\n\r\n"
	eventsRequest = "GET /v1/tasks/task_1/events HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\n\r\n"
)

// TestVanishedClientEndsItsWait: nobody is asked any longer for a poll or a
// stream whose client is gone.
func TestVanishedClientEndsItsWait(t *testing.T) {
	beside(t)
	for name, sent := range map[string]string{"poll": pollRequest, "events": eventsRequest} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, server, client *tls.Config) {
				waits, ends := make(chan struct{}, 8), make(chan error, 8)
				wait := func(ctx context.Context) error {
					waits <- struct{}{}
					<-ctx.Done()
					ends <- context.Cause(ctx)
					return ctx.Err()
				}
				c := &fakeActors{
					poll: func(ctx context.Context, _ *api.Poll) (*api.Polled, error) { return nil, wait(ctx) },
					follow: func(ctx context.Context, m *api.Follow) (*api.Followed, error) {
						if m.Wait == 0 {
							return &api.Followed{Status: api.TaskPending}, nil
						}
						return nil, wait(ctx)
					},
				}
				e := openServer(t, c, func(c *http.Config) { c.TLS = server })
				conn := e.dial(t, client)
				_, _ = io.WriteString(conn, sent)
				<-waits
				_ = conn.Close()
				select {
				case err := <-ends:
					if !errors.Is(err, engine.ErrClientGone) {
						t.Errorf("the wait ended with %v", err)
					}
				case <-time.After(hang):
					t.Error("the wait goes on")
				}
			})
		})
	}
}

// TestEventsComeAtOnce, and signs of life between them, for longer than any
// other answer may take.
func TestEventsComeAtOnce(t *testing.T) {
	beside(t)
	steps := make(chan int)
	c := &fakeActors{}
	c.follow = func(ctx context.Context, m *api.Follow) (*api.Followed, error) {
		f := &api.Followed{Status: api.TaskPending}
		if m.Wait == 0 {
			return f, nil
		}
		select {
		case n := <-steps:
			f.Steps = []api.TaskStep{{Seq: m.After + n, Step: engine.StepReport{Path: "0", Action: "wait", Success: true}}}
		case <-time.After(m.Wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return f, nil
	}
	e := openServer(t, c, func(c *http.Config) { c.Heartbeat, c.WriteTimeout = 50*time.Millisecond, 200*time.Millisecond })
	conn := e.dial(t, nil)
	_, _ = io.WriteString(conn, eventsRequest)
	lines := bufio.NewScanner(conn)
	until := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.TrimSpace(lines.Text()) == want {
				return
			}
		}
		t.Fatalf("%q did not come: %v", want, lines.Err())
	}
	for i := range 3 {
		for range 5 { // longer than an answer may take
			until(":")
		}
		go func() { steps <- 1 }()
		until(fmt.Sprintf("id: %d", i+1))
		until(`data: {"actionPath":"0","action":"wait","success":true,"durationMs":0}`)
	}
}

// TestPanicInAStream ends the stream and not the process.
func TestPanicInAStream(t *testing.T) {
	c := &fakeActors{follow: func(_ context.Context, m *api.Follow) (*api.Followed, error) {
		if m.Wait == 0 {
			return &api.Followed{Status: api.TaskPending}, nil
		}
		panic("scripted")
	}}
	e := openServer(t, c)
	conn := e.dial(t, nil)
	_, _ = io.WriteString(conn, eventsRequest+"GET /healthz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
	if all, err := io.ReadAll(conn); err != nil || !strings.Contains(string(all), `"status":"ok"`) {
		t.Errorf("after the stream: %v: %s", err, all)
	}
}

// TestFilesAreThereUntilTheTaskHasEnded, long after the request was answered.
func TestFilesAreThereUntilTheTaskHasEnded(t *testing.T) {
	for name, other := range map[string]bool{"its own": false, "an earlier request's": true} {
		t.Run(name, func(t *testing.T) {
			c := &fakeActors{poll: func(context.Context, *api.Poll) (*api.Polled, error) {
				if !other { // a repeat is told what is true of the task
					t.Error("the edge polls a task that nobody asked about")
				}
				return &api.Polled{Status: api.TaskPending}, nil
			}}
			if other {
				c.start = func(context.Context, *api.Execute) (*api.Started, error) {
					return &api.Started{TaskID: "task_1"}, nil
				}
			}
			e := openServer(t, c)
			left := func() int {
				dirs, err := os.ReadDir(e.uploads)
				if err != nil {
					t.Fatal(err)
				}
				return len(dirs)
			}
			kind, body := form(
				part{name: "payload", data: []byte(`{"async":true,"actions":[{"uploadFile":["#f","$file:0"]}]}`)},
				part{name: "files", file: "a.txt", data: []byte("hello")})
			if status, p := e.post(t, kind, bytes.NewReader(body.Bytes())); status != 200 || !*p.Success {
				t.Fatalf("the answer is %d %+v", status, p)
			}
			if !other {
				if b, err := os.ReadFile(c.seen[0].Task.Files[0].Path); err != nil || string(b) != "hello" {
					t.Errorf("the file while the task runs: %q, %v", b, err)
				}
				c.free() // the task has ended
				if left() != 0 {
					t.Error("the files are not removed with the end of the task")
				}
			}
			eventually(t, "the files are removed", func() bool { return left() == 0 })
		})
	}
}

// TestRefusedStartHasItsTask: who sends a refused start finds it in the log by its task.
func TestRefusedStartHasItsTask(t *testing.T) {
	for name, start := range map[string]func(context.Context, *api.Execute) (*api.Started, error){
		"refused": func(_ context.Context, m *api.Execute) (*api.Started, error) {
			return &api.Started{TaskID: m.TaskID, Refusal: api.Refuse(engine.CodeNoWorkerAvailable, "")}, nil
		},
		"failed": func(context.Context, *api.Execute) (*api.Started, error) { return nil, errors.New("the disk is gone") },
	} {
		c := &fakeActors{start: start}
		e := openServer(t, c)
		status, text := sendBody(t, e, "POST", "/v1/", "application/json", `{"async":true,"actions":[{"wait":1}]}`)
		var a struct{ TaskID, Code string }
		if err := json.Unmarshal([]byte(text), &a); err != nil || status < 400 || a.Code == "" || len(c.seen) != 1 || a.TaskID != c.seen[0].TaskID || a.TaskID == "" {
			t.Errorf("%s: %d %s %v", name, status, text, err)
		}
	}
}
