package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"troupe/engine/mask"
	"troupe/testkit/need"
)

const evidencePage = `<!doctype html><title>Shop</title><style>body{margin:0;background:#00ff00}</style><h1 id=h>Lamps</h1>
<input id=f><div id=host></div><iframe id=i srcdoc="<p>inside the frame</p>"></iframe>
<button id=go onclick="document.body.style.background='#0000ff';h.textContent='Chairs';console.warn('clicked',{price:49,name:'lamp'},[1,2]);setTimeout(()=>{throw new Error('late fault')},0);fetch('/missing');fetch('/answer')">go</button>
<script>host.attachShadow({mode:'open'}).innerHTML='<b>in the shadow</b>';console.log('hello','shop')</script>`

// evidenceSite is a shop that can be looked at when something fails there.
func evidenceSite(t *testing.T) string {
	t.Helper()
	counted(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			http.NotFound(w, r)
		case "/answer":
			w.Write(bytes.Repeat([]byte("x"), 5000))
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Write([]byte(evidencePage))
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

const allEvidence = `"onFailure":{"screenshot":true,"html":true,"console":true,"network":true}`

// colour is that of the bottom of a picture.
func colour(t *testing.T, b []byte) color.NRGBA {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return color.NRGBAModel.Convert(img.At(img.Bounds().Dx()/2, img.Bounds().Dy()-20)).(color.NRGBA)
}

// shows wants a picture of this colour, and no warning.
func (k *kept) shows(t *testing.T, o *Outcome, want string) {
	t.Helper()
	if o.Evidence.Screenshot == "" || len(o.Warnings) > 0 {
		t.Fatalf("no picture, or warnings: %v", o.Warnings)
	}
	if c := colour(t, k.files[o.Evidence.Screenshot]); !near(c, want) {
		t.Errorf("the picture is %v, want %s", c, want)
	}
}

// TestEvidenceOfAFailure: what is kept shows the page as the failed action left
// it, and nothing is kept of a task that has not failed.
func TestEvidenceOfAFailure(t *testing.T) {
	t.Parallel()
	url := evidenceSite(t)
	in := newInstance(t)
	var k kept
	st := TaskEnv{SaveFile: k.save}
	o := play(t, in, `{"config":{`+allEvidence+`},"actions":[{"open":"`+url+`/"},{"getText":"#h"}]}`, st)
	if o.Evidence != nil || len(k.files) > 0 || len(o.Failures) > 0 {
		t.Fatalf("%+v, %d files, %v", o.Evidence, len(k.files), failuresOf(o))
	}

	// The first failure counts where the list goes on, whatever the page is later.
	const fails = `{"click":"#nope","options":{"timeout":200}}`
	open := `{"open":"` + url + `/moved"},{"waitForElement":"p","options":{"iframe":"#i"}}`
	o = play(t, in, `{"config":{`+allEvidence+`},"actions":[`+open+`,`+fails+`,{"click":"#go"},{"wait":100},`+fails+`]}`, st)
	e := o.Evidence
	if e == nil || e.Path != "2" || len(o.Failures) != 2 {
		t.Fatalf("%+v %v %v", e, failuresOf(o), o.Warnings)
	}
	k.shows(t, o, "#00ff00")
	html := string(k.files[e.HTML])
	for _, want := range []string{"<!DOCTYPE html>", `<h1 id="h">Lamps</h1>`, "<b>in the shadow</b>", "<!-- The frame at about:srcdoc -->", "<p>inside the frame</p>"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is not in the HTML:\n%s", want, html)
		}
	}

	var network NetworkLog
	if err := json.Unmarshal(k.files[e.Network], &network); err != nil {
		t.Fatal(err)
	}
	seen := map[string]NetworkLine{}
	for _, q := range network.Requests {
		seen[strings.TrimPrefix(q.URL, url)] = q
	}
	if q := seen["/moved"]; q.Status != 302 || q.Millis == nil || q.Method != "GET" {
		t.Errorf("redirect: %+v", q)
	}
	if q := seen["/missing"]; q.Status != 404 || q.Kind != "Fetch" {
		t.Errorf("missing: %+v", q)
	}
	if q := seen["/answer"]; q.Status != 200 || q.Bytes < 5000 || q.At <= 0 || q.Millis == nil {
		t.Errorf("answer: %+v", q)
	}
	var console ConsoleLog
	if err := json.Unmarshal(k.files[e.Console], &console); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, m := range console.Messages {
		said = append(said, m.Level+" "+m.Text)
	}
	for _, want := range []string{"log hello shop", `warning clicked {price: 49, name: "lamp"} [1, 2]`, "error Uncaught Error: late fault", "error Failed to load resource: the server responded with a status of 404 (Not Found)"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("%q was not said:\n%s", want, strings.Join(said, "\n"))
		}
	}

	// Where the list is stopped, the action that stopped it counts. What was said
	// to the console before is not said again, although the page stays.
	o = play(t, in, `{"config":{"continueOnError":false,`+allEvidence+`},"actions":[{"getText":"#nope","options":{"timeout":50,"continueOnError":true}},
		{"evaluate":"document.body.style.background='#ff0000';return 1","options":{"iframe":"#i"}},{"evaluate":"document.body.style.background='#ff0000';console.info('only this');return 1"},`+fails+`]}`, st)
	if e = o.Evidence; e == nil || e.Path != "3" || o.End != EndStopped {
		t.Fatalf("%+v %v", e, failuresOf(o))
	}
	k.shows(t, o, "#ff0000") // the page that the list was stopped on
	console = ConsoleLog{}
	if err := json.Unmarshal(k.files[e.Console], &console); err != nil || len(console.Messages) != 1 || console.Messages[0].Text != "only this" {
		t.Errorf("%v %+v", err, console.Messages)
	}
}

// TestEvidenceHasABound: a page that does not answer leaves what it left before,
// and the task ends in its time and a little more.
func TestEvidenceHasABound(t *testing.T) {
	need.All(t)
	t.Parallel()
	url := evidenceSite(t)
	in := ownBrowser(t) // its page takes a processor, and the process, for itself
	var k kept
	began := time.Now()
	o := play(t, in, `{"timeout":3000,"config":{`+allEvidence+`,"trace":"full"},"actions":[{"open":"`+url+`/"},{"evaluate":"setTimeout(()=>{for(;;);},600);return 1"},{"wait":60000}]}`, TaskEnv{SaveFile: k.save})
	took := time.Since(began)
	if took > 3*time.Second+aftermath+10*time.Second { // a machine that has much to do is late
		t.Errorf("took %v", took)
	}
	if e := o.Evidence; o.End != EndTimeout || e == nil || e.Path != "2" || k.files[e.Network] == nil || k.files[e.Console] == nil || e.HTML != "" {
		t.Errorf("%s %+v", o.End, e)
	}
	if o.Duration > took-time.Second { // what it waits for pictures in vain is more
		t.Errorf("the task is said to have taken %v of %v", o.Duration, took)
	}
	if len(o.Warnings) == 0 || !strings.Contains(o.Warnings[0].Message, "the page does not answer") {
		t.Errorf("%v", o.Warnings)
	}
	if !strings.Contains(string(k.files[o.Trace]), "cut off") {
		t.Errorf("the trace does not say what was cut off: %.300s", k.files[o.Trace])
	}
}

// TestEvidenceAtTheEndOfTheTime shows the page that the time was over on.
func TestEvidenceAtTheEndOfTheTime(t *testing.T) {
	t.Parallel()
	url := evidenceSite(t)
	var k kept
	in := newInstance(t)
	o := play(t, in, fmt.Sprintf(`{"timeout":8000,"config":{%s},"actions":[{"open":"%s/"},{"click":"#go"},{"wait":60000}]}`, allEvidence, url), TaskEnv{SaveFile: k.save})
	if o.End != EndTimeout || o.Evidence == nil || o.Evidence.Path != "2" {
		t.Fatalf("%s %+v %v", o.End, o.Evidence, o.Warnings)
	}
	k.shows(t, o, "#0000ff")
	if html := string(k.files[o.Evidence.HTML]); !strings.Contains(html, "Chairs") {
		t.Errorf("%s", html)
	}
}

// TestEvidenceOfACrash: what was heard of the pages is there although they are
// gone.
func TestEvidenceOfACrash(t *testing.T) {
	t.Parallel()
	url := evidenceSite(t)
	var k kept
	in, _ := launch(t)
	st := TaskEnv{SaveFile: k.save, OnStep: func(s StepReport) {
		if s.Path == "0" {
			killRenderer(t, in.browser.PID())
		}
	}}
	o := play(t, in, `{"config":{`+allEvidence+`},"actions":[{"open":"`+url+`/"},{"getText":"#never"}]}`, st)
	if o.End != EndCrashed || o.Evidence == nil || o.Evidence.Screenshot != "" || !strings.Contains(string(k.files[o.Evidence.Console]), "hello shop") {
		t.Fatalf("%s %+v %v", o.End, o.Evidence, failuresOf(o))
	}
}

// TestEvidenceHidesSecrets in everything that is text.
func TestEvidenceHidesSecrets(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	st := v.stage()
	var k kept
	st.SaveFile = k.save
	o := play(t, newInstance(t), `{"config":{`+allEvidence+`,"trace":"full"},"actions":[{"open":"`+v.own+`/"},{"fill":["#f","${secret:pass}"]},
		{"evaluate":"document.body.append(f.value);console.info('y'.repeat(1995)+f.value);document.body.dataset.x=f.value;console.log(f.value,{v:f.value});fetch('/got?'+encodeURIComponent(f.value));throw new Error(f.value)"},
		{"wait":100},{"click":"#nope","options":{"timeout":50}}]}`, st)
	if o.Evidence == nil || o.Trace == "" || len(k.files) != 5 {
		t.Fatalf("%+v %d files", o.Evidence, len(k.files))
	}
	for name, b := range k.files {
		if strings.HasSuffix(name, ".png") {
			continue
		}
		for _, s := range mask.Spellings(hidden) {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("%s holds %s", name, s)
			}
		}
		if bytes.Contains(b, []byte("yyyyp")) {
			t.Errorf("%s holds the beginning of a secret that was cut", name)
		}
		if !bytes.Contains(b, []byte(mask.Mark)) {
			t.Errorf("%s holds no mask: %.2000s", name, b)
		}
	}
}
