package engine

import (
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/engine/browser"
	"troupe/testkit/need"
	"troupe/testkit/npm"
)

const harPageHTML = `<!doctype html><title>Archive</title><link rel=stylesheet href=/style.css><h1 id=h>x</h1><img id=im src=/dot.png><p id=out></p><p id=frame></p>
<script>onmessage = (e) => { frame.textContent = e.data; document.body.append(document.createElement('hr')) };
(async () => {
	const a = await (await fetch('/data?n=1&name=J%C3%BCrgen', {headers: {'X-Kind': 'one'}})).json()
	const b = await (await fetch('/sent', {method: 'POST', body: JSON.stringify({order: 7})})).text()
	const c = await (await fetch('/sent', {method: 'POST', body: JSON.stringify({order: 8})})).text()
	const d = new Uint8Array(await (await fetch('/bytes')).arrayBuffer()).join()
	await fetch('/empty')
	out.textContent = [a.name, b, c, d, im.naturalWidth, getComputedStyle(h).color].join(' | ')
	document.body.dataset.done = 1
})()</script>`

// harSite is a site of several kinds of answers; its page shows what came of them.
func harSite(t *testing.T) *httptest.Server {
	t.Helper()
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/start":
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: "cookie-of-a-person"})
			http.Redirect(w, r, "/", http.StatusFound)
		case "/style.css":
			w.Header().Set("Content-Type", "text/css")
			io.WriteString(w, "h1 { color: rgb(1, 2, 3) }")
		case "/dot.png":
			w.Header().Set("Content-Type", "image/png")
			png.Encode(w, image.NewRGBA(image.Rect(0, 0, 17, 3)))
		case "/data":
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(map[string]string{"name": r.URL.Query().Get("name") + " 雪 \u2028"})
		case "/sent":
			b, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "got %s", b)
		case "/bytes":
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Write([]byte{0, 255, 254, 65})
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/framed":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, `<script>fetch('/data?name=inner').then((r) => r.json()).then((v) => parent.postMessage(v.name, '*'))</script>`)
		case "/huge":
			w.Write(make([]byte, 5<<20))
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			other := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
			io.WriteString(w, harPageHTML+`<iframe src="`+other+`/framed"></iframe>`)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

const harSeen = `return [out.textContent, frame.textContent].join(' / ')`

// TestHARPlaysInPlaywright: what a task keeps is enough for Playwright to show the pages
// again when their server is gone.
func TestHARPlaysInPlaywright(t *testing.T) {
	need.All(t)
	t.Parallel()
	need.Registry(t)
	counted(t)
	packages, err := npm.Install(filepath.Join("testdata", "aria"), filepath.Join("..", ".cache", "aria"))
	if err != nil {
		t.Fatal(err)
	}
	chromium, err := browser.Find()
	if err != nil {
		t.Fatal(err)
	}
	srv := harSite(t)
	var k kept
	o := play(t, newInstance(t), `{"config":{"har":true},"actions":[{"open":"`+srv.URL+`/start"},{"waitForElement":"body[data-done]:has(hr)"},{"evaluate":"`+harSeen+`"}]}`, TaskEnv{SaveFile: k.save})
	if o.HARFile == "" || o.HAR != nil || len(o.Failures) > 0 || len(o.Warnings) > 0 {
		t.Fatalf("%+v %v %v", o, failuresOf(o), o.Warnings)
	}
	const want = "Jürgen 雪 \u2028 | got {\"order\":7} | got {\"order\":8} | 0,255,254,65 | 17 | rgb(1, 2, 3) / inner 雪 \u2028"
	var ours string
	if json.Unmarshal(o.Data, &ours); ours != want {
		t.Fatalf("the page shows %q, want %q", ours, want)
	}
	file := filepath.Join(t.TempDir(), "requests.har")
	if err := os.WriteFile(file, k.files[o.HARFile], 0o600); err != nil {
		t.Fatal(err)
	}
	srv.Close()
	var theirs string
	playwright(t, "har.cjs", &theirs, packages, chromium, file, srv.URL+"/start", harSeen)
	if theirs != want {
		t.Errorf("from the HAR, Playwright's page shows %q, want %q\n%s", theirs, want, k.files[o.HARFile])
	}
}

// TestHAR: each request is in it once, with what was sent and what came, within the
// limits, and with neither secrets nor what signs a person in.
func TestHAR(t *testing.T) {
	t.Parallel()
	counted(t)
	srv := harSite(t)
	const secret = "order-key-55512"
	st := TaskEnv{Secrets: []Secret{{Name: "key", Value: secret, Origins: []string{srv.URL}}}}
	script := `fetch('/sent?k=` + secret + `', {method: 'POST', headers: {Authorization: 'Basic c2lnbi1pbg=='}, body: '` + secret + `'}).then((r) => r.text());` +
		`for (let i = 0; i < 1; i++) await (await fetch('/huge')).arrayBuffer(); await fetch('http://127.0.0.1:1/gone').catch(() => {})`
	body := `{"config":{"har":{"inline":true}},"actions":[{"open":"` + srv.URL + `/start"},{"waitForElement":"body[data-done]:has(hr)"},{"evaluate":` + quoted(script) + `},{"open":"` + srv.URL + `/framed"}]}`
	o := play(t, newInstance(t), body, st)
	if o.HARFile != "" || len(o.Failures) > 0 || len(o.Warnings) > 0 {
		t.Fatalf("%v %v %v", o.HARFile, failuresOf(o), o.Warnings)
	}
	for _, hide := range []string{secret, "cookie-of-a-person", "c2lnbi1pbg", "b3JkZXIta2V5"} {
		if strings.Contains(string(o.HAR), hide) {
			t.Errorf("%q is in the HAR", hide)
		}
	}
	var h har
	if err := json.Unmarshal(o.HAR, &h); err != nil {
		t.Fatal(err)
	}
	seen := map[string][]harEntry{}
	for _, e := range h.Log.Entries {
		_, path, _ := strings.Cut(strings.TrimPrefix(e.Request.URL, "http://"), "/")
		seen[path] = append(seen[path], e)
		if e.Started == "" || e.Page == "" || e.Response.Status == 0 || e.Time <= 0 || e.Request.Protocol != "HTTP/1.1" || e.Timings.Wait < 0 {
			t.Errorf("%+v", e)
		}
	}
	one := func(path string) harEntry {
		t.Helper()
		if len(seen[path]) != 1 {
			t.Fatalf("%s is there %d times: %s", path, len(seen[path]), o.HAR)
		}
		return seen[path][0]
	}
	if e := one("start"); e.Response.Status != 302 || e.Response.Redirect != "/" || e.Page != "page_1" {
		t.Errorf("%+v", e)
	}
	if e := one("data?n=1&name=J%C3%BCrgen"); len(e.Request.Query) != 2 || e.Request.Query[1] != (harPair{"name", "Jürgen"}) || pairOf(e.Request.Headers, "X-Kind") != "one" || e.Response.Content.Type != "application/json" || !strings.Contains(e.Response.Content.Text, "Jürgen") {
		t.Errorf("%+v", e)
	}
	if e := one("dot.png"); e.Response.Content.Encoding != "base64" || e.Response.Content.Size == 0 || e.Kind != "Image" {
		t.Errorf("%+v", e)
	}
	if e := one("huge"); e.Response.Content.Text != "" || e.Response.Content.Size != 5<<20 || e.Response.Content.Comment != "it is larger than the limit of one body" {
		t.Errorf("%.500v", fmt.Sprint(e))
	}
	if e := one("sent?k=***"); e.Request.Post == nil || e.Request.Post.Text != "***" || e.Response.Content.Text != "got ***" {
		t.Errorf("%+v", e)
	}
	if e := seen["framed"]; len(e) != 2 || e[0].Page != "page_1" || e[1].Page != "page_2" {
		t.Errorf("%+v", e)
	}
	if len(seen["gone"]) != 0 || len(h.Log.Pages) != 2 || h.Log.Version != "1.2" {
		t.Errorf("%+v", h.Log.Pages)
	}

	o = play(t, newInstance(t), `{"config":{"har":{"inline":true,"bodies":false}},"actions":[{"open":"`+srv.URL+`/start"},{"waitForElement":"body[data-done]:has(hr)"}]}`, st)
	if strings.Contains(string(o.HAR), `"text":"`) || !strings.Contains(string(o.HAR), "/dot.png") || !strings.Contains(string(o.HAR), "bodies were not asked for") {
		t.Errorf("%s", o.HAR)
	}
	if o = play(t, newInstance(t), `{"actions":[{"open":"`+srv.URL+`/"}]}`, st); o.HAR != nil || o.HARFile != "" || o.Collected != nil {
		t.Errorf("%+v", o)
	}
}

func pairOf(all []harPair, name string) string {
	for _, h := range all {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// TestALargeHARIsAFile: an answer takes no more of it than its limit.
func TestALargeHARIsAFile(t *testing.T) {
	need.All(t)
	t.Parallel()
	counted(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<p>"+strings.Repeat("x", 3<<20))
	}))
	t.Cleanup(srv.Close)
	var k kept
	o := play(t, newInstance(t), `{"config":{"har":{"inline":true}},"actions":[{"open":"`+srv.URL+`/"}]}`, TaskEnv{SaveFile: k.save})
	if o.HAR != nil || len(k.files[o.HARFile]) < 3<<20 || len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0].Message, "are the limit in an answer: it is a file") {
		t.Errorf("%d bytes, %v", len(k.files[o.HARFile]), o.Warnings)
	}
}

// TestCollected: what pages said and asked for is in the answer, without secrets and
// within its limit.
func TestCollected(t *testing.T) {
	t.Parallel()
	url := evidenceSite(t)
	const secret = "hunter2hunter2"
	st := TaskEnv{Secrets: []Secret{{Name: "key", Value: secret, Origins: []string{url}}}}
	o := play(t, newInstance(t), `{"config":{"collect":{"console":true,"network":true}},"actions":[{"open":"`+url+`/moved"},{"evaluate":"console.error('it is `+secret+`'); await fetch('/answer?`+secret+`')"}]}`, st)
	c := o.Collected
	if c == nil || c.Console == nil || c.Network == nil {
		t.Fatalf("%+v", c)
	}
	b, err := json.Marshal(c)
	if err != nil || strings.Contains(string(b), secret) {
		t.Errorf("%s %v", b, err)
	}
	if m := c.Console.Messages; len(m) != 2 || m[0].Text != "hello shop" || m[1].Level != "error" || m[1].Text != "it is ***" {
		t.Errorf("%s", b)
	}
	if q := c.Network.Requests; len(q) != 3 || q[0].Status != 302 || q[2].URL != url+"/answer?***" || q[2].Status != 200 {
		t.Errorf("%s", b)
	}
	o = play(t, newInstance(t), `{"config":{"collect":{"console":true}},"actions":[{"open":"`+url+`/"},{"evaluate":"for (let i = 0; i < 1500; i++) console.log(i + ' ' + 'y'.repeat(1990))"},{"wait":300}]}`, st)
	if c = o.Collected; c.Network != nil || c.Console.Left+len(c.Console.Messages) != 1501 || c.Bytes() > maxCollected || len(c.Console.Messages) < 400 {
		t.Errorf("%d messages, %d left, %d bytes", len(c.Console.Messages), c.Console.Left, c.Bytes())
	}
}
