package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// seen is a row of the table in docs/surroundings.md.
type seen struct{ field, script, in, without, with string }

var seenRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `(.+?)` \\| (all|own|pages|tabs) \\| `(.+?)` \\| `(.+?)` \\|$")

// documentedSurroundings is that table, and the task that it is about.
func documentedSurroundings(t *testing.T) (config json.RawMessage, rows []seen) {
	t.Helper()
	b, err := os.ReadFile("../docs/surroundings.md")
	if err != nil {
		t.Fatal(err)
	}
	_, task, _ := strings.Cut(string(b), "```json\n")
	task, _, _ = strings.Cut(task, "```")
	var body struct{ Config json.RawMessage }
	if err := json.Unmarshal([]byte(task), &body); err != nil {
		t.Fatal(err)
	}
	for _, m := range seenRow.FindAllStringSubmatch(string(b), -1) {
		rows = append(rows, seen{m[1], m[2], m[3], m[4], m[5]})
	}
	if len(rows) < 20 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	return body.Config, rows
}

// askingPage evaluates scripts in every place that a page has, and answers with what
// each place says. The scripts are in the address, after the #.
const (
	asker = `
const place = () => new Promise((ok) => navigator.geolocation.getCurrentPosition((p) => ok([p.coords.latitude, p.coords.longitude, p.coords.accuracy]), () => ok('denied'), {timeout: 5000}))
const permission = async (name) => (await navigator.permissions.query({name})).state
const asks = async (scripts) => {
  const heads = await (await fetch('/headers')).json()
  const header = (name) => heads[name.toLowerCase()] ?? null
  const all = {}
  for (const s of scripts) { try { all[s] = await eval(s) } catch (e) { all[s] = String(e) } }
  return all
}
`
	askingPage = `<!doctype html><meta name=viewport content="width=device-width"><h1>x</h1><iframe id=i allow="geolocation; camera" src="{{other}}/frame"></iframe><script>` + asker + `
const heard = (target) => new Promise((ok) => target.addEventListener('message', (e) => ok(e.data), {once: true}))
const everywhere = async (all, pages) => {
  const got = {page: await asks([...all, ...pages])}
  let word = heard(window)
  i.contentWindow.postMessage([...all, ...pages], '*')
  got.frame = await word
  word = heard(window)
  const popup = window.open('/popup')
  const ready = await word
  word = heard(window)
  popup.postMessage([...all, ...pages], '*')
  got.popup = await word
  const w = new Worker('/worker.js')
  word = heard(w); w.postMessage(all); got.worker = await word
  const outer = new Worker('/nested.js')
  word = heard(outer); outer.postMessage(all); got.nested = await word
  const shared = new SharedWorker('/shared.js')
  shared.port.start(); word = heard(shared.port); shared.port.postMessage(all); got.shared = await word
  await navigator.serviceWorker.register('/service.js')
  const reg = await navigator.serviceWorker.ready
  word = heard(navigator.serviceWorker); reg.active.postMessage(all); got.service = await word
  return got
}
</script>`
	askedFrame = `<!doctype html><meta name=viewport content="width=device-width"><script>` + asker + `
addEventListener('message', async (e) => e.source.postMessage(await asks(e.data), '*'))
if (opener) onload = () => opener.postMessage('ready', '*')
</script>`
)

func askingServer(t *testing.T) string {
	t.Helper()
	counted(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		other := "http://" + strings.Replace(r.Host, "127.0.0.1", "localhost", 1)
		script := func(s string) {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, asker+s)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, strings.ReplaceAll(askingPage, "{{other}}", other))
		case "/frame", "/popup":
			fmt.Fprint(w, askedFrame)
		case "/worker.js":
			script(`onmessage = async (e) => postMessage(await asks(e.data))`)
		case "/nested.js":
			script(`onmessage = (e) => { const w = new Worker('/worker.js'); w.onmessage = (a) => postMessage(a.data); w.postMessage(e.data) }`)
		case "/shared.js":
			script(`onconnect = (c) => { const p = c.ports[0]; p.onmessage = async (e) => p.postMessage(await asks(e.data)); p.start() }`)
		case "/service.js":
			script(`onmessage = (e) => e.waitUntil(asks(e.data).then((a) => e.source.postMessage(a)))`)
		case "/headers":
			all := map[string]string{}
			for name := range r.Header {
				all[strings.ToLower(name)] = r.Header.Get(name)
			}
			json.NewEncoder(w).Encode(all)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestSurroundingsAreSeen: what the table of the documents says holds in every place that
// a page has, and nothing of it for the next task.
func TestSurroundingsAreSeen(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	config, rows := documentedSurroundings(t)
	url := askingServer(t)
	in := ownBrowser(t)
	var all, pages []string
	for _, r := range rows {
		if r.in == "all" || r.in == "own" {
			all = append(all, r.script)
		} else {
			pages = append(pages, r.script)
		}
	}
	places := map[string][]string{"tabs": {"page", "popup"}, "pages": {"page", "popup", "frame"}, "own": {"page", "popup", "frame", "worker", "nested"}}
	places["all"] = append(places["own"], "shared", "service")
	ask := func(config string) map[string]map[string]json.RawMessage {
		t.Helper()
		a, _ := json.Marshal(all)
		p, _ := json.Marshal(pages)
		script, _ := json.Marshal(fmt.Sprintf("return await everywhere(%s, %s)", a, p))
		o := play(t, in, fmt.Sprintf(`{"config":%s,"timeout":60000,"actions":[{"open":"%s/"},{"evaluate":%s,"options":{"timeout":30000}}]}`, config, url, script), TaskEnv{})
		var got map[string]map[string]json.RawMessage
		if err := json.Unmarshal(o.Data, &got); err != nil {
			t.Fatalf("%v %s %v", err, o.Data, failuresOf(o))
		}
		return got
	}
	check := func(when string, got map[string]map[string]json.RawMessage, want func(seen) string) {
		t.Helper()
		for _, r := range rows {
			for _, place := range places[r.in] {
				if v := got[place][r.script]; string(v) != want(r) {
					t.Errorf("%s, %s of a %s: %s is %s, and the table says %s", when, r.field, place, r.script, v, want(r))
				}
			}
		}
	}
	with := ask(string(config))
	check("with it", with, func(r seen) string { return r.with })
	ctx, cancel := contextFor(30e9)
	defer cancel()
	if err := in.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	check("the next task", ask(`{}`), func(r seen) string { return r.without })
}

// TestSurroundingsOfASession: they stay for its later requests and its popups, also in
// another browser, a request changes what it names, and the same again costs nothing.
func TestSurroundingsOfASession(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	url := serve(t, `<!doctype html><meta name=viewport content="width=device-width"><h1>x</h1><a id=new target=_blank rel=opener href="/two">n</a>`)
	in := ownBrowser(t)
	const look = `{"evaluate":"return [innerWidth, Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.language, matchMedia('(prefers-color-scheme: dark)').matches]"}`
	check := func(in *instance, when, config, actions, want string) {
		t.Helper()
		o := play(t, in, `{"config":`+config+`,"actions":[`+actions+look+`]}`, TaskEnv{})
		if string(o.Data) != want || len(o.Failures) > 0 {
			t.Errorf("%s: pages find %s %v, want %s", when, o.Data, failuresOf(o), want)
		}
	}
	open := `{"open":"` + url + `/"},`
	const config = `{"device":{"width":500,"height":400,"mobile":true},"timezone":"Asia/Tokyo","locale":"fr-FR"}`
	check(in, "the first request", config, open, `[500,"Asia/Tokyo","fr-FR",false]`)
	check(in, "a later one", `{}`, open, `[500,"Asia/Tokyo","fr-FR",false]`)
	check(in, "a popup", `{}`, `{"click":"#new"},{"wait":100},`, `[500,"Asia/Tokyo","fr-FR",false]`)
	check(in, "a popup whose opener is closed", `{}`, `{"closeTab":0},`, `[500,"Asia/Tokyo","fr-FR",false]`)
	check(in, "a request that changes some", `{"timezone":"Europe/Paris","colorScheme":"dark"}`, open, `[500,"Europe/Paris","fr-FR",true]`)

	before := in.browser.Sent()
	check(in, "the same again", `{"locale":"fr-FR","colorScheme":"dark"}`, "", `[500,"Europe/Paris","fr-FR",true]`)
	with := in.browser.Sent() - before
	before = in.browser.Sent()
	check(in, "nothing", `{}`, "", `[500,"Europe/Paris","fr-FR",true]`)
	if without := in.browser.Sent() - before; with != without {
		t.Errorf("the same again sends %d commands, and nothing %d", with, without)
	}
	ctx, cancel := contextFor(30e9)
	defer cancel()
	state, err := in.Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	second := ownBrowser(t)
	if err := second.Restore(ctx, state, nil); err != nil {
		t.Fatal(err)
	}
	check(second, "another browser", `{}`, "", `[500,"Europe/Paris","fr-FR",true]`)
}
