package http_test

import (
	"context"
	"encoding/json"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"

	"troupe/http"
	"troupe/http/admin"
	"troupe/persistence"
	"troupe/testkit"
)

// TestSitesOfTokens: whatever way a task comes, the engine gets it with the sites of its
// token, and another token's without. The answers about tokens and about what is only
// checked name them.
//
// Promise: A token that names sites opens no others (docs/api.md#sites).
func TestSitesOfTokens(t *testing.T) {
	beside(t)
	played := make(chan []string, 100)
	eng := testkit.NewEngine()
	eng.Default = func(c testkit.Call) testkit.Script {
		if len(c.Task.Steps) > 0 {
			played <- c.Task.Bound()
		}
		return testkit.Script{}
	}
	k := testkit.New(t, testkit.Options{Workers: 2, Engine: eng})
	accounts := persistence.NewAccounts(k.Store)
	e := openServer(t, k.Node, func(c *http.Config) {
		c.Auth, c.Tokens, c.Live, c.Admin = accounts, accounts, k.Node, &admin.Admin{Accounts: accounts, Actors: k.Node}
	})
	ops := tokenOf(t, accounts.CreateOperator, accounts, "ops", "pro")
	create := func(body string) (token string) {
		t.Helper()
		status, text := call(t, e, "POST", "/v1/operator/token/create", ops, body)
		documented(t, "POST", "/v1/operator/token/create", status, "application/json", []byte(text))
		var made struct{ Result struct{ Token string } }
		if err := json.Unmarshal([]byte(text), &made); err != nil || status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		return made.Result.Token
	}
	sites := []string{"shop.test", "*.example.org"}
	bounded, free := create(`{"account":"ada","plan":"pro","sites":["shop.test","*.example.org"]}`), create(`{"account":"ada"}`)
	if status, text := call(t, e, "POST", "/v1/operator/token/create", ops, `{"account":"ada","sites":["shop.test/path"]}`); status != 409 || !strings.Contains(text, "is not a site") {
		t.Errorf("a wrong site: %d %s", status, text)
	}

	if status, text := call(t, e, "POST", "/v1/operator/token/create", ops, `{"account":"ada","sites":[]}`); status != 409 || !strings.Contains(text, "list of sites is empty") {
		t.Errorf("no site: %d %s", status, text)
	}

	const list = `"actions":[{"wait":1}]`
	for name, way := range map[string]struct {
		path, body string
		status     int
	}{
		"a task":              {"/v1/", `{` + list + `}`, 200},
		"a wider list":        {"/v1/", `{` + list + `,"config":{"sites":["else.test","shop.test"]}}`, 200},
		"an asynchronous one": {"/v1/", `{` + list + `,"async":true}`, 200},
		"a queued one":        {"/v1/", `{` + list + `,"queue":true}`, 202},
		"one in a session":    {"/v1/", `{` + list + `,"session":{"preserve":true}}`, 200},
		"a batch":             {"/v1/batches", `{"task":{` + list + `},"items":[{"n":1}]}`, 202},
		"a schedule":          {"/v1/schedules", `{"every":10000,"task":{` + list + `}}`, 201},
		"a model":             {"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{` + list + `}}}`, 200},
	} {
		for token, want := range map[string][]string{bounded: sites, free: nil} {
			req, err := nethttp.NewRequestWithContext(context.Background(), "POST", "http://"+e.addr+way.path, strings.NewReader(way.body))
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
				req.Header.Set(k, v)
			}
			res, err := alone.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			var a struct {
				SessionID string
				Schedule  struct{ ScheduleID string }
			}
			_ = json.NewDecoder(res.Body).Decode(&a)
			res.Body.Close()
			if res.StatusCode != way.status {
				t.Errorf("%s: %d", name, res.StatusCode)
				continue
			}
			if a.Schedule.ScheduleID != "" {
				if status, text := call(t, e, "POST", "/v1/schedules/"+a.Schedule.ScheduleID+"/run", token, `{}`); status != 200 {
					t.Errorf("%s: %d %s", name, status, text)
				}
				if status, text := call(t, e, "DELETE", "/v1/schedules/"+a.Schedule.ScheduleID, token, ""); status != 200 {
					t.Errorf("%s: %d %s", name, status, text)
				}
			}
			if got := <-played; !slices.Equal(got, want) {
				t.Errorf("%s is played within %v, want %v", name, got, want)
			}
			if a.SessionID != "" { // the next way needs a worker
				if status, text := call(t, e, "POST", "/v1/", token, `{"session":{"id":"`+a.SessionID+`","close":true}}`); status != 200 {
					t.Errorf("%s: %d %s", name, status, text)
				}
			}
		}
	}

	for token, want := range map[string]string{
		bounded: `"warnings":[{"path":"/config/sites/0","message":"no page can be from else.test: the token allows only shop.test, *.example.org"},{"path":"/actions/0","message":"ends the task with site_not_allowed: the token allows only shop.test, *.example.org"}]`,
		free:    `"warnings":[]`,
	} {
		status, text := call(t, e, "POST", "/v1/validate", token, `{"config":{"sites":["else.test"]},"actions":[{"open":"http://else.test/"}]}`)
		documented(t, "POST", "/v1/validate", status, "application/json", []byte(text))
		if status != 200 || !strings.Contains(text, want) || strings.Contains(text, `"sites":["shop.test","*.example.org"]`) != (token == bounded) {
			t.Errorf("%d %s", status, text)
		}
	}
	status, text := call(t, e, "GET", "/v1/tokens", free, "")
	documented(t, "GET", "/v1/tokens", status, "application/json", []byte(text))
	if status != 200 || strings.Count(text, `"sites":["shop.test","*.example.org"]`) != 1 {
		t.Errorf("%d %s", status, text)
	}
}
