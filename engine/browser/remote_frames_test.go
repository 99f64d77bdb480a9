package browser_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"troupe/engine/browser"
)

// textIn asks for a text in a frame.
type textIn struct {
	place []browser.Part
	until time.Time
}

func (q textIn) Arg() (map[string]any, time.Duration) {
	left := max(0, time.Until(q.until))
	arg := map[string]any{"t": browser.Part{Kind: "css", Sel: "p", As: "p"}, "ms": left.Milliseconds(), "of": 1000}
	if len(q.place) > 0 {
		arg["in"] = q.place
	}
	return arg, left
}
func (q textIn) Ways() [][]browser.Part           { return [][]browser.Part{q.place} }
func (q textIn) Place() []browser.Part            { return q.place }
func (q textIn) Hurry() bool                      { return false }
func (q textIn) Next() []browser.Part             { return nil }
func (q textIn) Below(parts int) browser.Question { q.place = q.place[parts:]; return q }

// foreign is a tab with a page that has frames of another site, one in the other.
func foreign(t *testing.T) (ctx context.Context, c *browser.Context, tab *browser.Tab, ask func(ms int, frames ...string) (string, error)) {
	t.Helper()
	ctx, c = newContext(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, at, _ := strings.Cut(r.Host, ":")
		frame := map[string]string{"/": "localhost", "/outer": "third.localhost"}[r.URL.Path]
		fmt.Fprintf(w, `<!doctype html><p>%s</p>`, r.URL.Path)
		if frame != "" {
			fmt.Fprintf(w, `<iframe src="http://%s:%s/%s"></iframe>`, frame, at, map[string]string{"/": "outer", "/outer": "inner"}[r.URL.Path])
		}
		io.WriteString(w, "<!-- -->")
	}))
	t.Cleanup(srv.Close)
	tab, err := c.Tab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	goTo(t, ctx, tab, srv.URL)
	return ctx, c, tab, func(ms int, frames ...string) (string, error) {
		q := textIn{until: time.Now().Add(time.Duration(ms) * time.Millisecond)}
		for _, f := range frames {
			q.place = append(q.place, browser.Part{Kind: "css", Sel: f, As: f})
		}
		r, _, err := tab.Ask(ctx, "text", q)
		if err != nil {
			return "", err
		}
		return string(r.Value) + r.Code, nil
	}
}

// TestFrameProcesses: the sessions with frames are there once somebody looks into one,
// and go with the frames.
func TestFrameProcesses(t *testing.T) {
	ctx, c, tab, ask := foreign(t)
	none, before := tab.FrameSessions()
	if got, err := ask(5000, "iframe", "iframe"); err != nil || got != `"/inner"` {
		t.Fatalf("the inner frame has %s, %v", got, err)
	}
	frames, with := tab.FrameSessions()
	if none != 0 || frames != 2 || with != before+2 {
		t.Errorf("%d sessions with frames before, %d after; %d in all, then %d: want two more", none, frames, before, with)
	}
	if _, err := tab.Script.Evaluate(ctx, `document.querySelector('iframe').remove()`, nil, false); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(100, "iframe"); err != nil || got != "element_not_found" {
		t.Errorf("a frame that was removed gives %s, %v", got, err)
	}
	if frames, all := tab.FrameSessions(); frames != 0 || all != before {
		t.Errorf("%d sessions with frames that are gone, %d in all: there were %d", frames, all, before)
	}
	// A tab that is closed takes its frames along.
	second, err := c.NewTab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c.CloseOthers(ctx, second)
	if frames, _ := tab.FrameSessions(); frames != 0 {
		t.Errorf("%d sessions with frames of a tab that is closed", frames)
	}
}

// TestAFrameThatCrashes is told of when the time is over, and the page around it goes on.
func TestAFrameThatCrashes(t *testing.T) {
	_, _, tab, ask := foreign(t)
	if got, err := ask(5000, "iframe", "iframe"); err != nil || got != `"/inner"` {
		t.Fatalf("the inner frame has %s, %v", got, err)
	}
	if n := tab.CrashFrames(); n != 2 {
		t.Fatalf("%d frames were to crash, want 2", n)
	}
	began := time.Now()
	if got, err := ask(300, "iframe"); !errors.Is(err, browser.ErrFrameLost) || time.Since(began) > 5*time.Second {
		t.Errorf("a frame that has crashed gives %s, %v after %v", got, err, time.Since(began))
	}
	if got, err := ask(1000); err != nil || got != `"/"` {
		t.Errorf("the page gives %s, %v", got, err)
	}
}
