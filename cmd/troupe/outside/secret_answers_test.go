package outside_test

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"troupe/testkit/wait"
)

// TestSecretsAreInNoAnswer: a page says a secret in every way and place that it
// has, in each spelling that comes about by itself, and the task fails with all
// that can be kept of it. Nothing that the service hands out afterwards holds it:
// answers, events, the account's news, the list of tasks, the files of evidence,
// the trace with its steps, and the numbers for operators.
//
// Promise: Secrets are in no answer (docs/security.md).
func TestSecretsAreInNoAnswer(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := operatorCLI{t, filepath.Join(dir, "data")}
	c, base := serve(t, d.data, "--workers=1", "--allow-private", "--log-level=debug", "--metrics-listen=127.0.0.1:0")
	token := d.says("token", "create", "--account=ada", "--plan=pro")
	site := echoes(t)
	const value = `tr0ub4dor&3 "horse" <ü>`
	if code, _, stderr := play(t, value, "secret", "set", "pass", "--account=ada", "--origin="+site, "--data="+d.data); code != 0 {
		t.Fatal(stderr)
	}

	stop := listen(t, base+"/v1/events", token)
	said := `const v=document.querySelector('#i').value, b=btoa(unescape(encodeURIComponent('ada:'+v))), all=[v,encodeURIComponent(v),new URLSearchParams({v}).toString(),JSON.stringify({v}),b];
		for(const s of all){console.log(s);console.error({s});await fetch('/?'+encodeURIComponent(s)).catch(()=>{});document.body.append(s)}
		document.title=v;document.body.dataset.v=v;document.body.id=b;document.cookie='v='+encodeURIComponent(v);localStorage.v=v;
		const f=document.createElement('iframe');f.srcdoc='<p>'+v.replaceAll('&','&amp;').replaceAll('<','&lt;').replaceAll('>','&gt;')+'</p>';document.body.append(f);
		await fetch('/',{headers:{Authorization:'Basic '+b}});history.replaceState('','','/#'+encodeURIComponent(v));`
	task, err := json.Marshal(map[string]any{
		"async": true, "timeout": 30000, "queueTimeout": 20000,
		"config": act{"trace": "full", "onFailure": act{"screenshot": true, "html": true, "console": true, "network": true}},
		"actions": []any{
			act{"open": site}, act{"fill": []any{"#i", "${secret:pass}"}}, act{"waitForResponse": "said"},
			act{"evaluate": said + "await fetch('/said',{method:'POST',body:JSON.stringify(all)});return all", "options": act{"save": "kept", "push": "list"}},
			act{"getText": "body"}, act{"getHTML": "body"}, act{"getCookies": true}, act{"getSavedData": "list"},
			act{"evaluate": "const b=document.body.id;throw new Error(document.title+' '+b)"}, act{"click": "${kept}", "options": act{"timeout": 100}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, started, err := post(base, token, string(task))
	if err != nil {
		t.Fatal(err)
	}
	id := read(t, started).TaskID
	if id == "" {
		t.Fatal(started)
	}
	handed := map[string]string{"the first answer": started}
	_, handed["the events of the task"] = get(t, base, token, "/v1/tasks/"+id+"/events")
	_, handed["the result"] = get(t, base, token, "/v1/get-result?wait=30000&taskId="+id)
	_, handed["the list of tasks"] = get(t, base, token, "/v1/tasks")
	_, handed["the workers"] = get(t, base, token, "/v1/workers")
	files := regexp.MustCompile(`/files/[a-z0-9]+(\.[a-z0-9]+)?`).FindAllString(handed["the result"], -1)
	for _, path := range files {
		status, body := get(t, base, token, path)
		if status != 200 {
			t.Errorf("%s: %d", path, status)
		}
		if !strings.HasPrefix(body, "\x89PNG") { // a picture shows what the page shows
			handed["the file "+path] = body
		}
	}
	if len(files) < 5 {
		t.Errorf("%d files were kept: %s", len(files), handed["the result"])
	}
	if resp, err := http.Get("http://" + c.metricsAddress(t) + "/metrics"); err != nil {
		t.Error(err)
	} else {
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		handed["the numbers"] = string(b)
	}
	handed["the news"] = stop()
	handed["the log"] = c.errs.String() + c.out.String()

	inJSON, _ := json.Marshal(value)
	spelled := []string{value, url.QueryEscape(value), url.PathEscape(value), html.EscapeString(value), string(inJSON[1 : len(inJSON)-1]), "tr0ub4dor", "horse"}
	for before := range 3 { // what of Base64 is the same whatever stands around it
		spelled = append(spelled, base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + value))[4:20])
	}
	masked := 0
	for what, text := range handed {
		for _, s := range spelled {
			if at := strings.Index(text, s); at >= 0 {
				t.Errorf("%s: it holds %q: …%.200s", what, s, text[max(0, at-100):])
			}
		}
		if strings.Contains(text, token) {
			t.Errorf("%s: it holds the token", what)
		}
		if strings.Contains(text, "***") {
			masked++
		}
	}
	if masked < 6 { // the result, its events and the news, and the files
		t.Errorf("in %d of %d places something is masked: that proves little: %v", masked, len(handed), handed["the result"])
	}
}

// echoes is a site with a field that gives back what it is sent.
func echoes(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.Copy(w, r.Body)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<input id=i>")
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// listen reads a stream until stop is called, which waits for the news of a task's
// end and gives what came.
func listen(t *testing.T, address, token string) (stop func() string) {
	t.Helper()
	req, err := http.NewRequest("GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %v, %v", address, resp, err)
	}
	var got output
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(&got, resp.Body)
	}()
	return func() string {
		t.Helper()
		wait.Until(t, "the news tell of the end", func() bool { return strings.Contains(got.String(), "event: end\n") })
		resp.Body.Close()
		<-ended
		return got.String()
	}
}
