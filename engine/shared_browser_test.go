package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/testkit/leaks"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// sharing is an engine whose workers share one browser, and its folder.
func sharing(t *testing.T) (launch func() *instance, dir string) {
	t.Helper()
	leaks.Check(t)
	dir, err := os.MkdirTemp("", "troupe-share-test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left behind when all have left: %v", left)
		}
		os.RemoveAll(dir)
	})
	e := &Chromium{Options: browser.Options{Dir: dir, Log: zerolog.Nop()}, Group: func(string) string { return "g" }}
	return func() *instance {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		in, err := e.Launch(ctx, "w")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(in.Close)
		return in.(*instance)
	}, dir
}

func TestWorkersShareABrowserButNothingInIt(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	launch, dir := sharing(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<h1>x</h1>") }))
	defer srv.Close()
	a, b := launch(), launch()
	if a.browser.PID() != b.browser.PID() {
		t.Fatalf("the workers have the browsers %d and %d, want one", a.browser.PID(), b.browser.PID())
	}
	const mark = `"document.cookie='a=1';localStorage.a=1;return document.cookie+localStorage.a"`
	const look = `"return document.cookie+(localStorage.a||'nothing')"`
	task := func(in *instance, script string) string {
		t.Helper()
		o := play(t, in, fmt.Sprintf(`{"actions":[{"open":%q},{"evaluate":%s}]}`, srv.URL, script), TaskEnv{})
		if len(o.Failures) > 0 {
			t.Fatal(o.Failures)
		}
		return string(o.Data)
	}
	if got := task(a, mark); got != `"a=11"` {
		t.Fatalf("the marks are %s", got)
	}
	if got := task(b, look); got != `"nothing"` {
		t.Errorf("another worker of the browser sees %s", got)
	}
	if err := a.Reset(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := task(a, look); got != `"nothing"` {
		t.Errorf("after a reset the worker sees %s", got)
	}

	// One leaves; the other goes on in the same browser.
	a.Close()
	select {
	case <-a.Gone():
	default:
		t.Error("a worker that has left is not gone")
	}
	if got := task(b, mark); got != `"a=11"` {
		t.Errorf("when one has left, the other gets %s", got)
	}
	pid := b.browser.PID()
	b.Close()
	wait.Until(t, "the browser ends with the last who shares it", func() bool { return groupMembers(t, pid) == 0 })
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
}

// Workers that are renewed one after the other come into a younger browser, and the
// old one ends when the last has left it. Each is told its part of the memory.
func TestASharedBrowserIsReplacedByThoseWhoRenew(t *testing.T) {
	need.Browser(t)
	launch, _ := sharing(t)
	workers := []*instance{launch(), launch()}
	first := workers[0].browser
	both := workers[0].Memory() + workers[1].Memory()
	if whole := first.Memory(); both < whole/2 || both > 2*whole {
		t.Errorf("the parts are %d bytes together, the browser takes %d", both, whole)
	}
	moved := 0
	for i := range 6 { // three renewals of each
		w := i % 2
		before := workers[w].browser
		workers[w].Close()
		workers[w] = launch()
		if workers[w].browser != before {
			moved++
		}
	}
	if moved < 2 || ended(workers[0].browser) || ended(workers[1].browser) {
		t.Errorf("%d of 6 renewals came into another browser, want at least 2", moved)
	}
	if !ended(first) || groupMembers(t, first.PID()) > 0 {
		t.Error("the first browser is still there")
	}
	if workers[0].browser != workers[1].browser {
		t.Error("after as many renewals the two share no browser any more")
	}
}

func TestACrashTakesAllWhoShareTheBrowser(t *testing.T) {
	need.Browser(t)
	launch, _ := sharing(t)
	a, b, idle := launch(), launch(), launch()
	pid := a.browser.PID()
	ends := make(chan End, 2)
	for _, in := range []*instance{a, b} {
		go func() {
			ends <- play(t, in, `{"actions":[{"waitForElement":"#never"}]}`, TaskEnv{}).End
		}()
	}
	wait.Until(t, "both play", func() bool { return a.context().Used() && b.context().Used() })
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if end := <-ends; end != EndCrashed {
			t.Errorf("a task ended as %v, want a crash", end)
		}
	}
	for _, in := range []*instance{a, b, idle} {
		<-in.Gone()
	}

	// Who comes back finds a new browser, though one has not left the dead one
	// yet.
	c := launch()
	if c.browser.PID() == pid {
		t.Error("a worker came back to the dead browser")
	}
	idle.Close()
	if o := play(t, c, `{"actions":[{"evaluate":"return 1"}]}`, TaskEnv{}); string(o.Data) != "1" {
		t.Errorf("after the crash, a task gives %s: %v", o.Data, o.Failures)
	}
}

// A browser may end while a worker enters it: there is a new one then.
func TestABrowserThatEndsIsNotEntered(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	launch, _ := sharing(t)
	for range 6 {
		a := launch()
		if err := syscall.Kill(a.browser.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		b := launch() // nobody has heard of the end yet
		if o := play(t, b, `{"actions":[{"evaluate":"return 1"}]}`, TaskEnv{}); string(o.Data) != "1" {
			t.Errorf("a task gives %s: %v", o.Data, o.Failures)
		}
		a.Close()
		b.Close()
	}
}

// A page that never gives its process back ends with its own worker; the others
// do not notice.
func TestAWorkerThatHangsLeavesTheBrowserToTheOthers(t *testing.T) {
	need.Browser(t)
	launch, _ := sharing(t)
	a, b := launch(), launch()
	ctx, cancel := context.WithCancel(context.Background())
	task, err := Parse([]byte(`{"actions":[{"evaluate":"for(;;);"}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	hangs := make(chan *Outcome, 1)
	go func() { hangs <- a.Play(ctx, task, TaskEnv{}) }()
	wait.Until(t, "the task plays", func() bool { return a.context().Used() })
	a.Close()
	cancel()
	<-hangs
	if ended(b.browser) {
		t.Fatal("the whole browser was ended")
	}
	if o := play(t, b, `{"actions":[{"evaluate":"return 1"}]}`, TaskEnv{}); string(o.Data) != "1" {
		t.Errorf("the other worker gives %s: %v", o.Data, o.Failures)
	}
}
