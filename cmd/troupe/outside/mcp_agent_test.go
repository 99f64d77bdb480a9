package outside_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"troupe/testkit/need"
	"troupe/testkit/npm"
)

// agent does jobs through the tools alone, by what a snapshot or an element says: its
// decisions are fixed, and by role and name.
type agent struct {
	t             *testing.T
	address       string
	token         string
	header        map[string]string
	session       string
	page          string // what the last snapshot said
	calls, tokens int
	references    int // that it pointed with
}

// call calls a tool.
func (a *agent) call(tool string, arguments any) (text string, facts map[string]any) {
	a.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
	if err != nil {
		a.t.Fatal(err)
	}
	req, err := http.NewRequest("POST", a.address+"/mcp", strings.NewReader(string(body)))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range a.header {
		req.Header.Set(name, value)
	}
	resp, err := alone.RoundTrip(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	var res struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent map[string]any
		}
		Error any
	}
	if err := json.NewDecoder(resp.Body).Decode(&res); err != nil || len(res.Result.Content) == 0 {
		a.t.Fatalf("%s: %d %v %v", tool, resp.StatusCode, err, res.Error)
	}
	a.calls++
	a.tokens += len(res.Result.Content[0].Text) / 4
	return res.Result.Content[0].Text, res.Result.StructuredContent
}

// do runs actions in the agent's session, and looks at the page where it can.
func (a *agent) do(actions ...any) string {
	a.t.Helper()
	arguments := map[string]any{"session": a.session, "actions": actions}
	if hasSnapshot {
		arguments["snapshot"] = "interactive"
	}
	text, facts := a.call("run", arguments)
	if facts["ok"] != true {
		a.t.Fatalf("%v: %s", actions, text)
	}
	a.page = text
	if id, ok := facts["session"].(string); ok {
		a.session = id
	}
	return text
}

// at points at an element by role and name: by the reference that the last snapshot gave
// it, where there is one.
func (a *agent) at(role, name string) any {
	line := regexp.MustCompile(`- ` + role + ` "` + regexp.QuoteMeta(name) + `"[^\n]*\[ref=(e[0-9]+)\]`)
	if m := line.FindStringSubmatch(a.page); m != nil {
		a.references++
		return "@" + m[1]
	}
	return map[string]any{"role": role, "name": name}
}

type action map[string]any

// job is something that an agent does once, and a flow often.
type job struct {
	page         string
	values       map[string]string // what becomes a parameter: as it is done first
	do           func(a *agent, v map[string]string) (last []any)
	want, result string            // of the first time; read from
	again        map[string]string // other values, and what comes of them
	wantAgain    string
}

var status = map[string]any{"role": "status"}

var jobs = []job{
	{page: "vue.html", values: map[string]string{"code": "TEN"}, want: "Total 540", again: map[string]string{"code": "OLD"}, wantAgain: "Total 600", do: func(a *agent, v map[string]string) []any {
		a.do(action{"click": a.at("button", "Add Lamp")}, action{"click": a.at("button", "Add Chair")}, action{"click": a.at("button", "Add Chair")})
		return []any{action{"fill": []any{a.at("textbox", "Code"), v["code"]}}, action{"click": a.at("button", "Apply")}}
	}},
	{page: "alpine.html", values: map[string]string{"name": "Ada"}, want: "Ada takes large", again: map[string]string{"name": "Bob"}, wantAgain: "Bob takes large", do: func(a *agent, v map[string]string) []any {
		a.do(action{"fill": []any{a.at("textbox", "Name"), v["name"]}}, action{"click": a.at("button", "Next")})
		return []any{action{"check": a.at("radio", "Large")}, action{"click": a.at("button", "Next")}}
	}},
	{page: "knockout.html", values: map[string]string{"task": "Buy milk"}, want: "2 tasks, the last is Buy milk", again: map[string]string{"task": "Call Bob"}, wantAgain: "2 tasks, the last is Call Bob", do: func(a *agent, v map[string]string) []any {
		a.do(action{"fill": []any{a.at("textbox", "New task"), v["task"]}})
		return []any{action{"click": a.at("button", "Add task")}}
	}},
	{page: "mithril.html", values: map[string]string{"by": "17"}, want: "At 34", again: map[string]string{"by": "4"}, wantAgain: "At 8", do: func(a *agent, v map[string]string) []any {
		a.do(action{"fill": []any{a.at("spinbutton", "Step"), v["by"]}})
		return []any{action{"click": a.at("button", "Count")}, action{"click": a.at("button", "Count")}}
	}},
	{page: "jquery.html", values: map[string]string{"words": "lamp"}, want: "2 found, the first is Oak Lamp", again: map[string]string{"words": "rug"}, wantAgain: "1 found, the first is Wool Rug", do: func(a *agent, v map[string]string) []any {
		return []any{action{"fill": []any{a.at("textbox", "Search"), v["words"]}}}
	}},
	{page: "preact.html", values: map[string]string{"note": "blue door"}, want: "1 kept: blue door", again: map[string]string{"note": "red roof"}, wantAgain: "1 kept: red roof", do: func(a *agent, v map[string]string) []any {
		return []any{action{"fill": []any{a.at("textbox", "Note"), v["note"]}}, action{"click": a.at("button", "Keep")}}
	}},
	{page: "sweetalert.html", values: map[string]string{"who": "Grace"}, result: "[role=note]", want: "Hello Grace", again: map[string]string{"who": "Alan"}, wantAgain: "Hello Alan", do: func(a *agent, v map[string]string) []any {
		a.do(action{"click": a.at("button", "Sign")}, action{"waitForElement": map[string]any{"role": "textbox", "name": "Name"}})
		return []any{action{"fill": []any{a.at("textbox", "Name"), v["who"]}}, action{"click": a.at("button", "OK")}}
	}},
	{page: "datatable.html", values: map[string]string{"item": "118"}, result: "tbody tr:first-child", want: "Item 118354", again: map[string]string{"item": "119"}, wantAgain: "Item 119357", do: func(a *agent, v map[string]string) []any {
		return []any{action{"fill": []any{a.at("searchbox", "Search:"), v["item"]}}}
	}},
	{page: "choices.html", values: map[string]string{"city": "Oslo"}, want: "Off to Oslo", again: map[string]string{"city": "Rome"}, wantAgain: "Off to Rome", do: func(a *agent, v map[string]string) []any {
		a.do(action{"click": ".ts-control"})
		return []any{action{"click": map[string]any{"role": "option", "name": v["city"]}}}
	}},
	{page: "quill.html", values: map[string]string{"text": "Dear all"}, want: "8 letters: Dear all", again: map[string]string{"text": "Hi"}, wantAgain: "2 letters: Hi", do: func(a *agent, v map[string]string) []any {
		return []any{action{"fill": []any{".ql-editor", v["text"]}}}
	}},
}

// replays is how often each flow is run: with either values in turn.
func replays() int {
	if need.Named() {
		return 20
	}
	return 4
}

// TestAgentDoesJobsOnce: an agent does ten jobs in applications from npm through the
// tools alone. Each is saved as a flow, which then runs without it, with other values: twenty
// times if a pattern names the test, and four times otherwise.
func TestAgentDoesJobsOnce(t *testing.T) {
	need.Registry(t)
	need.All(t)
	t.Parallel()
	packages, err := npm.Install(filepath.Join("..", "..", "..", "engine", "testdata", "apps"), filepath.Join("..", "..", "..", ".cache", "apps"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := txtar.ParseFile(filepath.Join("testdata", "mcp", "apps.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/npm/", http.StripPrefix("/npm/", http.FileServer(http.Dir(packages))))
	for _, f := range pages.Files {
		mux.HandleFunc("/"+f.Name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(f.Data)
		})
	}
	apps := httptest.NewServer(mux)
	t.Cleanup(apps.Close)
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c, base := serve(t, filepath.Join(dir, "data"), "--allow-private")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]

	references := 0
	for _, j := range jobs {
		name, _, _ := strings.Cut(j.page, ".")
		t.Run(name, func(t *testing.T) {
			a := &agent{t: t, address: base, token: token, session: "new", header: map[string]string{"Troupe-Sites": strings.TrimPrefix(apps.URL, "http://")}}
			t.Cleanup(func() { a.call("session", map[string]any{"do": "close", "id": a.session}) })
			a.do(action{"open": apps.URL + "/" + j.page})
			last := j.do(a, j.values)
			var result any = status
			if j.result != "" {
				result = j.result
			}
			if text := a.do(append(last, action{"getText": result})...); !strings.Contains(text, j.want) {
				t.Fatalf("the job gives %s\nwant %s", text, j.want)
			}
			text, facts := a.call("flow", map[string]any{"do": "save", "session": a.session, "name": name, "parameters": j.values})
			if facts["ok"] != true {
				t.Fatalf("saving: %s", text)
			}
			a.call("session", map[string]any{"do": "close", "id": a.session})
			t.Logf("%d calls, %d tokens, %d references", a.calls, a.tokens, a.references)
			references += a.references
			for i := range replays() {
				with, want := j.again, j.wantAgain
				if i%2 == 1 {
					with, want = j.values, j.want
				}
				b, _ := json.Marshal(with)
				status, got, err := post(base, token, fmt.Sprintf(`{"actions":[{"run":%q,"with":%s}],"queueTimeout":20000}`, name, b))
				if err != nil || status != 200 || !strings.Contains(got, `"success":true`) || !strings.Contains(got, want) {
					t.Fatalf("replay %d: %d %v %s\nwant %s", i, status, err, got, want)
				}
			}
		})
	}
	if hasSnapshot && references == 0 {
		t.Error("no job was done by references of snapshots")
	}
}
