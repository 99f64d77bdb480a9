package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
)

// withFlows keeps flows in memory.
func withFlows(t *testing.T) (func(*http.Config), *persistence.Flows) {
	store := persistence.NewMemory()
	t.Cleanup(func() { store.Close() })
	f := persistence.NewFlows(store)
	return func(c *http.Config) { c.Flows = f }, f
}

// TestFlows: a flow is stored in versions, read, listed, run and deleted, each account
// its own.
func TestFlows(t *testing.T) {
	beside(t)
	var ran []*engine.Task
	with, _ := withFlows(t)
	e := openServer(t, &fakeActors{execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		ran = append(ran, m.Task)
		return &api.Executed{TaskID: m.TaskID, Outcome: &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(`1`)}}, nil
	}}, with)
	want := func(method, path, token, body string, status int, parts ...string) {
		t.Helper()
		got, text := call(t, e, method, path, token, body)
		if got != status {
			t.Errorf("%s %s: %d %s, want %d", method, path, got, text, status)
		}
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s %s: %s\nhas no %s", method, path, text, part)
			}
		}
		documented(t, method, path, got, "application/json", []byte(text))
	}
	const first = `{"description":"Says hello","parameters":{"name":{"required":true},"loud":{"type":"boolean","default":false}},"result":{"type":"string"},"actions":[{"wait":250},{"return":"hello ${name}"}]}`
	want("GET", "/v1/flows", "good", "", 200, `"flows":[]`)
	want("PUT", "/v1/flows/hello", "good", first, 200, `"name":"hello"`, `"version":1`, `"actions":2`, `"worstCase":250`, `"warnings":[]`)
	want("PUT", "/v1/flows/hello", "good", `{"actions":[{"run":"other"}]}`, 400, "/actions/0/run", `there is no flow \"other\"`)
	want("PUT", "/v1/flows/hello", "good", `{"actions":[{"run":"hello"}]}`, 400, `a flow cannot run itself: hello > hello`)
	want("PUT", "/v1/flows/hello", "good", `{"actions":[{"return":"${nmae}"}],"parameters":{"name":{}}}`, 200, `"version":2`, `"path":"/actions/0"`, "did you mean")
	want("PUT", "/v1/flows/hello", "good", `{"parameters":{"a.b":{},"this":{},"n":{"type":"numer","required":1},"s":{"secret":true,"default":"x"},"d":{"type":"number","default":"x"},"r":{"required":true,"default":"x"}},"actions":[{"clik":"a"}],"extra":1}`, 400,
		"/parameters/a.b", "/parameters/this", `did you mean \"number\"`, "/parameters/s/default", "want a default that is a number", "want required or a default", "/actions/0/clik", `a flow has no field \"extra\"`)
	want("PUT", "/v1/flows/hello", "good", `{"actions":[{"fill":["#a","${secret:x}"]},{"open":"http://a.example/${secret:x}"}]}`, 400, "/actions/1/open")
	want("PUT", "/v1/flows/a%20b", "good", first, 400, "want a name")
	want("PUT", "/v1/flows/hello@3", "good", first, 400, "want a name")
	want("PUT", "/v1/flows/hello", "good", `{"actions":[]}`, 400, "at least one action")
	want("PUT", "/v1/flows/hello", "good", `{`, 400, "not valid JSON")
	want("PUT", "/v1/flows/large", "good", `{"description":"`+strings.Repeat("x", engine.MaxFlow)+`"}`, 413, "256 KiB")
	want("PUT", "/v1/flows/outer", "good", `{"parameters":{"who":{}},"actions":[{"run":"hello@1","with":{"name":"${who}"}}]}`, 200, `"actions":3`, `"worstCase":250`)
	want("PUT", "/v1/flows/hello", "good", `{"actions":[{"run":"outer"}]}`, 400, "a flow cannot run itself: hello > outer > hello")

	want("GET", "/v1/flows/hello", "good", "", 200, `"version":2`, `"versions":[1,2]`, `"storedBy":{"via":"http"`)
	want("GET", "/v1/flows/hello@1", "good", "", 200, `"version":1`, `"description":"Says hello"`, `"actions":[{"wait":250},{"return":"hello ${name}"}]`, `"result":{"type":"string"}`)
	want("GET", "/v1/flows/hello@3", "good", "", 404, `There is no flow \"hello@3\"`)
	want("GET", "/v1/flows/hello", "small", "", 404, `There is no flow \"hello\"`)
	want("GET", "/v1/flows", "good", "", 200, `"name":"hello"`, `"name":"outer"`, `"parameters":{"who":{}}`)
	if _, text := call(t, e, "GET", "/v1/flows", "good", ""); strings.Contains(text, `"actions"`) {
		t.Errorf("the list has the actions: %s", text)
	}

	want("POST", "/v1/validate", "good", `{"actions":[{"run":"outer","with":{"who":"ada"}},{"wait":50}]}`, 200, `"valid":true`, `"actions":5`, `"worstCase":300`)
	want("POST", "/v1/validate", "good", `{"actions":[{"run":"outer","with":{"whom":"ada"}}]}`, 200, `"valid":false`, "/actions/0/with/whom", `did you mean \"who\"?`)
	want("POST", "/v1/", "good", `{"actions":[{"run":"hello@1"}]}`, 400, `the flow \"hello@1\" needs the parameter \"name\", a string`)
	want("POST", "/v1/", "small", `{"actions":[{"run":"hello"}]}`, 400, `there is no flow \"hello\"`)
	want("POST", "/v1/", "good", `{"actions":[{"run":"outer","with":{"who":"ada"}}]}`, 200)
	if len(ran) != 1 || fmt.Sprint(len(ran[0].Flows())) != "2" {
		t.Fatalf("%d tasks ran", len(ran))
	}
	// A task has its flows with it, whatever becomes of the stored ones.
	want("DELETE", "/v1/flows/hello", "small", "", 404)
	want("DELETE", "/v1/flows/hello", "good", "", 200, `"name":"hello"`)
	want("DELETE", "/v1/flows/hello", "good", "", 404)
	want("DELETE", "/v1/flows/hello@1", "good", "", 404)
	want("POST", "/v1/", "good", `{"actions":[{"run":"outer","with":{"who":"ada"}}]}`, 400, `the flow \"outer@1\" cannot run here`, `there is no flow \"hello@1\"`)
	wire, err := json.Marshal(ran[0])
	if err != nil {
		t.Fatal(err)
	}
	again := new(engine.Task)
	if err := json.Unmarshal(wire, again); err != nil || len(again.Flows()) != 2 || again.Review(engine.DefaultTimeout).Actions != 4 {
		t.Errorf("the task is read again as %+v: %v", again, err)
	}
}

// TestFlowLimits: what an account has no room for is refused for good.
func TestFlowLimits(t *testing.T) {
	beside(t)
	with, f := withFlows(t)
	e := openServer(t, &fakeActors{}, with)
	for i := range persistence.MaxFlows {
		if _, err := f.Put(context.Background(), "acc1", persistence.Flow{Name: fmt.Sprint("f", i), Source: []byte(`{"actions":[{"wait":1}]}`)}); err != nil {
			t.Fatal(err)
		}
	}
	status, text := call(t, e, "PUT", "/v1/flows/more", "good", `{"actions":[{"wait":1}]}`)
	if status != 403 || !strings.Contains(text, `"code":"flow_limit"`) || !strings.Contains(text, `"retryable":false`) || !strings.Contains(text, "at most 200 flows") {
		t.Errorf("one more: %d %s", status, text)
	}
	documented(t, "PUT", "/v1/flows/more", status, "application/json", []byte(text))
	if status, text := call(t, e, "PUT", "/v1/flows/f1", "good", `{"actions":[{"wait":1}]}`); status != 200 || !strings.Contains(text, `"version":2`) {
		t.Errorf("another version: %d %s", status, text)
	}
}

// TestFlowsWithoutStore: what a service without flows says.
func TestFlowsWithoutStore(t *testing.T) {
	beside(t)
	e := openServer(t, &fakeActors{})
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		if status, text := call(t, e, method, "/v1/flows/a", "good", `{}`); status != 404 {
			t.Errorf("%s: %d %s", method, status, text)
		}
	}
	if status, text := call(t, e, "POST", "/v1/", "good", `{"actions":[{"run":"a"}]}`); status != 400 || !strings.Contains(text, "no flows are stored here") {
		t.Errorf("a task: %d %s", status, text)
	}
}
