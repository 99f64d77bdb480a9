package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestServiceWorkersAnswerInASession: the answers of a page's service worker can be
// waited for in each task of a session, not in the first alone.
func TestServiceWorkersAnswerInASession(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sw.js" {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, `onactivate = (e) => e.waitUntil(clients.claim());
onfetch = (e) => { if (e.request.url.endsWith('/kept')) e.respondWith(Response.json({ kept: 1 })) };`)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<p>A page with a service worker.</p><script>navigator.serviceWorker.register('/sw.js')</script>`)
	}))
	t.Cleanup(srv.Close)
	in := newInstance(t)
	for n := range 3 {
		o := play(t, in, `{"actions":[{"open":"`+srv.URL+`"},{"evaluate":"while (!navigator.serviceWorker.controller) await new Promise((r) => setTimeout(r, 20))"},
			{"waitForResponse":"/kept"},{"evaluate":"await fetch('/kept')"}]}`, TaskEnv{})
		if got := string(o.Data); got != `{"kept":1}` {
			t.Errorf("task %d of a session gets %s: %v", n+1, got, failuresOf(o))
		}
	}
}
