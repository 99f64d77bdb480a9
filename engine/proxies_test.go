package engine

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/engine/egress"
	"troupe/testkit/need"
	"troupe/testkit/outproxy"
)

// reached is a site that asks for something in all the ways that pages have, and writes
// down where each request came from.
type reached struct {
	url, other string // the same site by two names, which are two sites

	mu   sync.Mutex
	from map[string]string // by path
}

func reachedSite(t *testing.T) *reached {
	s := &reached{from: map[string]string{}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.from[r.URL.Path] = r.RemoteAddr
		s.mu.Unlock()
		w.Header().Set("Access-Control-Allow-Origin", "*")
		script := func(text string) {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, text)
		}
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<h1>site</h1><iframe src="%s/frame"></iframe><input type=file><a href="/file" download>x</a>`, s.other)
		case "/frame":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<script>fetch('/from-frame')</script>`)
		case "/popup":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<script>fetch('/from-popup').then(() => opener.postMessage('popup', '*'))</script>`)
		case "/worker.js":
			script(`fetch('/from-worker').then(() => postMessage('worker'))`)
		case "/service.js":
			script(`onmessage = (e) => e.waitUntil(fetch('/from-service').then(() => e.source.postMessage('service')))`)
		case "/socket":
			sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			c, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
			rw.Flush()
			rw.ReadByte()
		case "/file":
			w.Header().Set("Content-Disposition", "attachment; filename=a.txt")
			fmt.Fprint(w, "downloaded")
		default:
			fmt.Fprint(w, "x")
		}
	}))
	t.Cleanup(srv.Close)
	s.url, s.other = srv.URL, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	return s
}

// all are the requests since the last call.
func (s *reached) all() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.from
	s.from = map[string]string{}
	return got
}

// everyWay is a script that lets a page ask in all ways but downloads and uploads.
const everyWay = `
const heard = (target) => new Promise((ok) => target.addEventListener('message', (e) => ok(e.data), {once: true}))
let word = heard(window); open('/popup'); await word
word = heard(new Worker('/worker.js')); await word
await navigator.serviceWorker.register('/service.js')
const reg = await navigator.serviceWorker.ready
word = heard(navigator.serviceWorker); reg.active.postMessage(1); await word
await new Promise((ok, no) => { const w = new WebSocket(location.origin.replace('http', 'ws') + '/socket'); w.onopen = ok; w.onerror = no })
await fetch('/fetched'); return true`

func everyWayTask(config, url string) string {
	script, _ := json.Marshal(everyWay)
	return fmt.Sprintf(`{"config":%s,"timeout":60000,"actions":[{"open":"%s/"},{"evaluate":%s,"options":{"timeout":30000}},{"closeTab":true},`+
		`{"click":"a"},{"getDownload":{}},{"uploadFile":["input","%[2]s/uploaded"]}]}`, config, url, script)
}

var everyPath = []string{"/", "/frame", "/from-frame", "/popup", "/from-popup", "/worker.js", "/from-worker", "/service.js", "/from-service", "/socket", "/fetched", "/file", "/uploaded"}

// withProxies is an engine whose tasks may name proxies.
func withProxies(t *testing.T, c egress.Config, group func(string) string, all map[string]NamedProxy) (launch func(worker string) *instance, named *Proxies) {
	t.Helper()
	c.Log = zerolog.Nop()
	out, err := egress.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	dir, err := os.MkdirTemp("", "troupe-proxies-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	e := NewChromium(browser.Options{Dir: dir, Log: zerolog.Nop()}, out)
	e.Group, e.Proxies = group, new(Proxies)
	e.Proxies.Set(all)
	return func(worker string) *instance {
		ctx, cancel := contextFor(time.Minute)
		defer cancel()
		in, err := e.Launch(ctx, worker)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(in.Close)
		return in.(*instance)
	}, e.Proxies
}

func anybody(string, Plan) bool { return true }

func namedProxy(t *testing.T, name, url, credentials string) NamedProxy {
	t.Helper()
	u, err := egress.ParseNamed(name, url, credentials)
	if err != nil {
		t.Fatal(err)
	}
	return NamedProxy{u, anybody}
}

// TestTaskGoesThroughItsProxy: all that the pages of two tasks send at one time leaves
// through the proxy of each, in a browser that they share, and that of the next through none.
func TestTaskGoesThroughItsProxy(t *testing.T) {
	need.Browser(t)
	berlin, lab := outproxy.New(t, "ada", "pw:1"), outproxy.New(t, "bob", "pw:2")
	launch, _ := withProxies(t, egress.Config{AllowPrivate: true}, func(string) string { return "g" }, map[string]NamedProxy{
		"berlin": namedProxy(t, "berlin", berlin.URL("http"), "ada:pw:1"), "lab": namedProxy(t, "lab", lab.URL("socks5"), "bob:pw:2"),
	})
	one, two := launch("w1"), launch("w2")
	a, b := reachedSite(t), reachedSite(t)
	check := func(name string, s *reached, o *Outcome, right func(from string) bool) {
		t.Helper()
		if len(o.Failures) > 0 {
			t.Errorf("%s: %s", name, failuresOf(o))
		}
		got := s.all()
		for _, path := range everyPath {
			if got[path] == "" || !right(got[path]) {
				t.Errorf("%s: %s came from %q", name, path, got[path])
			}
		}
		if b, _ := json.Marshal(o); strings.Contains(string(b), "pw:") {
			t.Errorf("%s: credentials in the outcome: %s", name, b)
		}
	}
	var both sync.WaitGroup
	env := TaskEnv{SaveFile: (&kept{}).save}
	both.Go(func() {
		o := play(t, one, everyWayTask(`{"proxy":"berlin","trace":true}`, a.url), env)
		check("berlin", a, o, berlin.Made)
		if len(o.Steps) == 0 || !slices.Contains(o.Steps[0].Notes, `everything leaves through the proxy "berlin"`) {
			t.Errorf("the trace has %+v", o.Steps)
		}
	})
	both.Go(func() { check("lab", b, play(t, two, everyWayTask(`{"proxy":"lab"}`, b.url), env), lab.Made) })
	both.Wait()
	for name, asked := range map[string][]string{strings.TrimPrefix(b.url, "http://127.0.0.1"): berlin.Asked(), strings.TrimPrefix(a.url, "http://127.0.0.1"): lab.Asked()} {
		if len(asked) == 0 || slices.ContainsFunc(asked, func(s string) bool { return strings.HasSuffix(s, name) }) {
			t.Errorf("a proxy was asked for %q", asked)
		}
	}
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	if err := one.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	check("none", a, play(t, one, everyWayTask(`{}`, a.url), env), func(from string) bool { return !berlin.Made(from) && !lab.Made(from) })
	if asked := berlin.Asked(); len(asked) > 0 {
		t.Errorf("the next task used the proxy for %q", asked)
	}
}

// TestSessionKeepsItsProxy until a request says otherwise, also in another browser; and a
// task that used nothing leaves it to nobody.
func TestSessionKeepsItsProxy(t *testing.T) {
	need.Browser(t)
	berlin, lab := outproxy.New(t, "", ""), outproxy.New(t, "", "")
	launch, named := withProxies(t, egress.Config{AllowPrivate: true}, nil, map[string]NamedProxy{
		"berlin": namedProxy(t, "berlin", berlin.URL("http"), ""), "lab": namedProxy(t, "lab", lab.URL("http"), ""),
	})
	in, s := launch("w"), reachedSite(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	visit := func(config string, right func(from string) bool) {
		t.Helper()
		o := play(t, in, fmt.Sprintf(`{"config":%s,"timeout":30000,"actions":[{"open":"%s/page"}]}`, config, s.url), TaskEnv{})
		if from := s.all()["/page"]; len(o.Failures) > 0 || from == "" || !right(from) {
			t.Errorf("%s: from %q, %s", config, from, failuresOf(o))
		}
	}
	direct := func(from string) bool { return !berlin.Made(from) && !lab.Made(from) }
	visit(`{"proxy":"berlin"}`, berlin.Made)
	visit(`{}`, berlin.Made)
	visit(`{"proxy":"lab"}`, lab.Made)
	state, err := in.Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	visit(`{"proxy":false}`, direct)
	if err := in.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	if err := in.Restore(ctx, state, nil); err != nil {
		t.Fatal(err)
	}
	if got := s.all(); len(got) > 0 {
		t.Errorf("restored without a request: %v", got)
	}
	visit(`{}`, lab.Made)
	named.Set(map[string]NamedProxy{"berlin": namedProxy(t, "berlin", berlin.URL("http"), "")})
	o := play(t, in, fmt.Sprintf(`{"actions":[{"open":"%s/page"}]}`, s.url), TaskEnv{})
	if len(o.Failures) != 1 || o.Failures[0].Code != CodeInvalidValue || !strings.Contains(o.Failures[0].Text, `no proxy "lab"`) || len(s.all()) > 0 {
		t.Errorf("with a proxy that is gone: %s", failuresOf(o))
	}
	if err := in.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	if o := play(t, in, `{"config":{"proxy":"berlin"},"actions":[{"wait":1}]}`, TaskEnv{}); len(o.Failures) > 0 {
		t.Error(failuresOf(o))
	}
	if err := in.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	visit(`{}`, direct)
}

// TestKeptContextHasNoProxy: where tasks of an account may have the context of an earlier
// one, a task with a proxy has its own, and those after it go through none.
func TestKeptContextHasNoProxy(t *testing.T) {
	need.Browser(t)
	berlin := outproxy.New(t, "", "")
	launch, _ := withProxies(t, egress.Config{AllowPrivate: true}, nil, map[string]NamedProxy{"berlin": namedProxy(t, "berlin", berlin.URL("http"), "")})
	in, s := launch("w"), reachedSite(t)
	in.engine.Isolation = IsolateAccount
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	for _, config := range []string{`{}`, `{}`, `{"proxy":"berlin"}`, `{}`, `{}`} {
		before := in.context()
		o := play(t, in, fmt.Sprintf(`{"config":%s,"timeout":30000,"actions":[{"open":"%s/page"}]}`, config, s.url), TaskEnv{Account: "ada"})
		wants := config != `{}`
		if from := s.all()["/page"]; len(o.Failures) > 0 || from == "" || berlin.Made(from) != wants {
			t.Errorf("%s: from %q, %s", config, from, failuresOf(o))
		}
		if wants && in.context() == before {
			t.Error("a task with a proxy has the context of an earlier one")
		}
		if err := in.Reset(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProxyOfTaskFails: at once, with the name of the error, and with nothing of the proxy as
// the page. The outbound rules hold with a proxy, too.
func TestProxyOfTaskFails(t *testing.T) {
	need.Browser(t)
	refuses, wants, fine := outproxy.New(t, "", ""), outproxy.New(t, "ada", "right"), outproxy.New(t, "", "")
	refuses.Refuse.Store(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	launch, _ := withProxies(t, egress.Config{AllowHosts: []string{"localhost"}}, nil, map[string]NamedProxy{
		"refuses": namedProxy(t, "refuses", refuses.URL("http"), ""), "down": namedProxy(t, "down", "socks5://"+l.Addr().String(), ""),
		"wants": namedProxy(t, "wants", wants.URL("http"), "ada:wrong1"), "fine": namedProxy(t, "fine", fine.URL("http"), ""),
		"private": {Allows: func(account string, plan Plan) bool { return account == "bob" }},
	})
	in, s := launch("w"), reachedSite(t)
	for _, c := range []struct{ proxy, url, net, text string }{
		{"refuses", s.other, "net::ERR_TUNNEL_CONNECTION_FAILED", `the proxy "refuses" answered 502`},
		{"refuses", strings.Replace(s.other, "http", "https", 1), "net::ERR_TUNNEL_CONNECTION_FAILED", `the proxy "refuses" answered 502`},
		{"down", s.other, "net::ERR_PROXY_CONNECTION_FAILED", `the proxy "down" cannot be reached`},
		{"wants", s.other, "net::ERR_PROXY_AUTH_REQUESTED", `the proxy "wants" answered 407`},
		{"fine", s.url, "net::ERR_BLOCKED_BY_ADMINISTRATOR", "outbound rules"},
		{"private", s.other, "config.proxy", `there is no proxy "private" that this account may use: want one of down, fine, refuses, wants`},
	} {
		began := time.Now()
		o := play(t, in, fmt.Sprintf(`{"config":{"proxy":%q,"continueOnError":false},"timeout":30000,"actions":[{"open":"%s/page"}]}`, c.proxy, c.url), TaskEnv{Account: "ada"})
		if len(o.Failures) != 1 || !strings.Contains(o.Failures[0].Text, c.net) || !strings.Contains(o.Failures[0].Text, c.text) || strings.Contains(o.Failures[0].Text, "wrong1") || time.Since(began) > 8*time.Second {
			t.Errorf("%s %s: after %v: %s", c.proxy, c.url, time.Since(began), failuresOf(o))
		}
		o = play(t, in, `{"actions":[{"evaluate":"return document.documentElement.innerText"}]}`, TaskEnv{Account: "bob"})
		if strings.Contains(string(o.Data), "page of the proxy") {
			t.Errorf("%s: the page is %s", c.proxy, o.Data)
		}
		ctx, cancel := contextFor(time.Minute)
		if err := in.Reset(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	if got := s.all(); len(got) > 0 || len(fine.Asked()) > 0 {
		t.Errorf("something was reached: %v", got)
	}
}

func TestProxyIsRead(t *testing.T) {
	parse := func(proxy string, names ...string) error {
		_, err := ParseFor([]byte(`{"config":{"proxy":`+proxy+`},"actions":[{"wait":1}]}`), nil, nil, names)
		return err
	}
	for _, right := range []string{`"a"`, `false`, `null`} {
		if err := parse(right, "a", "b"); err != nil {
			t.Error(err)
		}
	}
	for wrong, want := range map[string]string{
		`""`: "want the name of a proxy, or false", `1`: "want the name of a proxy", `true`: "want the name of a proxy",
		`"berlni"`: `/config/proxy: there is no proxy "berlni" that this account may use: want one of berlin, lab; did you mean "berlin"?`,
		`"c"`:      "want one of berlin, lab",
	} {
		if err := parse(wrong, "berlin", "lab"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", wrong, err, want)
		}
	}
	if err := parse(`"a"`); err == nil || !strings.Contains(err.Error(), "it may use none") {
		t.Error(err)
	}
}
