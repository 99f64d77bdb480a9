package outside_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"troupe/testkit/leaks"
	"troupe/testkit/need"
)

// web is a service that opens its own web page.
type web struct {
	base     string
	operator operatorCLI
	fill     *strings.Replacer // what lists name in {{}}
	ops      string            // token of the operator
	ada      string            // token of an account with the plan Pro
	hook     string            // address of a receiver of notices
	at       chan struct{}     // lists that play at once: each may run a task of its own, which does not wait for a worker
}

// watched lets a page say what went wrong in it: scripts that failed and what
// its policy stopped, also before it was asked. And it pastes texts into the
// editor: of what is typed there, the editor itself closes the brackets.
const watched = `
window.broken = [];
const note = (what) => window.broken.push(String(what).slice(0, 300));
addEventListener('error', (e) => note(e.message));
addEventListener('unhandledrejection', (e) => note(e.reason));
new ReportingObserver((all) => all.forEach((r) => note(JSON.stringify(r.body))), {buffered: true, types: ['csp-violation']}).observe();
window.paste = async (text) => {
	let editor;
	while (!(editor = document.querySelector('.cm-content'))) await new Promise((done) => setTimeout(done, 10));
	const clipboardData = new DataTransfer();
	editor.focus();
	document.execCommand('selectAll');
	clipboardData.setData('text/plain', text);
	editor.dispatchEvent(new ClipboardEvent('paste', {clipboardData, bubbles: true, cancelable: true}));
};`

// exampleFlow is a flow with parameters of several types.
const exampleFlow = `{"description":"Searches the shop","parameters":{"q":{"required":true,"description":"what to look for"},"most":{"type":"number","default":3},"names":{"type":"boolean"},"more":{"type":"object"}},
	"actions":[{"open":"http://demo.troupe.test/?q=${q}"},{"getText":"#q","options":{"timeout":1}},{"extractAll":[".product",{"name":"h3"}],"options":{"limit":2,"save":"all"}},{"return":{"q":"${q}","most":"${most}","found":"${all.0.name}"}}]}`

// openWeb starts a service and waits until all of its workers are up: what a page
// runs does not wait for one.
func openWeb(t *testing.T, workers int) *web {
	t.Helper()
	leaks.Check(t)
	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // after the service has ended
	w := &web{operator: operatorCLI{t, filepath.Join(dir, "data")}, at: make(chan struct{}, 2), hook: receiver(t)}
	w.operator.says("account", "create", "ops", "--plan=pro", "--operator")
	w.ops = w.operator.says("token", "create", "--account=ops")
	w.ada = w.operator.says("token", "create", "--account=ada", "--plan=pro")
	eve := w.operator.says("token", "create", "--account=eve", "--plan=free")
	flow := filepath.Join(dir, "flow.json")
	for _, source := range []string{`{"actions":[{"wait":1}]}`, exampleFlow} {
		if err := os.WriteFile(flow, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, account := range []string{"ada", "ops"} {
			w.operator.says("flow", "put", "search", flow, "--account="+account)
		}
	}
	// What runs to be looked at need not end.
	_, w.base = serve(t, w.operator.data, "--allow-cidr=127.0.0.1/32", "--grace=0s", fmt.Sprintf("--workers=%d", workers))
	for i := range workers {
		w.operator.until(fmt.Sprintf("worker-%d", i+1), "online")
	}

	w.fills(eve)
	return w
}

// fills makes what lists name.
func (w *web) fills(eve string) {
	signIn := func(token string) string {
		return fmt.Sprintf(`{"open":"%s/"},{"evaluate":%s},{"fill":["#token","%s"]},{"click":"#sign-in"},{"waitForElement":"nav a[aria-current]"}`, w.base, asJSON(watched), token)
	}
	var typed []string
	for _, c := range w.ada {
		typed = append(typed, `{"press":[null,"`+string(c)+`"]}`)
	}
	w.fill = strings.NewReplacer("{{base}}", w.base, "{{watched}}", asJSON(watched), "{{ada}}", signIn(w.ada), "{{ops}}", signIn(w.ops), "{{eve}}", signIn(eve),
		"{{token}}", w.ada, "{{hook}}", w.hook, "{{typed}}", strings.Join(typed, ","))
}

// receiver takes notices. A path that begins with /gone is gone at its first notice.
func receiver(t *testing.T) string {
	var seen sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := seen.LoadOrStore(r.URL.Path, true); !again && strings.HasPrefix(r.URL.Path, "/gone") {
			w.WriteHeader(http.StatusGone)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// plays plays a list on the page, of which every action must work and nothing in
// the page may break. It returns the result of the last.
func (w *web) plays(t *testing.T, actions string) json.RawMessage {
	t.Helper()
	w.at <- struct{}{}
	defer func() { <-w.at }()
	task := `{"config":{"continueOnError":false,"actionTimeout":60000,"trace":true},"timeout":120000,"queueTimeout":60000,"actions":[` +
		w.fill.Replace(actions) + `,{"evaluate":"return window.broken"}]}`
	status, got, err := post(w.base, w.ops, task)
	var a struct {
		Success bool
		Error   string
		Action  json.RawMessage
		Data    []string
		Steps   []struct{ Result json.RawMessage }
	}
	if err != nil || status != 200 || json.Unmarshal([]byte(got), &a) != nil || !a.Success {
		t.Fatalf("%d, %v: %s: %.2000s", status, err, a.Action, strings.ReplaceAll(got, w.ada, "TOKEN"))
	}
	if a.Data == nil || len(a.Data) > 0 {
		t.Errorf("the page broke: %q", a.Data)
	}
	return a.Steps[len(a.Steps)-2].Result
}

// TestWebPage plays the lists of testdata/web on the service's own page. Each has
// a list and what the last action of it gives.
func TestWebPage(t *testing.T) {
	t.Parallel()
	w := openWeb(t, 5)
	files, err := filepath.Glob("testdata/web/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d lists: %v", len(files), err)
	}
	for i, name := range files {
		if !need.Nth(i, 3) {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			w.shows(t, name)
		})
	}
	t.Run("gone", func(t *testing.T) { t.Parallel(); goneAndBack(t, w) })
	t.Run("programs", func(t *testing.T) { t.Parallel(); programs(t, w) })
	t.Run("axe", func(t *testing.T) { t.Parallel(); axe(t, w) })
	t.Run("operator", func(t *testing.T) { t.Parallel(); operates(t, w, "#drain-service") })
}

// goneAndBack takes the service away from a page before it has loaded a view. The view
// says so under its own name, and comes by itself when the service is back.
func goneAndBack(t *testing.T, w *web) {
	service, err := url.Parse(w.base)
	if err != nil {
		t.Fatal(err)
	}
	var gone atomic.Bool
	way := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(service)
		r.Out.Header.Del("Origin")
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/test/back":
			gone.Store(false)
		case gone.Load():
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/test/gone":
			gone.Store(true)
		default:
			way.ServeHTTP(rw, r)
		}
	}))
	defer proxy.Close()
	defer proxy.CloseClientConnections()
	list := w.fill.Replace(`{{ada}},{"evaluate":"await fetch('/test/gone')"},
		{"click":"nav a[data-view=profiles]"},{"waitForElement":"#try-again"},
		{"evaluate":"return [document.querySelector('h1').textContent, document.title, document.querySelectorAll('.worker').length]","options":{"save":"gone"}},
		{"click":"#try-again"},{"waitForElement":"//*[@id='said'][contains(.,'does not answer')]"},
		{"evaluate":"await fetch('/test/back')"},{"waitForElement":"#import-form"},
		{"evaluate":"return [saved.gone, document.querySelector('h1').textContent, document.querySelectorAll('#try-again').length]"}`)
	const want = `[["Profiles", "Profiles · Troupe", 0], "Profiles", 0]`
	var is, wanted any
	if got := w.plays(t, strings.ReplaceAll(list, w.base, proxy.URL)); json.Unmarshal(got, &is) != nil || json.Unmarshal([]byte(want), &wanted) != nil || !reflect.DeepEqual(is, wanted) {
		t.Errorf("the page shows %s, want %s", got, want)
	}
}

// shows plays a list and looks what the last action of it gives.
func (w *web) shows(t *testing.T, name string) {
	t.Helper()
	ar, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	part := map[string]string{}
	for _, f := range ar.Files {
		part[f.Name] = string(f.Data)
	}
	got := w.plays(t, part["actions"])
	var is, want any
	if err := json.Unmarshal([]byte(w.fill.Replace(part["want"])), &want); err != nil {
		t.Fatal(err)
	}
	if json.Unmarshal(got, &is) != nil || !reflect.DeepEqual(is, want) {
		t.Errorf("the page shows\n%s\nwant\n%s", got, part["want"])
	}
}

// operates runs operator commands on the page, where drain is the button that drains
// the service or a node, and looks from outside at what came of them.
func operates(t *testing.T, w *web, drain string) {
	got := w.plays(t, `{{ops}},
		{"click":"nav a[data-view=operator]"},
		{"fill":["#account-name","bob"]},{"selectOption":["#account-plan","basic"]},{"press":["#account-name","Enter"]},
		{"click":"tr[data-account=bob] button"},
		{"getText":"#fresh-token","options":{"save":"fresh"}},
		{"press":[null,"Escape"]},
		{"fill":["#worker-name","spare"]},{"fill":["#worker-account","bob"]},{"press":["#worker-account","Enter"]},
		{"waitForElement":"tr[data-worker=spare] .state[data-is=online]"},
		{"click":"tr[data-worker=spare] button"},
		{"waitForElement":"tr[data-worker=spare] .state[data-is=offline]"},
		{"evaluate":"return {fresh: saved.fresh, left: document.body.innerHTML.includes(saved.fresh), state: document.querySelector('tr[data-worker=spare] .state').textContent}"}`)
	var said struct {
		Fresh, State string
		Left         bool
	}
	if err := json.Unmarshal(got, &said); err != nil || said.Left || said.State != "Drained" {
		t.Errorf("the page shows %s", got)
	}
	if worker := w.operator.worker("spare"); worker.Account != "bob" || !worker.Draining {
		t.Errorf("the worker is %+v", worker)
	}
	const task = `{"actions":[{"evaluate":"return 6*7"}],"workerId":%q}`
	if status, got, err := post(w.base, said.Fresh, fmt.Sprintf(task, w.operator.worker("spare").ID)); status != 409 || !strings.Contains(got, "worker_offline") {
		t.Errorf("with the new token on the drained worker: %d, %v: %s", status, err, got)
	}
	// A key on the list of plans changes nothing before the question is answered.
	w.plays(t, `{{ops}},{"click":"nav a[data-view=operator]"},
		{"press":["tr[data-account=bob] select","ArrowDown"]},{"waitForElement":"dialog[open] #yes"},{"press":[null,"Escape"]},{"waitForElement":"body:not(:has(dialog[open]))"},
		{"click":"`+drain+`"},{"waitForElement":"dialog[open] #yes"},{"press":[null,"Escape"]},{"waitForElement":"body:not(:has(dialog[open]))"}`)
	if plan := w.operator.says("account", "list"); !regexp.MustCompile(`(?m)^bob +basic `).MatchString(plan) {
		t.Errorf("after a key on the list of plans, the accounts are\n%s", plan)
	}
	if status, got, err := post(w.base, w.ada, `{"queueTimeout":60000,"actions":[{"evaluate":"return 1"}]}`); status != 200 {
		t.Errorf("after a question that was not answered, a task is answered with %d, %v: %s", status, err, got)
	}
	w.plays(t, `{{ops}},{"click":"nav a[data-view=operator]"},
		{"press":["tr[data-account=bob] select","ArrowDown"]},{"click":"dialog[open] #yes"},{"waitForElement":"body:not(:has(dialog[open]))"},
		{"evaluate":"while (!document.getElementById('said').textContent.includes('has the plan standard')) await new Promise((done) => setTimeout(done, 20))"}`) // a page that goes before it has sent the change changes nothing
	for end := time.Now().Add(hang); !regexp.MustCompile(`(?m)^bob +standard `).MatchString(w.operator.says("account", "list")); {
		if time.Now().After(end) {
			t.Fatal("the plan that was confirmed is not the account's")
		}
	}
	w.plays(t, `{{ops}},{"click":"nav a[data-view=operator]"},
		{"click":"tr[data-worker=spare] button"},{"waitForElement":"tr[data-worker=spare] .state[data-is=online]"},
		{"click":"tr[data-worker=spare] button.danger"},{"click":"#yes"},{"waitForElement":"table:not(:has(tr[data-worker=spare])) tr[data-worker]"},
		{"click":"tr[data-account=bob] button.danger"},{"click":"#yes"},{"waitForElement":"table:not(:has(tr[data-account=bob])) tr[data-account]"}`)
	if worker := w.operator.worker("spare"); worker.ID != "" {
		t.Errorf("the worker that was removed is %+v", worker)
	}
	if status, got, err := post(w.base, said.Fresh, `{"actions":[{"wait":1}]}`); status != 401 {
		t.Errorf("with the token of a deleted account: %d, %v: %s", status, err, got)
	}
}
