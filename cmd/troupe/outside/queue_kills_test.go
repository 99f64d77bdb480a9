package outside_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"troupe/testkit/leaks"
	"troupe/testkit/need"
)

var (
	pageTasks = flag.Int("page-tasks", 40, "how many tasks TestQueueOfPagesThroughKills queues")
	pageKills = flag.Int("page-kills", 2, "how often it kills the service")
)

// visits serves pages, and counts how often each was visited.
type visits struct {
	mu sync.Mutex
	of map[string]int
}

func (v *visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/page" {
		v.mu.Lock()
		v.of[r.URL.Query().Get("n")]++
		v.mu.Unlock()
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, `<link rel=icon href="data:,"><h1>visited</h1>`)
}

// pages is how many were visited.
func (v *visits) pages() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.of)
}

// times is how often one was.
func (v *visits) times(page int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.of[fmt.Sprint(page)]
}

// TestQueueOfPagesThroughKills kills the service again and again while its browsers work
// off a queue. The pages count: no task is lost, and none has visited its page twice. One
// that may have visited it at a kill was interrupted, once.
//
// Promise: A queued task with one attempt never begins twice, whatever is killed
// (docs/queue.md#what-happens-when).
func TestQueueOfPagesThroughKills(t *testing.T) {
	need.All(t)
	leaks.Check(t)
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	seen := &visits{of: map[string]int{}}
	site := httptest.NewServer(seen)
	t.Cleanup(site.Close)
	const workers = 2
	start := func() (*child, string) {
		return serve(t, filepath.Join(dir, "data"), fmt.Sprintf("--workers=%d", workers), "--allow-private")
	}
	c, base := start()
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	ids := make([]string, *pageTasks)
	for i := range ids {
		status, got, err := post(base, token, fmt.Sprintf(`{"queue":true,"actions":[{"open":"%s/page?n=%d"},{"getText":"h1"}]}`, site.URL, i))
		if err != nil || status != 202 {
			t.Fatalf("task %d: %d, %v: %s", i, status, err, got)
		}
		ids[i] = read(t, got).TaskID
	}
	for kill := range *pageKills {
		enough := len(ids) * (kill + 1) / (*pageKills + 1)
		until(t, "pages are visited", func() bool { return seen.pages() >= enough })
		_ = c.Process.Kill()
		_ = c.end(t, hang)
		c, base = start()
	}
	interrupted := 0
	for i, id := range ids {
		a := of{Status: "pending"}
		for a.Status == "pending" {
			status, got := get(t, base, token, "/v1/get-result?wait=20000&taskId="+id)
			if a = read(t, got); status != 200 {
				t.Fatalf("task %d: %d: %s", i, status, got)
			}
		}
		n := seen.times(i)
		switch {
		case a.Status == "complete" && a.Data == "visited" && n == 1:
		case a.Code == "interrupted" && n <= 1:
			interrupted++
		default:
			t.Errorf("task %d has visited its page %d times, and is %+v", i, n, a)
		}
	}
	if most := workers * *pageKills; interrupted > most {
		t.Errorf("%d tasks were interrupted by %d kills of %d workers", interrupted, *pageKills, workers)
	}
	t.Logf("%d tasks, %d kills: %d interrupted", len(ids), *pageKills, interrupted)
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}
}
