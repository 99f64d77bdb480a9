package engine

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// largeBodies is a server that says what was sent to it, and its pages.
func largeBodies(t *testing.T) (url string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/worker.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, `onmessage = async (e) => postMessage(await (await fetch('/sum', { method: 'POST', body: e.data })).text())`)
		case "/sum":
			b, _ := io.ReadAll(r.Body)
			time.Sleep(50 * time.Millisecond)
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<pre id=got>%d|%x|%s</pre>", len(b), sha256.Sum256(b), r.Header.Get("X-Rule"))
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, `<!doctype html><form id=f action=/sum method=post><input type=hidden name=a><button id=b>b</button></form>
<form id=m action=/sum method=post enctype=multipart/form-data><input type=file name=file id=file><button id=mb>b</button></form><iframe id=frame srcdoc="<p>f</p>"></iframe>
<script>var text = 'a1é'.repeat(70000), sum = async (body) => (await (await fetch('/sum', { method: 'POST', body })).text())
var bytes = new Uint8Array(300000); for (let i = 0; i < bytes.length; i += 60000) crypto.getRandomValues(bytes.subarray(i, i + 60000))
document.querySelector('#f input').value = 'x'.repeat(200000)
const files = new DataTransfer(); files.items.add(new File([bytes], 'a.bin')); document.querySelector('#file').files = files.files</script>`)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

var largeWays = map[string]string{
	"text":          `{"evaluate":"return await sum(text)"}`,
	"bytes":         `{"evaluate":"return await sum(bytes)"}`,
	"a blob":        `{"evaluate":"return await sum(new Blob([bytes]))"}`,
	"many blobs":    `{"evaluate":"const f = new FormData(); for (let i = 0; i < 30; i++) f.append('f' + i, new Blob([bytes.subarray(0, 60000)])); return await sum(f)"}`,
	"fields":        `{"evaluate":"const f = new FormData(); for (let i = 0; i < 6; i++) f.append('f' + i, text); return await sum(f)"}`,
	"xhr":           `{"evaluate":"return await new Promise((r) => { const x = new XMLHttpRequest(); x.open('PUT', '/sum'); x.onload = () => r(x.responseText); x.send(text) })"}`,
	"a frame":       `{"evaluate":"return await (await fetch(parent.location.origin + '/sum', { method: 'POST', body: parent.bytes })).text()","options":{"iframe":"#frame"}}`,
	"a worker":      `{"evaluate":"const w = new Worker('worker.js'); return await new Promise((r) => { w.onmessage = (e) => r(e.data); w.postMessage(text) })"}`,
	"a form":        `{"click":"#b"},{"getText":"#got"}`,
	"a form's file": `{"click":"#mb"},{"getText":"#got"}`,
}

var largeRules = map[string]string{
	"block":  `"block":{"urls":["no.such"]}`,
	"others": `"mock":{"no.such":{"body":"x"}},"headers":{"%[1]s":{"X-Rule":"yes"}},"credentials":{"%[1]s":{"username":"a","password":"b"}}`,
	"sites":  `"sites":["127.0.0.1"]`,
}

// TestLargeRequestsGoOn: what pages send arrives as it is with every rule, however much it is.
// Those that look at requests see it.
func TestLargeRequestsGoOn(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	url := largeBodies(t)
	sums := map[string]bool{}
	for rule, config := range largeRules {
		if strings.Contains(config, "%") {
			config = fmt.Sprintf(config, url)
		}
		var names []string
		var list strings.Builder
		for way, actions := range largeWays {
			names = append(names, way)
			fmt.Fprintf(&list, `,{"open":"%s/"},%s`, url, strings.TrimSuffix(actions, "}")+map[bool]string{true: `,"push":"got"}}`, false: `,"options":{"push":"got"}}`}[strings.Contains(actions, `"options"`)])
			if strings.Contains(actions, `"options"`) { // its own are closed already
				s := list.String()
				list.Reset()
				list.WriteString(strings.Replace(s, `"options":{"iframe":"#frame"},"push":"got"}`, `"options":{"iframe":"#frame","push":"got"}`, 1))
			}
		}
		o := play(t, in, fmt.Sprintf(`{"timeout":60000,"config":{%s},"actions":[%s,{"getSavedData":"got"}]}`, config, list.String()[1:]), TaskEnv{})
		var saved struct{ Got []string }
		if err := json.Unmarshal(o.Data, &saved); err != nil || len(o.Failures) > 0 || len(saved.Got) != len(names) {
			t.Errorf("%s: %v of %v came: %v, %v", rule, len(saved.Got), names, failuresOf(o), o.Warnings)
			continue
		}
		for i, got := range saved.Got {
			if !strings.Contains(got, "yes") && rule == "others" && !strings.HasPrefix(names[i], "a form") {
				t.Errorf("%s, %s: the header is missing: %q", rule, names[i], got)
			}
			parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(got, "<pre id=got>"), "</pre>"), "|")
			if n, err := strconv.Atoi(parts[0]); err != nil || n < 200_000 {
				t.Errorf("%s, %s: %q arrived", rule, names[i], got)
			} else if names[i] == "text" || names[i] == "xhr" || names[i] == "a worker" {
				sums[parts[1]] = true
			}
		}
		if len(o.Warnings) > 0 {
			t.Errorf("%s: %v", rule, o.Warnings)
		}
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Repeat("a1é", 70000)))); len(sums) != 1 || !sums[want] {
		t.Errorf("the text has arrived as %v, want %s", sums, want)
	}
}

// TestLargeRequestsAreSeen: those that look at requests see them whatever is sent.
func TestLargeRequestsAreSeen(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	url := largeBodies(t)
	k := &kept{}
	for way, actions := range largeWays {
		if way == "a worker" || strings.HasPrefix(way, "a form") {
			continue // those of workers are not seen, and documents are no responses to wait for
		}
		wait := `{"waitForResponse":"/sum","options":{"timeout":9000}}`
		o := play(t, in, fmt.Sprintf(`{"timeout":30000,"config":{"har":true,"collect":{"network":true},"trace":true},"actions":[{"open":"%s/"},%s,%s,{"waitForEvent":"networkidle"}]}`, url, wait, actions), TaskEnv{SaveFile: k.save})
		if len(o.Failures) > 0 || !strings.Contains(string(o.Data), "id=got") {
			t.Errorf("%s is not waited for: %s, %v\n%s", way, o.Data, failuresOf(o), actions)
		}
		collected, _ := json.Marshal(o.Collected)
		if !strings.Contains(string(collected), "/sum") {
			t.Errorf("%s is not collected: %s", way, collected)
		}
		if n, e := archived(t, k.files[o.HARFile], "/sum"); n != 1 || e.Response.Status != 200 || e.Request.BodySize == 0 || !strings.Contains(e.Response.Content.Text, "id=got") {
			t.Errorf("%s is %d times in the HAR: %+v", way, n, e)
		}
	}
}

// archived is how often an address is in a HAR, and its last entry.
func archived(t *testing.T, file []byte, of string) (n int, last harEntry) {
	t.Helper()
	var h har
	if err := json.Unmarshal(file, &h); err != nil {
		t.Fatal(err)
	}
	for _, e := range h.Log.Entries {
		if strings.HasSuffix(e.Request.URL, of) {
			n, last = n+1, e
		}
	}
	return n, last
}

// TestRequestsThatCannotBeRead: a request that says more than can be read is answered at once:
// failed where a rule might be about it, with a warning, and sent where none is.
func TestRequestsThatCannotBeRead(t *testing.T) {
	in := newInstance(t)
	url := largeBodies(t)
	const long = `return await fetch('/sum?' + 'a'.repeat(70000)).then((r) => r.status, (e) => e.name)`
	const heads = `const h = {}; for (let i = 0; i < 40; i++) h['x-' + i] = 'a'.repeat(60000); return await fetch('/sum', { headers: h }).then((r) => r.status, (e) => e.name)`
	for _, c := range []struct{ config, script, want, warning string }{
		{`"sites":["127.0.0.1"]`, long, `200`, ""},
		{fmt.Sprintf(`"headers":{"%s":{"X-Rule":"yes"}}`, url), long, `200`, ""},
		{`"headers":{"http://a.example":{"X-Rule":"yes"}}`, heads, `"TypeError"`, "too large"},
		{`"mock":{"zzz":{"body":"x"}}`, long, `"TypeError"`, "GET " + url},
		{`"mock":{},"block":{"urls":["zzz"]}`, long, `"TypeError"`, "GET " + url},
		{`"block":{"urls":["/sum"]}`, long, `"TypeError"`, ""},
	} {
		o := play(t, in, fmt.Sprintf(`{"timeout":20000,"config":{%s},"actions":[{"open":"%s/"},{"evaluate":%q}]}`, c.config, url, c.script), TaskEnv{})
		if string(o.Data) != c.want || len(o.Failures) > 0 || (c.warning != "") != (len(o.Warnings) == 1) || c.warning != "" && !strings.Contains(o.Warnings[0].Message, c.warning) {
			t.Errorf("with %s: %s, %v, %v\n%s", c.config, o.Data, o.Warnings, failuresOf(o), c.script)
		}
	}
}
