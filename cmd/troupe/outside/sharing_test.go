package outside_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"troupe/testkit/need"
)

// TestSharedBrowsers plays tasks of two accounts on four workers in two
// browsers: no task sees what another has left, and after the end of a browser
// both of its workers are back.
func TestSharedBrowsers(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	c, base, token, _ := loadService(t, 4, "--workers-per-browser=2")
	page, shown := numbered(t)
	data := c.Args[slices.IndexFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "--data=") })]
	code, other, errs := play(t, "", "token", "create", data, "--account=other", "--plan=pro")
	if code != 0 {
		t.Fatalf("no second account: %s", errs)
	}
	tokens := []string{token, strings.TrimSpace(other)}
	task := func(i int, wait string) (int, answered, error) {
		status, got, err := post(base, tokens[i%2], fmt.Sprintf(`{"queueTimeout":60000,"actions":[{"open":"%s/?n=%d"},%s{"evaluate":"const had = document.cookie + localStorage.n; document.cookie = 'n=%d'; localStorage.n = %d; return had"}]}`, page, i, wait, i, i))
		var a answered
		if err == nil {
			err = json.Unmarshal([]byte(got), &a)
		}
		return status, a, err
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	workers := map[string]bool{}
	for n := range 8 {
		all.Go(func() {
			for i := n; i < 64; i += 8 {
				if status, a, err := task(i, ""); err != nil || status != 200 || a.Data != "undefined" {
					t.Errorf("task %d: %d, %v: %+v", i, status, err, a)
				} else {
					mu.Lock()
					workers[a.WorkerID] = true
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	browsers := browsersOf(t, c.Process.Pid)
	if len(workers) != 4 || len(browsers) != 2 {
		t.Fatalf("%d workers in %d browsers have played, want 4 in 2", len(workers), len(browsers))
	}
	for len(shown) > 0 {
		<-shown
	}
	// Two tasks of an account are in one browser; it ends while they wait.
	codes := make(chan string, 4)
	for i := range 4 {
		go func() {
			_, a, err := task(i, `{"wait":20000},`)
			codes <- fmt.Sprint(a.Code, err)
		}()
		<-shown // in turn: the second one goes where the account has the browser
	}
	_ = syscall.Kill(-browsers[0], syscall.SIGKILL)
	for range 2 {
		if got := <-codes; got != "browser_crashed<nil>" {
			t.Errorf("a task of the killed browser ended with %s", got)
		}
	}
	_ = syscall.Kill(-browsers[1], syscall.SIGKILL)
	for range 2 {
		if got := <-codes; got != "browser_crashed<nil>" {
			t.Errorf("a task of the killed browser ended with %s", got)
		}
	}
	clear(workers)
	for i := range 16 {
		status, a, err := task(100+i, "")
		if err != nil || status != 200 {
			t.Errorf("task %d after the end: %d, %v: %+v", i, status, err, a)
		}
	}
	if n := len(browsersOf(t, c.Process.Pid)); n == 0 || n > 2 {
		t.Errorf("%d browsers, want at most 2", n)
	}
	if log := c.errs.String(); strings.Contains(log, "without it") {
		t.Errorf("a browser that ended took the sandbox away:\n%s", log)
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}
}
