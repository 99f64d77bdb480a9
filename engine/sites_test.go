package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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
	t.Parallel()
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
	t.Parallel()
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
	if err := second.Restore(ctx, state, nil); err != nil {
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

// playWithin plays a task whose token has sites, as it comes from another process.
func playWithin(t *testing.T, in *instance, sites []string, body string) *Outcome {
	t.Helper()
	parsed, err := Parse([]byte(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(parsed.Within(sites))
	if err != nil {
		t.Fatal(err)
	}
	task := new(Task)
	if err := json.Unmarshal(b, task); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), task.Timeout)
	defer cancel()
	return in.Play(ctx, task, TaskEnv{})
}

// TestTokensBoundTasks: the sites of a token count beside those of the task, which
// cannot widen them, and for the session as well.
func TestTokensBoundTasks(t *testing.T) {
	t.Parallel()
	own, other, asked := elsewhere(t)
	token := []string{"127.0.0.1"}
	refused := func(o *Outcome) bool {
		n := len(o.Failures)
		return o.End == EndStopped && n > 0 && o.Failures[n-1].Code == CodeSiteNotAllowed
	}
	in := newInstance(t)
	o := playWithin(t, in, token, `{"actions":[{"open":"`+own+`/"},{"getText":"h1"}]}`)
	if o.End != EndCompleted || string(o.Data) != `"Here"` {
		t.Fatalf("its own site: %s %v", o.End, o.Failures)
	}
	for name, body := range map[string]string{
		"an address":                `{"actions":[{"open":"` + other + `/x"}]}`,
		"a redirect":                `{"actions":[{"open":"` + own + `/redirect"}]}`,
		"a click":                   `{"actions":[{"open":"` + own + `/"},{"click":"#far"},{"wait":2000}]}`,
		"a wider list":              `{"config":{"sites":["localhost","127.0.0.1"]},"actions":[{"open":"` + other + `/x"}]}`,
		"a list of another site":    `{"config":{"sites":["localhost"]},"actions":[{"open":"` + other + `/x"}]}`,
		"its site, but not in both": `{"config":{"sites":["localhost"]},"actions":[{"open":"` + own + `/"}]}`,
		"a field of its own":        `{"actions":[{"try":{"do":[{"open":"` + other + `/x"}]}}]}`,
	} {
		if o := playWithin(t, newInstance(t), token, body); !refused(o) {
			t.Errorf("%s: %s %v", name, o.End, o.Failures)
		}
	}
	// Another token of the account goes on with the session: its pages stay where they may be.
	if o := play(t, in, `{"actions":[{"open":"`+other+`/x"}]}`, TaskEnv{}); !refused(o) {
		t.Errorf("a later task of the session: %s %v", o.End, o.Failures)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the other site was asked %d times", n)
	}
	in = newInstance(t)
	play(t, in, `{"actions":[{"open":"`+other+`/x"}]}`, TaskEnv{})
	o = playWithin(t, in, token, `{"actions":[{"getText":"h1","options":{"timeout":200}}]}`)
	if len(o.Warnings) == 0 || !strings.Contains(o.Warnings[0].Message, "was left") || string(o.Data) == `"There"` {
		t.Errorf("a page of before: %s %v", o.Data, o.Warnings)
	}
}

// TestReviewKnowsSites: a task is told before it is played where it cannot go.
func TestReviewKnowsSites(t *testing.T) {
	for _, c := range []struct {
		token, body string
		want        []string
	}{
		{"", `{"actions":[{"open":"https://a.test/"}]}`, nil},
		{"", `{"config":{"sites":["b.test"]},"actions":[{"open":"https://a.test/"},{"open":"${x}"},{"open":"about:blank"}]}`, []string{"/actions/0: ends the task with site_not_allowed: config.sites has only b.test"}},
		{"a.test", `{"actions":[{"open":"https://a.test/"},{"openNewTab":"https://b.test/"}]}`, []string{"/actions/1: ends the task with site_not_allowed: the token allows only a.test"}},
		{"*.a.test", `{"config":{"sites":["b.test","x.a.test"]},"actions":[{"open":"https://x.a.test/"},{"open":"https://y.a.test/"}]}`,
			[]string{"/config/sites/0: no page can be from b.test: the token allows only *.a.test", "/actions/1: ends the task with site_not_allowed: config.sites has only b.test, x.a.test"}},
	} {
		task, err := Parse([]byte(c.body), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range task.Within(strings.Fields(c.token)).Review(time.Minute).Warnings {
			if s := w.String(); !strings.Contains(s, "nothing saves it") {
				got = append(got, s)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s with the token of %q: %q, want %q", c.body, c.token, got, c.want)
		}
	}
}
