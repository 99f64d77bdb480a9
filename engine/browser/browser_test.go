package browser_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/leaks"
	"troupe/testkit/need"
)

// shared is the one browser of this test binary; every test has a context of
// its own in it.
var shared *browser.Browser

func options(dir string) browser.Options {
	return browser.Options{Dir: dir, NoSandbox: os.Getenv("TROUPE_TEST_NO_SANDBOX") != ""}
}

// isolatedDir makes this binary the one that plays in an isolated network, where there are
// such: see TestNothingLeavesButThroughTheProxy.
const isolatedDir = "TROUPE_TEST_ISOLATED_DIR"

var playOnIsland func(dir string)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		runChild(dir)
	}
	if dir := os.Getenv(isolatedDir); dir != "" {
		playOnIsland(dir)
	}
	look := leaks.Start()
	if flag.Parse(); testing.Short() {
		os.Exit(look.End(m.Run()))
	}
	dir, err := os.MkdirTemp("", "troupe-browser-test")
	if err != nil {
		panic(err)
	}
	os.Chmod(dir, 0o711)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	shared, err = browser.Launch(ctx, options(dir))
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	shared.Close()
	os.Remove(dir) // stays where something is left in it
	os.Exit(look.End(code))
}

func newContext(t testing.TB) (context.Context, *browser.Context) {
	t.Helper()
	need.Browser(t)
	leaks.Check(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	c, err := shared.NewContext(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if n, err := c.OpenPages(context.Background()); n > 0 || err != nil {
			t.Errorf("%d tabs are left of the test's context: %v", n, err)
		}
	})
	return ctx, c
}

// newTab is a tab in a context that is the test's alone.
func newTab(t testing.TB) (context.Context, *browser.Tab) {
	t.Helper()
	ctx, c := newContext(t)
	tab, err := c.NewTab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, tab
}

func serve(t testing.TB, pages map[string]string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestATabReadsAPage(t *testing.T) {
	ctx, c := newContext(t)
	url := serve(t, map[string]string{"/": `<h1 id=h> Hello <b>you</b> </h1>`})
	tab, err := c.Tab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := tab.Navigation.Open(ctx, url); err != nil {
			t.Fatal(err)
		}
		if r, err := tab.Script.Call(ctx, "load", map[string]any{"ms": 5000}); err != nil || r.Code != "" {
			t.Fatalf("loading gives %+v, %v", r, err)
		}
		r, err := tab.Script.Call(ctx, "text", map[string]any{"t": map[string]any{"k": "css", "s": "#h", "a": "#h"}, "ms": 1000})
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Value) != `"Hello you"` {
			t.Errorf("text = %s, %s", r.Value, r.Error)
		}
	}
}
