package browser_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"troupe/engine/browser"
	"troupe/testkit/wait"
)

// TestRequestsWithoutEndHaveABound: the browser tells no end of scripts of workers
// that were ended, nor of most beacons.
func TestRequestsWithoutEndHaveABound(t *testing.T) {
	t.Parallel()
	ctx, c := newContext(t)
	over := make(chan struct{}) // the browser sends what waits for a connection as long as its context is there
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			select {
			case <-r.Context().Done():
			case <-over:
			}
		case "/":
			w.Header().Set("Content-Type", "text/html")
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(over) })
	tab, err := c.Tab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.NewTab(ctx) // a process alone may not ask for so many
	if err != nil {
		t.Fatal(err)
	}
	goTo(t, ctx, tab, srv.URL)
	goTo(t, ctx, other, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1))
	c.Network.Watch()
	defer c.Network.Unwatch()
	flood := func(tab *browser.Tab, script string) {
		t.Helper()
		if _, err := tab.Script.Evaluate(ctx, script, nil, false); err != nil {
			t.Fatal(err)
		}
	}
	flood(tab, `for(let i=0;i<600;i++)navigator.sendBeacon('/b'+i)`)
	if n := c.UnderWay(); n > 10 { // they do not count, so that none is remembered
		t.Errorf("%d beacons are remembered", n)
	}
	flood(tab, `for(let i=0;i<1000;i++)fetch('/hang?'+i).catch(()=>{});for(let i=0;i<500;i++)new Worker('/hang?w'+i).terminate()`)
	remembered := func(n int) {
		t.Helper()
		defer func() {
			if t.Failed() {
				t.Logf("%d requests are remembered, want %d", c.UnderWay(), n)
			}
		}()
		wait.Until(t, "the hanging requests are remembered", func() bool { return c.UnderWay() >= n })
	}
	remembered(1000)
	flood(other, `for(let i=0;i<1100;i++)fetch('/hang?'+i).catch(()=>{})`)
	remembered(browser.MaxActive)
	// What was asked for before this, on a connection of its own, has been told.
	for _, tab := range []*browser.Tab{tab, other} {
		flood(tab, `await fetch('`+strings.Replace(srv.URL, "127.0.0.1", "last.localhost", 1)+`/last', {mode: 'no-cors'}).catch(() => {})`)
	}
	if n := c.UnderWay(); n > browser.MaxActive {
		t.Errorf("%d requests are remembered", n)
	}
}

// TestFramesEndWithTheirDocument, also where the next one is another site's.
func TestFramesEndWithTheirDocument(t *testing.T) {
	t.Parallel()
	ctx, c := newContext(t)
	url := serve(t, map[string]string{"/": "<script>for(let i=0;i<10;i++)document.documentElement.append(document.createElement('iframe'))</script>"})
	tab, err := c.Tab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, u := range []string{url, strings.Replace(url, "127.0.0.1", "localhost", 1)} {
			goTo(t, ctx, tab, u)
			if _, err := tab.Script.Call(ctx, "load", map[string]any{"ms": 10_000}); err != nil {
				t.Fatal(err)
			}
			if n := tab.FramesKnown(); n != 10 {
				t.Errorf("%d frames are known of 10", n)
			}
		}
	}
}
