package testkit

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"troupe/engine"
	"troupe/testkit/need"
)

// Chromium returns the service's own engine. The test ends its browsers, which
// leave nothing behind. They reach any address, without the proxy.
func Chromium(t testing.TB) *engine.Chromium {
	t.Helper()
	need.Browser(t)
	dir, err := os.MkdirTemp("", "troupe-testkit")
	if err == nil {
		err = os.Chmod(dir, 0o711) // browsers may run as another user
	}
	if err != nil {
		t.Fatalf("make the browsers' folder: %v", err)
	}
	t.Cleanup(func() {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("browsers have left behind %v", left)
		}
		os.RemoveAll(dir)
	})
	e := new(engine.Chromium)
	e.Options.Dir = dir
	return e
}

// leaveTrace looks which traces the page has in its cookie and in its storage,
// and adds one. The two must have the same.
const leaveTrace = `
const stored = localStorage.traces ?? '[]';
const cookie = decodeURIComponent(document.cookie.match(/traces=([^;]*)/)?.[1] ?? '[]');
if (cookie !== stored) throw new Error('the cookie has ' + cookie + ', the storage ' + stored);
const found = JSON.parse(stored);
localStorage.traces = JSON.stringify([...found, %q]);
document.cookie = 'traces=' + encodeURIComponent(localStorage.traces);
return found`

// Tracing serves a page for as long as the test runs, and returns a
// [Backend.Trace] for browsers that load pages: traces are in a cookie and in the
// storage of that page.
func Tracing(t testing.TB) func(name string) *engine.Task {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("serve a page: %v", err)
	}
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>traces</title>")
	})
	s := &http.Server{Handler: page, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // until it is closed
	t.Cleanup(func() { _ = s.Close() })
	return func(name string) *engine.Task {
		body := fmt.Appendf(nil, `{"actions":[{"open":"http://%s/"},{"evaluate":%q}]}`, l.Addr(), fmt.Sprintf(leaveTrace, name))
		task, err := engine.Parse(body, nil)
		if err != nil {
			panic(err) // of ours: there is nothing in it that could be wrong
		}
		return task
	}
}
