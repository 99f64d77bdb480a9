package outside_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/testkit/leaks"
	"troupe/testkit/need"
	"troupe/testkit/npm"
	"troupe/testkit/wait"
)

// models is a service, and the official programs of the Model Context Protocol.
type models struct {
	base, token string
	packages    string
}

func newModels(t *testing.T) *models {
	t.Helper()
	m := &models{packages: mcpPackages(t)}
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c, base := serve(t, filepath.Join(dir, "data"))
	m.base, m.token = base, tokenLine.FindStringSubmatch(c.out.String())[1]
	return m
}

func mcpPackages(t *testing.T) string {
	t.Helper()
	need.Registry(t)
	packages, err := npm.Install(filepath.Join("testdata", "mcp"), filepath.Join("..", "..", "..", ".cache", "mcp"))
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// node runs a script or a program of the packages. They need a newer Node.js than some
// systems have: the packages bring one.
func (m *models) node(t *testing.T, env []string, script string, args ...string) (string, error) {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	node := filepath.Join(m.packages, "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(node, append([]string{script}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(m.packages), &out, &errs
	cmd.Env = append(append(os.Environ(), "NO_PROXY=127.0.0.1"), env...)
	err := cmd.Run()
	t.Log(errs.String())
	return out.String(), err
}

// beside copies a script to where it finds the packages.
func (m *models) beside(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "mcp", name))
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(filepath.Dir(m.packages), name)
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// called is one call, as the client's script reports it.
type called struct {
	Text  string
	Kinds []string
	Facts map[string]any
	Error bool
}

// TestOfficialClient: the official client in TypeScript does a job over HTTP and over
// the standard streams of troupe mcp, with a service of its own and with another.
func TestOfficialClient(t *testing.T) {
	need.All(t)
	t.Parallel()
	leaks.Check(t)
	m := newModels(t)
	script := m.beside(t, "client.mjs")
	for name, args := range map[string][]string{
		"http":   {"http", m.base + "/mcp"},
		"own":    {"own", program, "mcp"},
		"remote": {"remote", program, "mcp", "--url", m.base},
	} {
		t.Run(name, func(t *testing.T) {
			env := "TOKEN=" + m.token
			if name == "remote" {
				env = "TROUPE_TOKEN=" + m.token
			}
			text, err := m.node(t, []string{env}, script, args...)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			var out struct {
				Instructions                                                           int
				Tools, Steps                                                           []string
				SignIn, Search, Failed, Saved, Replayed, Help, Valid, Afterwards, Gone called
				Background, Ended, Closed, Around, Found                               called
				Endless, Stopped, End                                                  called
				Followed                                                               []string
				Cancelled                                                              string
				Took                                                                   int
			}
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if out.Instructions == 0 || !slices.Equal(out.Tools, []string{"actions", "flow", "look", "run", "session", "validate"}) {
				t.Errorf("tools: %v", out.Tools)
			}
			if len(out.Steps) < 5 || out.Steps[0] != "0 open" || out.SignIn.Error || !strings.Contains(out.SignIn.Text, "[4] getText: ada") || !slices.Contains(out.SignIn.Kinds, "image") {
				t.Errorf("signing in: %v %+v", out.Steps, out.SignIn)
			}
			if !strings.Contains(out.Search.Text, "[1] getText: 6 ") {
				t.Errorf("searching: %+v", out.Search)
			}
			if !out.Failed.Error || out.Failed.Facts["code"] != "element_not_found" || out.Failed.Facts["succeeded"] != 0.0 {
				t.Errorf("a failure: %+v", out.Failed)
			}
			if out.Saved.Error || out.Saved.Facts["actions"] != 2.0 || out.Replayed.Error || !strings.Contains(out.Replayed.Text, "for “mug”") {
				t.Errorf("a flow: %+v\n%+v", out.Saved, out.Replayed)
			}
			if !out.Help.Error || !strings.Contains(out.Help.Text, "click: Clicks") || !strings.Contains(out.Help.Text, `did you mean "click"?`) || !out.Valid.Error {
				t.Errorf("help: %+v\n%+v", out.Help, out.Valid)
			}
			if !strings.Contains(out.Cancelled, "enough") || out.Afterwards.Error || out.Took > 15000 {
				t.Errorf("a cancelled call: %q, and after %d ms %+v", out.Cancelled, out.Took, out.Afterwards)
			}
			if out.Around.Error || !strings.Contains(out.Found.Text, "[1] evaluate: de-DE 400") {
				t.Errorf("surroundings: %+v\n%+v", out.Around, out.Found)
			}
			if out.Background.Facts["status"] != "running" || !strings.Contains(out.Ended.Text, "getText: Products") {
				t.Errorf("in the background: %+v\n%+v", out.Background, out.Ended)
			}
			if len(out.Followed) == 0 || out.Followed[0] != "0 open" || out.Stopped.Facts["cancelled"] != true || !out.End.Error || out.End.Facts["code"] != "cancelled" {
				t.Errorf("a task that is cancelled: %v %+v\n%+v", out.Followed, out.Stopped, out.End)
			}
			if out.Closed.Error || !out.Gone.Error || out.Gone.Facts["code"] != "session_mismatch" {
				t.Errorf("closing: %+v\n%+v", out.Closed, out.Gone)
			}
		})
	}
}

// TestInspector: the protocol's own inspector lists the tools without a complaint, in its
// strict mode, and calls one.
func TestInspector(t *testing.T) {
	need.All(t)
	t.Parallel()
	m := newModels(t)
	inspector := filepath.Join(m.packages, ".bin", "mcp-inspector")
	at := []string{"--cli", m.base + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + m.token}
	out, err := m.node(t, nil, inspector, append(at, "--method", "tools/list", "--strict")...)
	if err != nil || strings.Contains(out, "Warning:") || !strings.Contains(out, `"maxTokens"`) {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = m.node(t, nil, inspector, append(at, "--method", "tools/call", "--tool-name", "actions", "--tool-arg", `names=["getText"]`)...)
	if err != nil || !strings.Contains(out, "getText: ") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err = m.node(t, nil, inspector, "--cli", m.base+"/mcp", "--transport", "http", "--method", "tools/list"); err == nil {
		t.Errorf("without a token: %s", out)
	}
}

// conforms are the scenarios of the protocol's suite that apply. The others call tools,
// resources and prompts of a server that was made for the suite (test_simple_text,
// test://static-text and so on), or ask the client something, which no server without
// state can.
var conforms = []string{"server-initialize", "ping", "tools-list", "logging-set-level", "dns-rebinding-protection", "server-sse-multiple-streams", "server-sse-polling"}

// TestConformance runs the protocol's suite against the service. The suite has no
// tokens: a proxy adds one.
func TestConformance(t *testing.T) {
	need.All(t)
	t.Parallel()
	m := newModels(t)
	service, err := url.Parse(m.base)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(service)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+m.token)
	}})
	t.Cleanup(front.Close)
	for _, scenario := range conforms {
		out, err := m.node(t, nil, filepath.Join(m.packages, ".bin", "conformance"), "server", "--url", front.URL+"/mcp", "--scenario", scenario)
		if err != nil || !strings.Contains(out, "Passed:") && !strings.Contains(out, "passed") {
			t.Errorf("%s: %v\n%s", scenario, err, out)
		}
	}
}

// TestModelsThatHangUp: a client that closes its connection ends its task, in whichever
// form it waits for the answer.
func TestModelsThatHangUp(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c, base := serve(t, filepath.Join(dir, "data"))
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	for name, meta := range map[string]string{"as JSON": ``, "as events": `,"_meta":{"progressToken":1}`} {
		t.Run(name, func(t *testing.T) {
			a := &agent{t: t, address: base, token: token, session: "new"}
			a.do(action{"wait": 0})
			t.Cleanup(func() { a.call("session", map[string]any{"do": "close", "id": a.session}) })
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"session":"` + a.session + `","actions":[{"open":"about:blank"},{"wait":29000}]}` + meta + `}}`
			ctx, hangUp := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, "POST", base+"/mcp", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if resp, err := alone.RoundTrip(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}()
			wait.Until(t, "the session runs the task", func() bool {
				busy, _ := a.call("session", map[string]any{"do": "list"})
				return strings.Contains(busy, "runs task")
			})
			began := time.Now()
			hangUp()
			<-ended
			a.do(action{"wait": 0})                               // it waits for its turn in the session
			if took := time.Since(began); took > 20*time.Second { // its task would take 29 s
				t.Errorf("the session is free after %v", took)
			}
		})
	}
}

// TestPersonsBoundModels: headers bound what a model's lists may do, and a header that
// says nothing that is known is refused.
func TestPersonsBoundModels(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c, base := serve(t, filepath.Join(dir, "data"))
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	shop := "http://demo.troupe.test"
	run := func(header map[string]string, actions ...any) (string, map[string]any) {
		a := &agent{t: t, address: base, token: token, header: header}
		return a.call("run", map[string]any{"actions": actions})
	}
	if text, facts := run(map[string]string{"Troupe-Sites": "shop.example.org, *.example.net"}, action{"open": shop + "/"}); facts["code"] != "site_not_allowed" || !strings.Contains(text, "may not leave its sites") {
		t.Errorf("another site: %v %s", facts, text)
	}
	if text, facts := run(map[string]string{"Troupe-Sites": "demo.troupe.test"}, action{"open": shop + "/"}); facts["ok"] != true {
		t.Errorf("its site: %s", text)
	}
	upload := []any{action{"open": shop + "/contact"}, action{"uploadFile": []any{"#file", shop + "/"}}}
	if text, facts := run(nil, upload...); facts["ok"] != false || !strings.Contains(text, "refuses uploads") {
		t.Errorf("an upload: %s", text)
	}
	if text, _ := run(map[string]string{"Troupe-Allow": "uploads"}, upload...); strings.Contains(text, "refuses uploads") {
		t.Errorf("an upload that is allowed: %s", text)
	}
	download := []any{action{"open": shop + "/"}, action{"evaluate": "const a = document.createElement('a'); a.href = URL.createObjectURL(new Blob(['text'])); a.download = 'list.txt'; a.click()"},
		action{"waitForDownload": map[string]any{"name": "list"}, "options": map[string]any{"timeout": 3000}}}
	if text, facts := run(nil, download...); facts["ok"] != false || strings.Contains(text, "/files/") {
		t.Errorf("a download: %s", text)
	}
	if text, facts := run(map[string]string{"Troupe-Allow": "downloads"}, download...); facts["ok"] != true || !strings.Contains(text, "list.txt") {
		t.Errorf("a download that is allowed: %s", text)
	}
	// A token with sites bounds models as it bounds everybody, whatever the headers say.
	code, bounded, stderr := play(t, "", "token", "create", "--account=local", "--sites=shop.example.org,*.example.net", "--data="+filepath.Join(dir, "data"))
	if code != 0 {
		t.Fatalf("%d %s", code, stderr)
	}
	a := &agent{t: t, address: base, token: strings.TrimSpace(bounded), header: map[string]string{"Troupe-Sites": "demo.troupe.test"}}
	if text, facts := a.call("run", map[string]any{"actions": []any{action{"open": shop + "/"}}}); facts["code"] != "site_not_allowed" {
		t.Errorf("a token of other sites: %v %s", facts, text)
	}
	if text, _ := a.call("validate", map[string]any{"actions": []any{action{"open": shop + "/"}}}); !strings.Contains(text, "the token allows only shop.example.org, *.example.net") {
		t.Errorf("a check with the token: %s", text)
	}
	if code, list, _ := play(t, "", "token", "list", "--data="+filepath.Join(dir, "data")); code != 0 || !strings.Contains(list, "shop.example.org *.example.net") {
		t.Errorf("the list of tokens: %s", list)
	}
	req, err := http.NewRequest("POST", base+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Troupe-Allow": "everything"} {
		req.Header.Set(name, value)
	}
	resp, err := alone.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(b), "want downloads or uploads") {
		t.Errorf("an unknown header: %d %s", resp.StatusCode, b)
	}
}

// TestModelsLook: what a model sees of a page, in pieces that fit what it asked for.
func TestModelsLook(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c, base := serve(t, filepath.Join(dir, "data"))
	a := &agent{t: t, address: base, token: tokenLine.FindStringSubmatch(c.out.String())[1], session: "new"}
	shop := "http://demo.troupe.test"

	text, facts := a.call("look", map[string]any{"url": shop + "/", "as": "markdown", "maxTokens": 200})
	if facts["ok"] != true || len(text) > 4*200+200 || !strings.Contains(text, `site="http://demo.troupe.test"`) || !strings.Contains(text, "Products") {
		t.Errorf("the beginning: %v %s", facts, text)
	}
	from, ok := facts["next"].(string)
	if !ok {
		t.Fatalf("there is no next: %v", facts)
	}
	rest, more := a.call("look", map[string]any{"url": shop + "/", "as": "markdown", "from": from, "maxTokens": 20000})
	if more["ok"] != true || more["next"] != nil || strings.Contains(rest, "# Products\n") || !strings.Contains(rest, "€") {
		t.Errorf("the rest: %v %s", more, rest)
	}
	if text, _ = a.call("look", map[string]any{"url": shop + "/", "as": "picture"}); strings.Contains(text, "refused") {
		t.Errorf("a picture: %s", text)
	}
	for arguments, want := range map[string]string{`{}`: `Give one of "session"`, `{"url":"a","session":"b"}`: `Give one of "session"`, `{"url":"x","as":"markdown","from":"y"}`: `"from" must be next`} {
		if text, _ = a.call("look", json.RawMessage(arguments)); !strings.Contains(text, want) {
			t.Errorf("%s: %s", arguments, text)
		}
	}
	a.do(action{"open": shop + "/login"})
	if !hasSnapshot {
		if text, _ = a.call("look", map[string]any{"session": a.session}); !strings.Contains(text, "no action snapshot") {
			t.Errorf("without snapshots: %s", text)
		}
		return
	}
	if !strings.HasPrefix(a.at("button", "Sign in").(string), "@e") {
		t.Errorf("the page after opening: %s", a.page)
	}
	text, _ = a.call("look", map[string]any{"session": a.session, "find": "sign in"})
	if !strings.Contains(text, `button "Sign in" [ref=e`) {
		t.Errorf("finding: %s", text)
	}
	a.do(action{"fill": []any{a.at("textbox", "User"), "ada"}}, action{"fill": []any{a.at("textbox", "Password"), "demo"}}, action{"click": a.at("button", "Sign in")})
	text, facts = a.call("run", map[string]any{"session": a.session, "actions": []any{action{"open": shop + "/?q=lamp"}}, "snapshot": "full", "maxTokens": 250})
	if facts["ok"] != true || len(text) > 4*250 {
		t.Errorf("a snapshot of 250 tokens has %d characters: %s", len(text), text)
	}
	if text, facts = a.call("run", map[string]any{"session": a.session, "actions": []any{action{"fill": []any{"#q", "chair"}}}}); facts["ok"] != true {
		t.Fatalf("filling: %s", text)
	}
	if text, facts = a.call("look", map[string]any{"session": a.session, "as": "diff"}); facts["ok"] != true || !strings.Contains(text, "chair") || strings.Contains(text, "Linen Lamp") && len(text) > 2000 {
		t.Errorf("a difference: %s", text)
	}
	if text, facts = a.call("run", map[string]any{"session": a.session, "actions": []any{action{"click": "#nothing", "options": action{"timeout": 100}}}, "snapshot": "interactive"}); facts["ok"] != false || !strings.Contains(text, "[ref=e") {
		t.Errorf("a failure without a look at the page: %s", text)
	}
}
