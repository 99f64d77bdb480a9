package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLooksAfterAskingToLeave: a page that was asked to leave and has not begun to is
// not looked at before it does. The browser may put the beginning off for as long as
// it draws; here a timer of the page stands for that.
func TestLooksAfterAskingToLeave(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/there" {
			fmt.Fprint(w, `<title>second</title><button id=go style="margin:200px">go</button>`)
			return
		}
		fmt.Fprint(w, `<title>first</title><button id=go>go</button>`)
	}))
	t.Cleanup(srv.Close)
	ctx, tab := newTab(t)
	if err := tab.Navigation.Open(ctx, srv.URL); err != nil {
		t.Fatal(err)
	}
	look := map[string]any{"t": map[string]any{"s": "#go", "k": "css", "a": "#go"}, "ms": 5000, "of": 5000, "settle": "soon"}
	if r, err := tab.Script.Query(ctx, "point", look); err != nil || r.Code != "" {
		t.Fatal(r, err)
	}
	if _, err := tab.Script.Evaluate(ctx, `setTimeout(() => { location = '/there' }, 100)`, nil, false); err != nil {
		t.Fatal(err)
	}
	tab.AskedToLeave()
	if r, err := tab.Script.Query(ctx, "point", look); err != nil || r.Code != "" {
		t.Fatal(r, err)
	}
	r, err := tab.Script.Call(ctx, "here", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(`{"url":"%s/there","title":"second","status":200}`, srv.URL); string(r.Value) != want {
		t.Errorf("it looked at %s, want %s", r.Value, want)
	}

	// A page that was asked in vain is looked at all the same.
	tab.AskedToLeave()
	if r, err := tab.Script.Query(ctx, "point", look); err != nil || r.Code != "" {
		t.Fatal(r, err)
	}
}

// TestLooksAfterDrawing: a page that begins to leave only when it has drawn, which takes long, is
// looked at where it goes.
func TestLooksAfterDrawing(t *testing.T) {
	t.Parallel()
	const page = `<title>%s</title><button id=go>go</button>`
	url := serve(t, map[string]string{"/": fmt.Sprintf(page, "/"), "/there": fmt.Sprintf(page, "/there")})
	ctx, tab := newTab(t)
	look := map[string]any{"t": map[string]any{"s": "#go", "k": "css", "a": "#go"}, "ms": 5000, "of": 5000, "settle": "soon"}
	for round := range 3 {
		if err := tab.Navigation.Open(ctx, url); err != nil {
			t.Fatal(err)
		}
		if r, err := tab.Script.Query(ctx, "point", look); err != nil || r.Code != "" {
			t.Fatal(r, err)
		}
		_, err := tab.Script.Evaluate(ctx, `let frames = 0
const busy = () => { const end = performance.now() + 400; while (performance.now() < end); if (++frames < 3) requestAnimationFrame(busy); else location = '/there' }
requestAnimationFrame(busy)`, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		tab.AskedToLeave()
		if r, err := tab.Script.Query(ctx, "point", look); err != nil || r.Code != "" {
			t.Fatal(r, err)
		}
		r, err := tab.Script.Call(ctx, "here", map[string]any{})
		if err != nil || !strings.Contains(string(r.Value), `"title":"/there"`) {
			t.Errorf("round %d: it looked at %s, %v", round, r.Value, err)
		}
	}
}

// TestArrivesAfterAskingToLeave: nor is it taken for having arrived.
func TestArrivesAfterAskingToLeave(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title>", r.URL.Path)
	}))
	t.Cleanup(srv.Close)
	ctx, tab := newTab(t)
	if err := tab.Navigation.Open(ctx, srv.URL+"/first"); err != nil {
		t.Fatal(err)
	}
	load := map[string]any{"ms": 5000}
	if r, err := tab.Script.CallOnArrival(ctx, "load", load); err != nil || r.Code != "" {
		t.Fatal(r, err)
	}
	if _, err := tab.Script.Evaluate(ctx, `setTimeout(() => { location = '/second' }, 100)`, nil, false); err != nil {
		t.Fatal(err)
	}
	tab.AskedToLeave()
	r, err := tab.Script.CallOnArrival(ctx, "load", load)
	if err != nil || r.Code != "" {
		t.Fatal(r, err)
	}
	if !strings.Contains(string(r.Value), `"title":"/second"`) {
		t.Errorf("it has arrived at %s", r.Value)
	}
}
