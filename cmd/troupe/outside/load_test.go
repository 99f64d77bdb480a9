package outside_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

	"troupe/testkit/leaks"
	"troupe/testkit/need"
)

type process struct{ pid, parent, group int }

// processes lists what runs on this machine, less what has ended and is only
// waited for.
func processes(t *testing.T) []process {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var out []process
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var p process
		var state string
		fmt.Sscanf(path, "/proc/%d/stat", &p.pid)
		fmt.Sscan(string(b)[strings.LastIndexByte(string(b), ')')+2:], &state, &p.parent, &p.group)
		if state != "Z" {
			out = append(out, p)
		}
	}
	return out
}

// browsersOf lists the main processes of a service's browsers: its children
// that lead a group of their own.
func browsersOf(t *testing.T, service int) []int {
	t.Helper()
	var out []int
	for _, p := range processes(t) {
		if p.parent == service && p.group == p.pid {
			out = append(out, p.pid)
		}
	}
	return out
}

func loadService(t *testing.T, workers int, args ...string) (c *child, base, token, browsers string) {
	t.Helper()
	leaks.Check(t)
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	browsers = browsersIn(data)
	c, base = serve(t, data, append([]string{fmt.Sprintf("--workers=%d", workers), "--allow-private"}, args...)...)
	return c, base, tokenLine.FindStringSubmatch(c.out.String())[1], browsers
}

// numbered serves a page that shows the number it is asked for, and tells of
// each time that it did.
func numbered(t *testing.T) (url string, shown <-chan string) {
	seen := make(chan string, 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<h1>number %s</h1>", r.URL.Query().Get("n"))
		if n := r.URL.Query().Get("n"); n != "" {
			seen <- n
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, seen
}

type answered struct {
	Success  bool   `json:"success"`
	Code     string `json:"code"`
	Data     any    `json:"data"`
	WorkerID string `json:"workerId"`
}

// TestLoad sends 200 tasks at concurrency 8 to 2 workers: all are answered, none
// gets another's answer, and nothing is left after the stop.
func TestLoad(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	c, base, token, folder := loadService(t, 2)
	page, _ := numbered(t)
	const clients = 8
	tasks := 48
	if need.AllAsked() {
		tasks = 200
	}
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range tasks {
			next <- i
		}
	}()
	var all sync.WaitGroup
	var mu sync.Mutex
	right, workers := 0, map[string]int{}
	for range clients {
		all.Go(func() {
			for i := range next {
				status, got, err := post(base, token, fmt.Sprintf(`{"queueTimeout":60000,"actions":[{"open":"%s/?n=%d"},{"getText":"h1"}]}`, page, i))
				var a answered
				if err != nil || status != 200 || json.Unmarshal([]byte(got), &a) != nil || a.Data != fmt.Sprintf("number %d", i) {
					t.Errorf("task %d: %d, %v: %s", i, status, err, got)
					continue
				}
				mu.Lock()
				right++
				workers[a.WorkerID]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if right != tasks || len(workers) != 2 {
		t.Errorf("%d of %d answers are right, from %d workers", right, tasks, len(workers))
	}
	browsers := browsersOf(t, c.Process.Pid)
	if len(browsers) != 2 {
		t.Errorf("the service has %d browsers, want 2", len(browsers))
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}
	for _, p := range processes(t) {
		if slices.Contains(browsers, p.group) {
			t.Errorf("a process of browser %d is left: %+v", p.group, p)
		}
	}
	if left, err := os.ReadDir(folder); !errors.Is(err, fs.ErrNotExist) && (err != nil || len(left) > 0) {
		t.Errorf("folders are left: %v, %v", left, err)
	}
}

// TestKills kills the browser under each of 20 tasks: each gets a definite
// answer at once, and the worker is back every time.
func TestKills(t *testing.T) {
	need.Browser(t)
	need.All(t)
	t.Parallel()
	c, base, token, _ := loadService(t, 1)
	page, shown := numbered(t)
	slow := fmt.Sprintf(`{"queueTimeout":20000,"actions":[{"open":"%s/?n=1"},{"wait":20000}]}`, page)
	quick := fmt.Sprintf(`{"queueTimeout":20000,"actions":[{"open":"%s/?n=2"},{"getText":"h1"}]}`, page)
	type reply struct {
		status int
		body   string
		err    error
		at     time.Time
	}
	for i := range 20 {
		done := make(chan reply, 1)
		go func() {
			status, body, err := post(base, token, slow)
			done <- reply{status, body, err, time.Now()}
		}()
		// Busy may also be a worker that is still being made clean: a kill would
		// do the task no harm then. It runs when its page was asked for.
		for n := ""; n != "1"; {
			select {
			case n = <-shown:
			case <-time.After(hang):
				t.Fatalf("task %d does not run", i)
			}
		}
		killed := time.Now()
		for _, pid := range browsersOf(t, c.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case r := <-done:
			var a answered
			if r.err != nil || r.status != 200 || json.Unmarshal([]byte(r.body), &a) != nil || a.Success || a.Code != "browser_crashed" {
				t.Errorf("task %d: %d, %v: %s", i, r.status, r.err, r.body)
			}
		case <-time.After(promised(5 * time.Second)):
			t.Fatalf("task %d has no answer %v after its browser was killed", i, promised(5*time.Second))
		}
		status, body, err := post(base, token, quick)
		if err != nil || status != 200 || !strings.Contains(body, "number 2") {
			t.Fatalf("after kill %d: %d, %v: %s", i, status, err, body)
		}
		if took := time.Since(killed); took > promised(10*time.Second) {
			t.Errorf("after kill %d the next answer took %v", i, took)
		}
	}
}
