package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"troupe/http/address"
)

// elsewhere are identifiers that would lead a path to something else.
var elsewhere = []string{
	"../flows/x", "..", ".", "../../admin", "x/../../flows/x", `..\flows\x`, "%2e%2e%2fflows%2fx", "..%2fflows/x", "x?y=1", "x#y",
	"/flows/x", "//flows/x", "x/", "x\x00", "x\ny", "..;/flows/x", " ", "x y", "../flows/x@1",
}

// texts are the arguments that name nothing of the service: they go into lists of actions.
var texts = map[string]bool{"url": true, "find": true, "from": true, "within": true, "description": true}

// TestIdentifiersOfModelsLeadNowhere: whatever a model gives as an identifier to whichever
// tool, no request is sent for another thing, and none leaves the prefix of the service.
func TestIdentifiersOfModelsLeadNowhere(t *testing.T) {
	const prefix = "/behind/a/prefix"
	tried := 0
	for _, one := range tools() {
		var schema struct {
			Properties map[string]struct {
				Type any
				Enum []string
			}
		}
		if err := json.Unmarshal([]byte(`{"properties":{`+one.input+`}}`), &schema); err != nil {
			t.Fatal(err)
		}
		does := schema.Properties["do"].Enum
		if len(does) == 0 {
			does = []string{""}
		}
		for name, p := range schema.Properties {
			if len(p.Enum) > 0 || !strings.Contains(fmt.Sprint(p.Type), "string") {
				continue
			}
			for _, do := range does {
				for _, evil := range elsewhere {
					a := map[string]any{name: evil}
					if do != "" {
						a["do"] = do
					}
					switch {
					case one.name == "run":
						a["actions"] = []any{map[string]any{"wait": 0}}
					case one.name == "look" && texts[name] && name != "url":
						a["session"] = "sess_1"
					case do == "save":
						for k, v := range map[string]string{"name": "kept", "session": "sess_1"} {
							if k != name {
								a[k] = v
							}
						}
					case do == "run" && name != "name":
						a["name"] = "kept"
					}
					if do == "save" && name == "name" {
						a["name"] = evil
					}
					tried++
					asked := requestsOf(t, prefix, one.name, a)
					for _, r := range asked {
						method, path, _ := strings.Cut(r, " ")
						path, _, _ = strings.Cut(path, "?")
						below, in := strings.CutPrefix(path, prefix)
						if !in || !address.Settled(path) {
							t.Fatalf("%s with %s sends %s", one.name, marshalled(a), r)
						}
						// A list of actions and the lists of what there is name nothing in their paths.
						named := below != "/v1/" && below != "/v1/flows" && below != "/v1/workers"
						if named && !texts[name] && !(do == "save" && name == "session") {
							t.Errorf("%s with %s sends %s", one.name, marshalled(a), r)
						}
						if method == http.MethodDelete {
							t.Errorf("%s with %s deletes %s", one.name, marshalled(a), path)
						}
					}
				}
			}
		}
	}
	if tried < 150 {
		t.Fatalf("%d identifiers were tried: the tools' arguments were not found", tried)
	}
}

func marshalled(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// requestsOf calls a tool, and returns the requests that reached the service's host.
func requestsOf(t *testing.T, prefix, tool string, arguments map[string]any) (asked []string) {
	t.Helper()
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.RequestURI)
		mu.Unlock()
		fmt.Fprint(w, `{"success":true,"status":"complete","taskId":"../flows/x","sessionId":"../flows/x","workers":[{"sessionId":"../flows/x"}],"flows":[],
			"steps":[{"actionPath":"0","action":"screenshot","success":true,"result":{"url":"http://x/files/.."}}]}`)
	}))
	defer srv.Close()
	at, err := url.Parse(srv.URL + prefix)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Service: &Remote{URL: at, Token: "secret"}, Journal: NewMemory(), Hold: testHold})
	if err := s.cfg.Journal.Change(t.Context(), "", "sess_1", func(k *Kept) { k.add([]KeptStep{{Action: json.RawMessage(`{"wait":0}`)}}) }); err != nil {
		t.Fatal(err)
	}
	for _, one := range tools() {
		if one.name != tool {
			continue
		}
		c := &call{Server: s, client: client{via: s.cfg.Service, header: http.Header{}}}
		if _, err := one.call(t.Context(), c, json.RawMessage(marshalled(arguments))); err != nil && strings.Contains(err.Error(), "connect") {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	return asked
}

// TestRemoteStaysBelowItsAddress: what the way to a service is asked for never leaves the
// address that a person has given, whatever made the request.
func TestRemoteStaysBelowItsAddress(t *testing.T) {
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.RequestURI) }))
	defer srv.Close()
	at, err := url.Parse(srv.URL + "/troupe")
	if err != nil {
		t.Fatal(err)
	}
	r := &Remote{URL: at, Token: "secret"}
	for path, goes := range map[string]bool{
		"/v1/flows": true, "/v1/": true, "/v1/get-result?taskId=a%2Fb": true, "/v1/flows/sign-in@3": true,
		"/../other": false, "/v1/../../other": false, "/v1/tasks/%2e%2e/%2e%2e/%2e%2e/x": false, "/v1/tasks/..%2f..%2f..%2fx": false, "/v1//flows": false, `/v1/..\x`: false,
	} {
		u, err := url.Parse("http://service" + path)
		if err != nil {
			t.Fatal(err)
		}
		asked = nil
		res, err := r.RoundTrip((&http.Request{Method: "GET", URL: u, Header: http.Header{}}).WithContext(t.Context()))
		if err == nil {
			res.Body.Close()
		}
		if (err == nil) != goes || goes != (len(asked) == 1) || goes && asked[0] != "/troupe"+path {
			t.Errorf("%s: %v, asked for %q", path, err, asked)
		}
	}
}
