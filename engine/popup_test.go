package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

// TestPopupsThatHaveLoadedCostNothing: a popup that has come to rest is not waited
// for, whatever came between that and the next action. Machines stand still at
// times, so of four rounds the fastest counts: each would take the two seconds that
// a popup may have to arrive.
func TestPopupsThatHaveLoadedCostNothing(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"/": `<!doctype html><title>O</title><h1>Opener</h1><button id=open onclick="window.open('shown')">b</button><a id=link target=_blank href=shown>l</a>
<a id=noopener target=_blank rel=noopener href=shown>l</a><button id=three onclick="for (const n of [1, 2, 3]) window.open('shown?' + n)">b</button>
<button id=brief onclick="window.open('brief')">b</button><button id=blank onclick="window.open('about:blank')">b</button>
<button id=written onclick="const w = window.open('about:blank'); w.document.write('<h1>Written</h1>'); w.document.close()">b</button>
<button id=unclosed onclick="const w = window.open(''); w.document.write('<h1>Not closed</h1>')">b</button><button id=never onclick="window.open('never')">b</button>`,
		"/shown": `<!doctype html><title>S</title><h1>Shown</h1>`,
		"/brief": `<!doctype html><title>B</title><h1>Brief</h1><script>setTimeout(() => close(), 50)</script>`,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/never" {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, pages[r.URL.Path])
	}))
	t.Cleanup(srv.Close)
	const read = `{"getText":"h1"}`
	for i, c := range []struct{ name, actions, want string }{
		{"by a click, and a wait", `{"click":"#open"},{"wait":150},` + read, "Shown"},
		{"by a click, and cookies", `{"click":"#open"},{"wait":100},{"getCookies":true},` + read, "Shown"},
		{"by a link, and a wait", `{"click":"#link"},{"wait":150},` + read, "Shown"},
		{"without an opener", `{"click":"#noopener"},{"wait":150},` + read, "Shown"},
		{"the second of three", `{"click":"#three"},{"wait":150},{"evaluate":"close()"},{"wait":100},` + read, "Shown"},
		{"closed meanwhile", `{"click":"#brief"},{"wait":300},` + read, "Opener"},
		{"blank", `{"click":"#blank"},{"wait":150},{"getText":"body"}`, ""},
		{"written by its opener", `{"click":"#written"},{"wait":150},` + read, "Written"},
		{"written, and read at once", `{"click":"#written"},` + read, "Written"},
		{"written and never closed", `{"click":"#unclosed"},{"wait":150},` + read, "Not closed"},
	} {
		if !need.Nth(i, 3) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := newInstance(t)
			fastest := time.Hour
			for range 4 {
				o := play(t, in, `{"actions":[{"open":"`+srv.URL+`/"},`+c.actions+`],"config":{"trace":true}}`, TaskEnv{})
				if want := fmt.Sprintf("%q", c.want); string(o.Data) != want {
					t.Fatalf("the popup reads %s, want %s: %v", o.Data, want, o.Failures)
				}
				last := o.Steps[len(o.Steps)-1]
				fastest = min(fastest, time.Duration(last.Millis*float64(time.Millisecond)))
			}
			if fastest > 1500*time.Millisecond {
				t.Errorf("a read in a popup that has loaded takes %v at best", fastest)
			}
		})
	}
	t.Run("one that never loads", func(t *testing.T) {
		t.Parallel()
		o := play(t, newInstance(t), `{"actions":[{"open":"`+srv.URL+`/"},{"click":"#never"},{"getText":"h1","options":{"timeout":200}},{"openNewTab":"`+srv.URL+`/shown"},{"getText":"h1"}]}`, TaskEnv{})
		if string(o.Data) != `"Shown"` || len(o.Failures) != 1 || o.Failures[0].Code != CodeTimeout || !strings.Contains(o.Failures[0].Text, "within 200ms") {
			t.Errorf("got %s and %v, want what comes after the popup and one timeout", o.Data, o.Failures)
		}
	})
}
