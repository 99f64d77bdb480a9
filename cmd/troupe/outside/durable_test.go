package outside_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/testkit/leaks"
	"troupe/testkit/need"
)

// get asks with a token.
func get(t *testing.T, base, token, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequest("GET", base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := alone.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// of is what these tests read of answers.
type of struct {
	Success   bool   `json:"success"`
	Status    string `json:"status"`
	Code      string `json:"code"`
	Retryable bool   `json:"retryable"`
	TaskID    string `json:"taskId"`
	WorkerID  string `json:"workerId"`
	SessionID string `json:"sessionId"`
	Data      any    `json:"data"`
}

func read(t *testing.T, body string) of {
	t.Helper()
	a, err := parsed(body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func parsed(body string) (a of, err error) {
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		return a, fmt.Errorf("%w: %s", err, body)
	}
	return a, nil
}

// TestAsync starts a task, follows it while it runs, and polls its end.
func TestAsync(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	_, base, token, _ := loadService(t, 1)
	_, got, err := post(base, token, `{"async":true,"queueTimeout":20000,"actions":[{"open":"http://demo.troupe.test/"},{"wait":500},{"getText":".name"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	started := read(t, got)
	if !started.Success || started.TaskID == "" {
		t.Fatalf("the start: %s", got)
	}
	status, events := get(t, base, token, "/v1/tasks/"+started.TaskID+"/events")
	var names []string
	for lines := bufio.NewScanner(strings.NewReader(events)); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			names = append(names, name)
		}
	}
	if want := []string{"step", "step", "step", "end"}; status != 200 || !slices.Equal(names, want) || !strings.Contains(events, "id: 3\n") {
		t.Errorf("the events are %v: %d: %s", names, status, events)
	}
	status, got = get(t, base, token, "/v1/get-result?wait=20000&taskId="+started.TaskID)
	if a := read(t, got); status != 200 || !a.Success || a.Status != "complete" || a.Data != "Demo Shop" {
		t.Errorf("the poll: %d: %s", status, got)
	}
	if status, got = get(t, base, token, "/v1/get-result?taskId=task_0011223344556677_1700000000"); status != 404 {
		t.Errorf("a task that never was: %d: %s", status, got)
	}
}

// account serves a page behind a login, which is a cookie without an end. The
// demo shop forgets who signed in when its service ends.
func account(t *testing.T) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		name := "nobody"
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "who", Value: "ada", Path: "/", HttpOnly: true})
		} else if c, err := r.Cookie("who"); err == nil {
			name = c.Value
		}
		_, _ = io.WriteString(w, "<h1>"+name+"</h1>")
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

var kills = flag.Int("kills", 3, "how often TestKilledService kills the service")

// TestKilledService kills the service under load, again and again: what it has
// acknowledged is still true afterwards.
//
// Promise: After a `kill -9`, acknowledged tasks are complete or `interrupted`, and
// sessions continue (docs/reliability.md#other-faults).
func TestKilledService(t *testing.T) {
	need.All(t)
	t.Parallel()
	leaks.Check(t)
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	site := account(t)
	c, base := serve(t, data, "--workers=2", "--allow-private")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	counted := int64(1)
	_, got, err := post(base, token, `{"session":{"preserve":true},"queueTimeout":20000,"actions":[{"open":"`+site+`/login"}]}`)
	if err != nil || !read(t, got).Success || read(t, got).SessionID == "" {
		t.Fatalf("the session: %v: %s", err, got)
	}
	session := read(t, got).SessionID

	var tasks []string
	for round := range *kills {
		before := time.Second + rand.N(time.Second) // at any moment of the load
		tasks = append(tasks, load(t, base, token, before, func(first string) {
			until(t, "a task has ended", func() bool { // one that has to outlive the kill with its result
				_, got := get(t, base, token, "/v1/get-result?taskId="+first)
				return read(t, got).Status == "complete"
			})
			browsers := browsersOf(t, c.Process.Pid)
			_ = c.Process.Kill()
			_ = c.end(t, hang)
			c, base = serve(t, data, "--workers=2", "--allow-private")
			for _, p := range processes(t) {
				if slices.Contains(browsers, p.group) {
					t.Errorf("round %d: a process of the killed service is left: %+v", round, p)
				}
			}
		})...)
		_, got, err := post(base, token, `{"session":{"id":"`+session+`"},"queueTimeout":20000,"actions":[{"open":"`+site+`"},{"getText":"h1"}]}`)
		if a := read(t, got); err != nil || !a.Success || a.Data != "ada" {
			t.Errorf("round %d: the session: %v: %s", round, err, got)
		} else {
			counted++
		}
	}
	ends := map[string]int{}
	for _, id := range tasks {
		status, got := get(t, base, token, "/v1/get-result?wait=60000&taskId="+id)
		a := read(t, got)
		ends[a.Status+" "+a.Code]++
		if status != 200 || a.Status != "complete" && (a.Status != "failed" || a.Code != "interrupted") {
			t.Errorf("task %s: %d: %s", id, status, got)
		}
	}
	t.Logf("%d tasks: %v", len(tasks), ends)
	if len(tasks) < 6 || ends["complete "] == 0 {
		t.Errorf("of %d tasks the ends are %v: that proves little", len(tasks), ends)
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}
	store, err := persistence.OpenBadger(storeIn(data), persistence.Options{Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	account, err := persistence.NewAccounts(store).ByName(context.Background(), "local")
	if err != nil {
		t.Fatal(err)
	}
	used, err := persistence.NewUsage(store).Read(context.Background(), account.ID, time.Now())
	if want := counted + int64(len(tasks)); err != nil || used < want {
		t.Errorf("%d tasks are counted (%v), and %d were acknowledged", used, err, want)
	}
}

// load sends asynchronous tasks until the service was killed, and returns those
// that were acknowledged. Two of them were before it is: kill hears of the first.
func load(t *testing.T, base, token string, before time.Duration, kill func(first string)) (tasks []string) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for {
				status, got, err := post(base, token, `{"async":true,"queueTimeout":20000,"actions":[{"open":"http://demo.troupe.test/"},{"wait":50}]}`)
				if err != nil {
					return
				}
				var a of
				if status == 200 && json.Unmarshal([]byte(got), &a) == nil {
					mu.Lock()
					tasks = append(tasks, a.TaskID)
					mu.Unlock()
				}
			}
		})
	}
	time.Sleep(before)
	var first string
	until(t, "two tasks were acknowledged", func() bool {
		mu.Lock()
		defer mu.Unlock()
		if len(tasks) > 0 {
			first = tasks[0]
		}
		return len(tasks) > 1
	})
	kill(first)
	all.Wait()
	return tasks
}
