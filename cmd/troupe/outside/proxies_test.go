package outside_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"troupe/testkit/need"
	"troupe/testkit/outproxy"
)

// TestNamedProxies: tasks of an account go through the proxy that they name, directly, from
// the queue and with a profile. Others are refused, and credentials are nowhere.
func TestNamedProxies(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	berlin, lab := outproxy.New(t, "ada", "credential-1"), outproxy.New(t, "ada", "credential-2")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		who := "nobody"
		for name, p := range map[string]*outproxy.Proxy{"berlin": berlin, "lab": lab} {
			if p.Made(r.RemoteAddr) {
				who = name
			}
		}
		fmt.Fprintf(w, "<h1>%s</h1>", who)
	}))
	t.Cleanup(site.Close)
	dir := t.TempDir()
	data, config, credentials := filepath.Join(dir, "data"), filepath.Join(dir, "config.json"), filepath.Join(dir, "credentials")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(credentials, "ada:credential-1\n")
	write(config, fmt.Sprintf(`{"proxies":{"berlin":{"url":%q,"credentialsFile":%q,"accounts":["ada"]}}}`, berlin.URL("http"), credentials))
	tokens := map[string]string{}
	for _, name := range []string{"ada", "bob"} {
		code, token, stderr := play(t, "", "token", "create", "--account="+name, "--plan=pro", "--data="+data)
		if code != 0 {
			t.Fatal(stderr)
		}
		tokens[name] = strings.TrimSpace(token)
	}
	c, base := serve(t, data, "--workers=2", "--allow-cidr=127.0.0.1/32", "--config="+config, "--log-level=debug", "--log-format=json")
	var said strings.Builder
	want := func(who, method, path, body string, status int, parts ...string) string {
		t.Helper()
		got, answer, err := sendTo(method, base+path, tokens[who], body)
		if err != nil || got != status {
			t.Fatalf("%s %s: %d %s %v, want %d", method, path, got, answer, err, status)
		}
		for _, part := range parts {
			if !strings.Contains(answer, part) {
				t.Errorf("%s %s: %s\nhas no %s", method, path, answer, part)
			}
		}
		said.WriteString(answer)
		return answer
	}
	task := func(proxy, more string) string {
		return fmt.Sprintf(`{"config":{"proxy":%s,"trace":"full"},"timeout":60000%s,"actions":[{"open":%q},{"getText":"h1"}]}`, proxy, more, site.URL)
	}
	ended := func(started string) {
		t.Helper()
		var s struct{ TaskID string }
		if err := json.Unmarshal([]byte(started), &s); err != nil {
			t.Fatal(err)
		}
		want("ada", "GET", "/v1/get-result?wait=60000&taskId="+s.TaskID, "", 200, `"complete"`, `"data":"berlin"`)
	}
	want("ada", "GET", "/v1/usage", "", 200, `"proxies":["berlin"]`)
	want("bob", "GET", "/v1/usage", "", 200, `"proxies":[]`)
	want("ada", "POST", "/v1/", task(`"berlin"`, ""), 200, `"data":"berlin"`, `everything leaves through the proxy \"berlin\"`)
	want("ada", "POST", "/v1/", task(`null`, ""), 200, `"data":"nobody"`)
	want("ada", "POST", "/v1/", task(`"berlin"`, `,"profile":"p"`), 200, `"data":"berlin"`)
	ended(want("ada", "POST", "/v1/", task(`"berlin"`, `,"queue":true`), 202))
	batch := want("ada", "POST", "/v1/batches", fmt.Sprintf(`{"task":%s,"items":[{},{}]}`, task(`"berlin"`, "")), 202)
	var b struct{ Batch struct{ BatchID string } }
	if err := json.Unmarshal([]byte(batch), &b); err != nil || b.Batch.BatchID == "" {
		t.Fatal(batch, err)
	}
	until(t, "the batch has ended", func() bool {
		_, answer, _ := sendTo("GET", base+"/v1/batches/"+b.Batch.BatchID+"/results", tokens["ada"], "")
		return strings.Count(answer, `"data":"berlin"`) == 2
	})

	want("bob", "POST", "/v1/", task(`"berlin"`, ""), 400, `"path":"/config/proxy"`, `there is no proxy \"berlin\" that this account may use: it may use none`)
	want("ada", "POST", "/v1/", task(`"berlni"`, ""), 400, `want one of berlin; did you mean \"berlin\"?`)
	want("ada", "POST", "/v1/batches", fmt.Sprintf(`{"task":%s,"items":[{}]}`, task(`"lab"`, "")), 400, `no proxy \"lab\"`)
	want("bob", "POST", "/v1/validate", task(`"berlin"`, ""), 200, `"valid":false`, `"path":"/config/proxy"`)
	want("ada", "POST", "/v1/validate", task(`"berlin"`, ""), 200, `"valid":true`)

	// A proxy by a plan, and credentials that the proxy does not take.
	write(credentials, "ada:credential-9\n")
	write(config, fmt.Sprintf(`{"proxies":{"berlin":{"url":%q,"credentialsFile":%q,"plans":["pro"]}}}`, berlin.URL("socks5"), credentials))
	if err := c.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	until(t, "the proxies are read again", func() bool {
		_, answer, _ := sendTo("GET", base+"/v1/usage", tokens["bob"], "")
		return strings.Contains(answer, `"proxies":["berlin"]`)
	})
	want("bob", "POST", "/v1/", task(`"berlin"`, ""), 200, `"navigation_failed"`, "net::ERR_PROXY_AUTH_REQUESTED")
	if logs := c.errs.String(); strings.Contains(logs+said.String(), "credential-") || !strings.Contains(logs, "berlin") {
		t.Error("credentials are in an answer or in the log, or the log does not name the proxy")
	}

	file := filepath.Join(dir, "task.json")
	write(file, task(`"lab"`, ""))
	write(config, fmt.Sprintf(`{"proxies":{"lab":{"url":%q,"credentialsFile":%q}}}`, lab.URL("socks5"), credentials))
	write(credentials, "ada:credential-2\n")
	if code, out, stderr := play(t, "", "run", file, "--out="+dir, "--allow-private", "--config="+config); code != 0 || !strings.Contains(out, `"data": "lab"`) {
		t.Errorf("troupe run: %d %s %s", code, out, stderr)
	}
	if code, out, _ := play(t, "", "run", file, "--out="+dir, "--allow-private"); code != exitUsage || !strings.Contains(out, "it may use none") {
		t.Errorf("troupe run without a configuration: %d %s", code, out)
	}
	write(file, task(`"berlin"`, ""))
	if code, out, _ := play(t, "", "validate", file, "--config="+config); code != exitFailed || !strings.Contains(out, "want one of lab") {
		t.Errorf("troupe validate: %d %s", code, out)
	}
}
