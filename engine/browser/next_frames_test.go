package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"troupe/engine/browser"
)

// beforeNext asks for a text in a frame, and knows which frames are asked for next.
type beforeNext struct {
	textIn
	next []browser.Part
}

func (q beforeNext) Next() []browser.Part { return q.next }
func (q beforeNext) Below(parts int) browser.Question {
	q.place = q.place[parts:]
	return q
}

// TestNextFramesAreMadeReady: frames that the next steps name have the page script when
// their turn comes, and no others.
func TestNextFramesAreMadeReady(t *testing.T) {
	ctx, c := newContext(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, port, _ := strings.Cut(r.Host, ":")
		fmt.Fprintf(w, `<!doctype html><p>%s</p>`, r.URL.Path)
		if r.URL.Path == "/" {
			for _, name := range []string{"one", "two", "three"} {
				fmt.Fprintf(w, `<iframe src="http://%s.localhost:%s/%s"></iframe>`, name, port, name)
			}
		}
	}))
	t.Cleanup(srv.Close)
	tab, err := c.Tab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	goTo(t, ctx, tab, srv.URL)
	if _, err := tab.Script.CallOnArrival(ctx, "load", map[string]any{"ms": 10000}); err != nil {
		t.Fatal(err)
	}
	frame := func(name string) browser.Part {
		return browser.Part{As: name, ByURL: true, URL: func(url string) bool { return strings.HasSuffix(url, "/"+name) }}
	}
	ask := func(name string, next ...browser.Part) {
		t.Helper()
		q := beforeNext{textIn{[]browser.Part{frame(name)}, time.Now().Add(5 * time.Second)}, next}
		r, _, err := tab.Ask(ctx, "text", q)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.Value); got != `"/`+name+`"` {
			t.Errorf("the frame %s has %s%s", name, got, r.Code)
		}
	}
	worlds := func(want int) {
		t.Helper()
		if n, err := tab.WorldsInFrames(ctx); err != nil || n != want {
			t.Errorf("%d frames have the page script, %v: want %d", n, err, want)
		}
	}
	ask("one", frame("two"), frame("one"), frame("none"))
	worlds(2)
	ask("two", frame("one"))
	worlds(2)
	ask("three")
	worlds(3)
}
