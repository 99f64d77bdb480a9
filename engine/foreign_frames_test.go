package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/testkit/need"
)

// sites are pages at 127.0.0.1 and, as another site, at localhost.
func sites(t *testing.T, pages map[string]string) (own, other string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, at, _ := strings.Cut(r.Host, ":")
		io.WriteString(w, "<!doctype html>"+strings.NewReplacer("{{other}}", "http://localhost:"+at, "{{third}}", "http://third.localhost:"+at).Replace(page))
	}))
	t.Cleanup(srv.Close)
	return srv.URL, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
}

// TestEvidenceOfForeignFrames: the source, the console and the requests of frames of
// other sites are kept, also of those in them.
func TestEvidenceOfForeignFrames(t *testing.T) {
	t.Parallel()
	own, other := sites(t, map[string]string{
		"/":       `<h1>shop</h1><iframe id=f src="{{other}}/middle"></iframe>`,
		"/middle": `<p>in the middle</p><iframe src="{{third}}/inner"></iframe><script>console.log('said in the middle');fetch('/first')</script>`,
		"/inner":  `<p>in the inner</p><script>console.warn('said in the inner');fetch('/deep')</script>`,
	})
	var k kept
	o := play(t, newInstance(t), `{"config":{`+allEvidence+`},"actions":[{"open":"`+own+`/"},{"waitForEvent":"networkidle"},{"click":"#nope","options":{"timeout":200}}]}`, TaskEnv{SaveFile: k.save})
	failsWith(CodeElementNotFound)(t, o)
	html := string(k.files[o.Evidence.HTML])
	for _, want := range []string{"<h1>shop</h1>", "<p>in the middle", "<p>in the inner", "The frame at " + other + "/middle"} {
		if strings.Count(html, want) != 1 {
			t.Errorf("the source has %q %d times:\n%s", want, strings.Count(html, want), html)
		}
	}
	console := string(k.files[o.Evidence.Console])
	for _, want := range []string{"said in the middle", "said in the inner"} {
		if strings.Count(console, want) != 1 {
			t.Errorf("the console has %q %d times:\n%s", want, strings.Count(console, want), console)
		}
	}
	var all NetworkLog
	if err := json.Unmarshal(k.files[o.Evidence.Network], &all); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, q := range all.Requests {
		seen[q.URL[strings.LastIndex(q.URL, "/"):]]++
		if q.Millis == nil || q.Status == 0 {
			t.Errorf("%s did not end: %+v", q.URL, q)
		}
	}
	for _, want := range []string{"/", "/middle", "/inner", "/first", "/deep"} {
		if seen[want] != 1 {
			t.Errorf("%d requests of %s, want one: %v", seen[want], want, seen)
		}
	}
}

// TestSecretsInForeignFrames: a secret goes into the fields of its own origins, also
// where the page around the frame is another's.
func TestSecretsInForeignFrames(t *testing.T) {
	t.Parallel()
	own, other := sites(t, map[string]string{
		"/":      `<h1>shop</h1><input id=f><iframe id=i src="{{other}}/sign"></iframe>`,
		"/sign":  `<input id=f><iframe id=j src="{{third}}/field"></iframe>`,
		"/field": `<input id=f>`,
	})
	const value = "a value that is secret"
	st := TaskEnv{Secrets: []Secret{{Name: "pass", Value: value, Origins: []string{other}}}}
	fill := func(frame string) string {
		return fmt.Sprintf(`{"fill":["#f","${secret:pass}"],"options":{%s}}`, frame)
	}
	o := play(t, newInstance(t), `{"timeout":30000,"actions":[{"open":"`+own+`/"},`+fill(``)+`,`+fill(`"iframe":"#i"`)+`,`+fill(`"iframe":["#i","#j"]`)+`,
		{"evaluate":"return f.value.length","options":{"push":"n"}},{"evaluate":"return f.value.length","options":{"iframe":"#i","push":"n"}},{"evaluate":"return f.value.length","options":{"iframe":["#i","#j"],"push":"n"}},
		{"getValue":"#f","options":{"iframe":"#i","push":"n"}},{"getSavedData":"n"}]}`, st)
	failsWith(CodeInvalidValue, CodeInvalidValue)(t, o)
	if want := fmt.Sprintf(`{"n":[0,%d,0,"***"]}`, len(value)); string(o.Data) != want {
		t.Errorf("the fields have %s, want %s", o.Data, want)
	}
	for i, origin := range []string{own, strings.Replace(own, "127.0.0.1", "third.localhost", 1)} {
		if len(o.Failures) > i && !strings.Contains(o.Failures[i].Text, "not for pages of "+origin) {
			t.Errorf("%s, want it to name %s", o.Failures[i].Text, origin)
		}
	}
}

// TestBusyForeignFrame: a frame that keeps its process busy delays nothing but what is
// asked of it.
func TestBusyForeignFrame(t *testing.T) {
	need.All(t)
	t.Parallel()
	own, _ := sites(t, map[string]string{
		"/":     `<h1 id=h>shop</h1><button id=b onclick="this.textContent='hit'">b</button><iframe id=i src="{{other}}/busy"></iframe>`,
		"/busy": `<p>busy</p><script>onload=()=>setTimeout(()=>{for(;;);},50)</script>`,
	})
	in := ownBrowser(t)
	o := play(t, in, `{"config":{"actionTimeout":1500,`+allEvidence+`},"timeout":30000,"actions":[{"open":"`+own+`/"},{"wait":300},{"getText":"p","options":{"iframe":"#i"}},{"getText":"p","options":{"iframe":{"url":"busy"}}},
		{"getText":"#nope"},{"click":"#b"},{"getText":"#b"}]}`, TaskEnv{SaveFile: new(kept).save})
	if len(o.Failures) != 3 || o.Failures[0].Code != CodeTimeout || string(o.Data) != `"hit"` {
		t.Errorf("%s, %v", o.Data, failuresOf(o))
	}
	began := time.Now()
	ctx, cancel := contextFor(10 * time.Second)
	defer cancel()
	if err := in.Reset(ctx); err != nil || time.Since(began) > 8*time.Second {
		t.Errorf("cleaning took %v: %v", time.Since(began), err)
	}
	noFailure(`"shop"`)(t, play(t, in, `{"actions":[{"open":"`+own+`/"},{"getText":"h1"}]}`, TaskEnv{}))
}

// TestIdleDespiteForeignFrames: what frames of other sites load counts until it has
// come or they have gone.
func TestIdleDespiteForeignFrames(t *testing.T) {
	t.Parallel()
	var late, never atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/late":
			late.Add(1)
			time.Sleep(700 * time.Millisecond)
		case "/never":
			never.Add(1)
			<-r.Context().Done()
		case "/frame":
			fmt.Fprint(w, `<script>fetch('/late').then(()=>document.title='late')</script>`)
		case "/hangs":
			fmt.Fprint(w, `<script>fetch('/never');parent.postMessage('begun','*')</script>`)
		default:
			_, at, _ := strings.Cut(r.Host, ":")
			fmt.Fprintf(w, `<h1>x</h1><iframe id=f src="http://localhost:%[1]s/frame"></iframe><iframe id=g src="http://third.localhost:%[1]s/hangs"></iframe><script>onmessage=()=>setTimeout(()=>g.remove(),900)</script>`, at)
		}
	}))
	t.Cleanup(srv.Close)
	o := play(t, newInstance(t), `{"timeout":30000,"actions":[{"open":"`+srv.URL+`/"},{"waitForEvent":"networkidle"},{"evaluate":"return document.title","options":{"iframe":"#f"}}]}`, TaskEnv{})
	noFailure(`"late"`)(t, o)
	if late.Load() != 1 || never.Load() != 1 {
		t.Errorf("%d late, %d that never end: want one each", late.Load(), never.Load())
	}
}

// TestWorkersGoOn where frames are watched: the browser holds both until it is told to
// let them go.
func TestWorkersGoOn(t *testing.T) {
	t.Parallel()
	script := map[string]string{
		"/worker.js": `postMessage('worker'); const n = new Worker('/nested.js'); n.onmessage = (e) => postMessage(e.data)`,
		"/nested.js": `postMessage('nested')`,
		"/shared.js": `onconnect = (e) => e.ports[0].postMessage('shared')`,
		"/audio.js":  `registerProcessor('p', class extends AudioWorkletProcessor { process() { return true } })`,
		"/sw.js":     `onmessage = (e) => e.source.postMessage('service'); oninstall = () => skipWaiting(); onactivate = (e) => e.waitUntil(clients.claim())`,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s, ok := script[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "text/javascript")
			io.WriteString(w, s)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, at, _ := strings.Cut(r.Host, ":")
		frame := `<iframe id=f src="http://localhost:` + at + `/frame"></iframe>`
		if r.URL.Path == "/frame" {
			frame = ""
		}
		fmt.Fprint(w, `<h1>x</h1>`+frame+`<script>
			window.got = []; const take = (e) => got.push(e.data)
			new Worker('/worker.js').onmessage = take
			new SharedWorker('/shared.js').port.onmessage = take
			new AudioContext().audioWorklet.addModule('/audio.js').then(() => got.push('audio'))
			navigator.serviceWorker.onmessage = take
			navigator.serviceWorker.register('/sw.js').then(async () => (await navigator.serviceWorker.ready).active.postMessage('hi'))
			</script>`)
	}))
	t.Cleanup(srv.Close)
	const all = `for (let i = 0; i < 500 && got.length < 5; i++) await new Promise((r) => setTimeout(r, 10)); return got.sort()`
	o := play(t, newInstance(t), `{"config":{`+allEvidence+`},"timeout":30000,"actions":[{"open":"`+srv.URL+`/"},{"evaluate":"`+all+`","options":{"push":"got"}},{"evaluate":"`+all+`","options":{"iframe":"#f","push":"got"}},{"getSavedData":"got"}]}`, TaskEnv{SaveFile: new(kept).save})
	noFailure(`{"got":[["audio","nested","service","shared","worker"],["audio","nested","service","shared","worker"]]}`)(t, o)
}

// TestManyForeignFrames: a page may have any number of frames for advertisements. What
// is looked for is found in the first hundred, and the others cost no time.
func TestManyForeignFrames(t *testing.T) {
	own, _ := sites(t, map[string]string{
		"/":      `<h1>shop</h1><script>for (let i = 0; i < 110; i++) document.write('<iframe name=f' + i + ' width=20 height=20 src="{{other}}/ad?' + i + '"></iframe>')</script>`,
		"/ad":    `<script>const n = location.search.slice(1); if (n === '60' || n === '105') document.write('<iframe id=in' + n + ' src="inner"></iframe>')</script>`,
		"/inner": `<p>inner</p>`,
	})
	o := play(t, ownBrowser(t), `{"timeout":100000,"actions":[{"open":"`+own+`/","options":{"timeout":30000}},{"getText":"p","options":{"iframe":"#in60","timeout":30000,"push":"t"}},{"evaluate":"return 1","options":{"iframe":"#in105","timeout":1500}},{"getText":"p","options":{"iframe":["[name=f105]","#in105"],"push":"t"}},{"getSavedData":"t"}]}`, TaskEnv{})
	failsWith(CodeElementNotFound)(t, o)
	if string(o.Data) != `{"t":["inner","inner"]}` {
		t.Errorf("the frames have %s", o.Data)
	}
}

// TestForeignFramesCostNothingUnused: a task that looks into no frame of another site
// sends as many commands on a page with one as on a page without.
func TestForeignFramesCostNothingUnused(t *testing.T) {
	own, _ := sites(t, map[string]string{
		"/without": `<h1>x</h1><button id=b>b</button><input id=i>`,
		"/with":    `<h1>x</h1><button id=b>b</button><input id=i><iframe id=f src="{{other}}/without"></iframe>`,
		"/counts":  `<button id=b onclick="n.textContent++">b</button><i id=n>0</i><iframe id=f src="{{other}}/counted"></iframe>`,
		"/counted": `<button id=b onclick="n.textContent++">b</button><i id=n>0</i>`,
	})
	in := ownBrowser(t)
	data := ``
	sent := func(page, actions string) int64 {
		t.Helper()
		before := in.browser.Sent()
		noFailure(data)(t, play(t, in, `{"timeout":20000,"actions":[{"open":"`+own+page+`"},`+actions+`]}`, TaskEnv{SaveFile: new(kept).save}))
		n := in.browser.Sent() - before
		ctx, cancel := contextFor(10 * time.Second)
		defer cancel()
		if err := in.Reset(ctx); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, actions := range []string{
		`{"getText":"h1"}`,
		`{"fill":["#i","abc"]},{"click":"#b"},{"getValue":"#i"}`,
		`{"screenshot":"h1"}`,
	} {
		if without, with := sent("/without", actions), sent("/with", actions); with != without {
			t.Errorf("%s sends %d commands with a frame of another site, %d without", actions, with, without)
		}
	}
	// least is what a list sends at least. On a busy machine the browser does not know yet
	// where a new frame is when the button goes down, so the click is made once more: the
	// page has seen nothing of the first.
	least := func(actions, end string) int64 {
		t.Helper()
		data = end
		return min(sent("/counts", actions), sent("/counts", actions), sent("/counts", actions))
	}
	const click, inside = `{"click":"#b"}`, `{"click":"#b","options":{"iframe":"#f"}}`
	const count, counted = `,{"getText":"#n"}`, `,{"getText":"#n","options":{"iframe":"#f"}}`
	page := least(click+","+click+count, `"2"`) - least(click+count, `"1"`)
	if frame := least(inside+","+inside+counted, `"2"`) - least(inside+counted, `"1"`); frame > page+4 {
		t.Errorf("a second click sends %d commands in a frame of another site, %d in the page: want at most 4 more", frame, page)
	}
}
