package engine

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/testkit/need"
)

// countingServer counts what it is asked for, as its two sites: "own /path", "other /path".
type countingServer struct {
	own, other string

	mu     sync.Mutex
	counts map[string]int
	heads  map[string]http.Header // of the last request for each
}

const countedPage = `<!doctype html><link rel=icon href=/icon.png><link rel=stylesheet href=/own.css><link rel=preload as=image href=/preload.png><link rel=prefetch href=/ahead.png>
<img src=/a.png><img src={{other}}/b.png><video poster=/poster.png></video><object data=/object.png></object><b>x</b>
<script src=/own.js></script><script src={{other}}/third.js></script><iframe src={{other}}/frame></iframe><script>
const heard = (target) => new Promise((ok) => target.addEventListener('message', (e) => ok(e.data), {once: true}))
const ends = (e) => new Promise((ok) => { e.onload = e.onerror = ok })
const quiet = (p) => p.then((r) => r.text()).catch((e) => 'failed')
const run = async () => {
  const got = {}
  await document.fonts.load('12px F').catch(() => 0)
  await quiet(fetch('/tracker?page'))
  got.page = await quiet(fetch('/api/price'))
  got.other = await quiet(fetch('{{other}}/api/price', {method: 'POST', headers: {'X-Own': 'a'}, body: 'x'}))
  let w = new Worker('/worker.js'), word = heard(w)
  w.postMessage(0); got.worker = await word
  w = new SharedWorker('/shared.js'); word = heard(w.port); w.port.start(); got.shared = await word
  await navigator.serviceWorker.register('/service.js')
  const reg = await navigator.serviceWorker.ready
  word = heard(navigator.serviceWorker); reg.active.postMessage(0); got.service = await word
  const i = new Image(), over = ends(i)
  i.src = '/viaservice.png'; document.body.append(i); await over
  word = heard(window); frames[0].postMessage(0, '*'); got.frame = await word
  word = heard(window); window.open('/popup'); got.popup = await word
  return got
}
</script>`

func (s *countingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	site, other := "own", s.other
	if strings.HasPrefix(r.Host, "localhost") {
		site, other = "other", s.own
	}
	s.mu.Lock()
	s.counts[site+" "+r.URL.Path]++
	s.heads[site+" "+r.URL.Path] = r.Header.Clone()
	s.mu.Unlock()
	send := func(kind, body string) {
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, strings.ReplaceAll(body, "{{other}}", other))
	}
	const asks = `const quiet = (p) => p.then((r) => r.text()).catch((e) => 'failed');`
	switch p := r.URL.Path; {
	case p == "/":
		send("text/html", countedPage)
	case p == "/frame":
		send("text/html", `<!doctype html><img src=/inframe.png><script src=/inframe.js></script><script>`+asks+`addEventListener('message', async (e) => { await quiet(fetch('/tracker?frame')); e.source.postMessage(await quiet(fetch('/api/price')), '*') })</script>`)
	case p == "/popup":
		send("text/html", `<!doctype html><img src=/inpopup.png><script>`+asks+`onload = async () => opener.postMessage(await quiet(fetch('/api/price')), '*')</script>`)
	case p == "/own.css":
		send("text/css", `@font-face { font-family: F; src: url(/f.woff2) } body { background: url(/bg.png); font-family: F }`)
	case p == "/worker.js":
		send("text/javascript", asks+`onmessage = async () => { await quiet(fetch('/byworker.png')); await quiet(fetch('/tracker?worker')); postMessage(await quiet(fetch('/api/price'))) }`)
	case p == "/shared.js":
		send("text/javascript", asks+`onconnect = async (c) => { await quiet(fetch('/byshared.png')); await quiet(fetch('/tracker?shared')); c.ports[0].postMessage(await quiet(fetch('/api/price'))) }`)
	case p == "/service.js":
		send("text/javascript", asks+`oninstall = (e) => e.waitUntil(caches.open('a').then((c) => c.addAll(['/byservice.png'])).catch(() => 0).then(() => skipWaiting())); onactivate = (e) => e.waitUntil(clients.claim())
onfetch = (e) => { if (e.request.url.includes('viaservice')) e.respondWith(fetch(e.request)) }
onmessage = (e) => e.waitUntil(quiet(fetch('/tracker?service')).then(() => quiet(fetch('/api/price'))).then((a) => e.source.postMessage(a)))`)
	case p == "/to":
		http.Redirect(w, r, other+"/echo", http.StatusFound)
	case p == "/guarded":
		name, password, _ := r.BasicAuth()
		if name != "ada" || password != "lovelace" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
		send("text/html", "<h1>"+name+"</h1>")
	case strings.HasSuffix(p, ".js"):
		send("text/javascript", "1")
	case strings.HasPrefix(p, "/api/"), p == "/echo":
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Headers", "*")
		send("application/json", `"the server's"`)
	default:
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNotFound)
	}
}

func newCountingServer(t *testing.T) *countingServer {
	t.Helper()
	s := &countingServer{counts: map[string]int{}, heads: map[string]http.Header{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.own, s.other = srv.URL, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	return s
}

// since gives the counts so far, and begins anew.
func (s *countingServer) since() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.counts
	s.counts = map[string]int{}
	return all
}

// TestNothingBlockedIsSent: what is blocked leaves the machine from no page, frame, popup
// or worker, and a mocked answer is what all of them see. The next task has neither.
func TestNothingBlockedIsSent(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	s := newCountingServer(t)
	in := ownBrowser(t)
	run := func(config string) (map[string]string, map[string]int) {
		t.Helper()
		s.since()
		o := play(t, in, `{"config":`+config+`,"timeout":60000,"actions":[{"open":"`+s.own+`/"},{"evaluate":"return await run()","options":{"timeout":30000}}]}`, TaskEnv{})
		var got map[string]string
		if err := json.Unmarshal(o.Data, &got); err != nil || len(o.Failures) > 0 {
			t.Fatalf("%v %s %v", err, o.Data, failuresOf(o))
		}
		ctx, cancel := contextFor(30e9)
		defer cancel()
		if err := in.Reset(ctx); err != nil { // ends whatever was still to be sent
			t.Fatal(err)
		}
		return got, s.since()
	}
	blocked := func(key string) bool {
		return strings.HasSuffix(key, ".png") || strings.HasSuffix(key, ".woff2") || key == "other /third.js" || key == "other /inframe.js" || strings.HasSuffix(key, "/tracker")
	}
	got, counts := run(`{"block":{"types":["image","font"],"thirdParty":["script"],"urls":["/tracker?"]},"mock":{"/api/price":{"body":{"price":5}}}}`)
	for key, n := range counts {
		if blocked(key) || strings.Contains(key, "/api/") {
			t.Errorf("with rules, %s was asked for %d times", key, n)
		}
	}
	for _, key := range []string{"own /", "own /own.js", "own /own.css", "own /worker.js", "own /shared.js", "own /service.js", "own /popup", "other /frame"} {
		if counts[key] == 0 {
			t.Errorf("with rules, %s was not asked for: %v", key, counts)
		}
	}
	for _, place := range []string{"page", "other", "worker", "shared", "service", "frame", "popup"} {
		if got[place] != `{"price":5}` {
			t.Errorf("a mocked answer is %s in a %s", got[place], place)
		}
	}
	_, counts = run(`{"block":{"types":["image","font"],"thirdParty":["script"]}}`) // where not every request is held
	for key, n := range counts {
		if blocked(key) && !strings.HasSuffix(key, "/tracker") {
			t.Errorf("with rules for kinds alone, %s was asked for %d times", key, n)
		}
	}
	got, counts = run(`{}`)
	seen := slices.Sorted(maps.Keys(counts))
	for _, key := range []string{"own /a.png", "other /b.png", "own /bg.png", "own /preload.png", "own /f.woff2", "other /third.js", "other /inframe.js", "other /inframe.png", "own /byworker.png", "own /byshared.png", "own /byservice.png",
		"own /viaservice.png", "own /inpopup.png", "own /tracker", "other /tracker", "own /api/price", "other /api/price"} {
		if counts[key] == 0 {
			t.Errorf("without rules, %s was not asked for: %v", key, seen)
		}
	}
	for place, answer := range got {
		if answer != `"the server's"` {
			t.Errorf("the next task gets %s in a %s", answer, place)
		}
	}
}

// TestHeadersAndCredentialsGoToTheirOrigin: also behind redirects, and in a session that
// goes on in another browser, whose state has no secret.
func TestHeadersAndCredentialsGoToTheirOrigin(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	s := newCountingServer(t)
	in := ownBrowser(t)
	env := TaskEnv{Secrets: []Secret{{Name: "password", Value: "lovelace", Origins: []string{s.own}}, {Name: "elsewhere", Value: "elsewhere-1", Origins: []string{"https://else.example"}}}}
	config := `{"headers":{"` + s.own + `":{"X-Team":"blue","Authorization2":"Bearer ${secret:password}"}},"credentials":{"` + s.own + `":{"username":"ada","password":"${secret:password}"}}}`
	look := func(in *instance, config, actions, want string) {
		t.Helper()
		o := play(t, in, `{"config":`+config+`,"actions":[`+actions+`]}`, env)
		if string(o.Data) != want || len(o.Failures) > 0 {
			t.Errorf("%s: %s %v, want %s", actions, o.Data, failuresOf(o), want)
		}
	}
	look(in, config, `{"open":"`+s.own+`/to"},{"open":"`+s.own+`/guarded"},{"getText":"h1"}`, `"ada"`)
	if h := s.heads["own /to"]; h.Get("X-Team") != "blue" || h.Get("Authorization2") != "Bearer lovelace" {
		t.Errorf("the origin gets %v", h)
	}
	if h := s.heads["other /echo"]; h == nil || h.Get("X-Team") != "" || h.Get("Authorization2") != "" {
		t.Errorf("another origin gets %v", h)
	}
	look(in, `{}`, `{"open":"`+s.own+`/to"},{"evaluate":"return (await fetch('`+s.own+`/echo', {mode: 'no-cors'})).type"}`, `"opaque"`)
	if h := s.heads["own /echo"]; h.Get("X-Team") != "blue" {
		t.Errorf("a later request of the session gets %v", h)
	}
	ctx, cancel := contextFor(30e9)
	defer cancel()
	state, err := in.Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(state); strings.Contains(text, "lovelace") || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("lovelace"))) {
		t.Errorf("the session's state holds the secret: %s", state)
	}
	second := ownBrowser(t)
	if err := second.Restore(ctx, state, nil); err != nil {
		t.Fatal(err)
	}
	look(second, `{}`, `{"open":"`+s.own+`/guarded"},{"getText":"h1"}`, `"ada"`)

	for name, c := range map[string]string{
		"a secret of another origin": `{"headers":{"` + s.own + `":{"X-A":"${secret:elsewhere}"}}}`, "a secret that there is not": `{"credentials":{"` + s.own + `":{"username":"a","password":"${secret:none}"}}}`,
	} {
		s.since()
		o := play(t, ownBrowser(t), `{"config":`+c+`,"actions":[{"open":"`+s.own+`/"}]}`, env)
		if len(o.Failures) != 1 || o.Failures[0].Code != CodeInvalidValue || len(s.since()) > 0 {
			t.Errorf("%s: %s %v", name, o.End, failuresOf(o))
		}
	}
	wrong := strings.Replace(config, `"ada"`, `"eve"`, 1)
	o := play(t, ownBrowser(t), `{"config":`+wrong+`,"actions":[{"open":"`+s.own+`/guarded"},{"getText":"h1"}]}`, env)
	if string(o.Data) != `"eve"` {
		t.Errorf("with a wrong name, the page is %s %v", o.Data, failuresOf(o))
	}
}

// TestRulesOfANeighbour: in a browser that workers share, workers of pages of another
// context go on, unheld and unblocked, while one context has rules.
func TestRulesOfANeighbour(t *testing.T) {
	need.Browser(t)
	s := newCountingServer(t)
	newInstance(t) // makes the folder that browsers live in
	e := &Chromium{Options: browser.Options{Dir: shared.dir}, Log: zerolog.Nop(), Egress: directFetch, Group: func(string) string { return "one" }}
	ctx, cancel := contextFor(60e9)
	defer cancel()
	var both []*instance
	for _, name := range []string{"a", "b"} {
		in, err := e.Launch(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(in.Close)
		both = append(both, in.(*instance))
	}
	if both[0].browser != both[1].browser {
		t.Fatal("they share no browser")
	}
	o := play(t, both[0], `{"config":{"locale":"de-DE","block":{"types":["image"]},"mock":{"/api/price":{"body":5}}},"actions":[{"open":"`+s.own+`/"},{"evaluate":"return (await run()).service"}]}`, TaskEnv{})
	if string(o.Data) != `"5"` {
		t.Fatalf("with rules: %s %v", o.Data, failuresOf(o))
	}
	s.since()
	o = play(t, both[1], `{"actions":[{"open":"`+s.own+`/"},{"evaluate":"return await run()"},{"evaluate":"return navigator.language"}]}`, TaskEnv{})
	if counts := s.since(); string(o.Data) != `"en-US"` || counts["own /byservice.png"] == 0 || counts["own /viaservice.png"] == 0 || counts["own /api/price"] < 5 {
		t.Errorf("the neighbour: %s %v %v", o.Data, failuresOf(o), counts)
	}
}
