package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// elsewhere is a site with ways to another one, which counts who asks it for a page.
func elsewhere(t *testing.T) (own, other string, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" {
			return
		}
		there := "http://" + strings.Replace(r.Host, "127.0.0.1", "localhost", 1)
		w.Header().Set("Content-Type", "text/html")
		switch {
		case strings.HasPrefix(r.Host, "localhost"):
			asked.Add(1)
			fmt.Fprint(w, `<h1>There</h1>`)
		case r.URL.Path == "/redirect":
			http.Redirect(w, r, there+"/x", http.StatusFound)
		default:
			fmt.Fprintf(w, `<h1>Here</h1><a id=far href="%[1]s/x">far</a><a id=ping href="/redirect">r</a><a id=new target=_blank href="%[1]s/x">n</a>
<button id=opens onclick="window.open('%[1]s/x')">o</button><form action="%[1]s/x" method=post><button id=posts>p</button></form>
<button id=late onclick="setTimeout(() => { document.title = 'left'; location = '%[1]s/x' }, 300)">l</button><button id=meta onclick="document.head.innerHTML = '<meta http-equiv=refresh content=0;url=%[1]s/x>'">m</button>`, there)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1), asked
}

// TestOtherSitesAreNotAsked: a page that is kept on its sites sends nothing to another
// one, and stays.
func TestOtherSitesAreNotAsked(t *testing.T) {
	own, other, asked := elsewhere(t)
	for _, way := range []string{`{"open":"` + other + `/x"}`, `{"open":"` + own + `/redirect"}`, `{"openNewTab":"` + other + `/x"}`, `{"click":"#far"}`, `{"click":"#ping"}`, `{"click":"#new"}`,
		`{"click":"#opens"}`, `{"click":"#posts"}`, `{"click":"#late"}`, `{"click":"#meta"}`, `{"evaluate":"location.href = '` + other + `/x'"}`} {
		t.Run(way, func(t *testing.T) {
			before := asked.Load()
			in := newInstance(t)
			o := play(t, in, `{"config":{"sites":["127.0.0.1"]},"actions":[{"open":"`+own+`/"},`+way+`,{"wait":2000}]}`, TaskEnv{})
			if n := len(o.Failures); o.End != EndStopped || n == 0 || o.Failures[n-1].Code != CodeSiteNotAllowed || !strings.Contains(o.Failures[n-1].Text, other) {
				t.Fatalf("%s %v", o.End, o.Failures)
			}
			if n := asked.Load() - before; n != 0 {
				t.Errorf("the other site was asked %d times", n)
			}
			if strings.Contains(way, "openNewTab") {
				return
			}
			o = play(t, in, `{"actions":[{"switchTab":0},{"getText":"h1"}]}`, TaskEnv{})
			if string(o.Data) != `"Here"` {
				t.Errorf("the page is %s %v", o.Data, o.Failures)
			}
		})
	}
}

// TestASessionStaysOnItsSites: the sites of one request count for all that follow, in
// between, and in another browser.
func TestASessionStaysOnItsSites(t *testing.T) {
	own, other, asked := elsewhere(t)
	in := newInstance(t)
	play(t, in, `{"config":{"sites":["127.0.0.1"]},"actions":[{"open":"`+own+`/"},{"click":"#late"}]}`, TaskEnv{})
	o := play(t, in, `{"actions":[{"wait":700},{"getText":"h1"}]}`, TaskEnv{})
	if o.End != EndStopped || o.Failures[0].Code != CodeSiteNotAllowed || asked.Load() != 0 {
		t.Errorf("a later request: %s %v, asked %d times", o.End, o.Failures, asked.Load())
	}
	play(t, in, `{"actions":[{"open":"`+own+`/"},{"click":"#late"}]}`, TaskEnv{})
	time.Sleep(700 * time.Millisecond) // the page goes in 300, without a task
	if asked.Load() != 0 {
		t.Error("between two requests the page went elsewhere")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	state, err := in.Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	second := newInstance(t)
	if err := second.Restore(ctx, state); err != nil {
		t.Fatal(err)
	}
	o = play(t, second, `{"actions":[{"open":"`+other+`/"}]}`, TaskEnv{})
	if o.End != EndStopped || o.Failures[0].Code != CodeSiteNotAllowed || asked.Load() != 0 {
		t.Errorf("in another browser: %s %v", o.End, o.Failures)
	}
	// A wider list opens nothing, a narrower one closes.
	o = play(t, in, `{"config":{"sites":["localhost","127.0.0.1"]},"actions":[{"open":"`+other+`/"}]}`, TaskEnv{})
	if o.End != EndStopped || asked.Load() != 0 {
		t.Errorf("with a wider list: %s %v", o.End, o.Failures)
	}
	o = play(t, in, `{"config":{"sites":["localhost"]},"actions":[{"getText":"h1","options":{"timeout":200}}]}`, TaskEnv{})
	if len(o.Warnings) == 0 || !strings.Contains(o.Warnings[0].Message, "was left") || string(o.Data) == `"Here"` {
		t.Errorf("with another list: %s %v %v", o.Data, o.Warnings, o.Failures)
	}
}
