package http_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"troupe/actors"
	"troupe/http"
	"troupe/http/admin"
	"troupe/persistence"
	"troupe/testkit"
)

// TestSitesAreCarried: what a token with sites writes carries them. Such a token reads, starts,
// changes and uses only what carries the same sites or fewer, and lists nothing else. A token
// without sites sees them in the answers.
//
// Promise: A token with sites uses only schedules, batches, flows and profiles of its sites (docs/operations.md#tokens-with-sites).
func TestSitesAreCarried(t *testing.T) {
	beside(t)
	store := persistence.NewMemory()
	t.Cleanup(func() { store.Close() })
	seal, err := persistence.NewSeal(bytes.Repeat([]byte{3}, 32))
	if err != nil {
		t.Fatal(err)
	}
	flows, profiles := persistence.NewFlows(store), persistence.NewProfiles(store, seal)
	k := testkit.New(t, testkit.Options{Workers: 2, Config: func(c *actors.Config) { c.Store, c.Seal, c.Profiles = store, seal, profiles }})
	accounts := persistence.NewAccounts(store)
	e := openServer(t, k.Node, func(c *http.Config) {
		c.Auth, c.Tokens, c.Live, c.Flows, c.Profiles = accounts, accounts, k.Node, flows, profiles
		c.Admin = &admin.Admin{Accounts: accounts, Actors: k.Node}
	})
	ops := tokenOf(t, accounts.CreateOperator, accounts, "ops", "pro")
	tokens := map[string]string{}
	for name, sites := range map[string]string{"any": ``, "wide": `,"sites":["shop.test","*.example.org"]`, "narrow": `,"sites":["shop.test"]`, "inner": `,"sites":["a.example.org"]`} {
		status, text := call(t, e, "POST", "/v1/operator/token/create", ops, `{"account":"ada","plan":"pro"`+sites+`}`)
		var made struct{ Result struct{ Token string } }
		if err := json.Unmarshal([]byte(text), &made); err != nil || status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		tokens[name] = made.Result.Token
	}
	// by lists the tokens that may use what each of them has written.
	by := map[string][]string{"any": {"any"}, "wide": {"any", "wide"}, "narrow": {"any", "wide", "narrow"}, "inner": {"any", "wide", "inner"}}
	said := map[string]string{"any": "", "wide": `"sites":["shop.test","*.example.org"]`, "narrow": `"sites":["shop.test"]`, "inner": `"sites":["a.example.org"]`}
	may := func(writer, reader string) bool {
		for _, name := range by[writer] {
			if name == reader {
				return true
			}
		}
		return false
	}
	const task = `{"actions":[{"wait":1}]}`
	made := map[string]map[string]string{} // what was written, by the token and the kind
	for writer, token := range tokens {
		ids := map[string]string{"flows": "flow-" + writer, "profiles": "profile-" + writer}
		for kind, body := range map[string]string{"flows": `{"actions":[{"wait":1}]}`, "profiles": `{"cookies":[]}`} {
			if status, text := call(t, e, "PUT", "/v1/"+kind+"/"+ids[kind], token, body); status/100 != 2 {
				t.Fatalf("%s: %d %s", kind, status, text)
			}
		}
		for kind, body := range map[string]string{"schedules": `{"every":3600000,"task":` + task + `}`, "batches": `{"task":` + task + `,"items":[{"n":1}]}`} {
			status, text := call(t, e, "POST", "/v1/"+kind, token, body)
			var a struct {
				Schedule struct{ ScheduleID string }
				Batch    struct{ BatchID string }
			}
			if err := json.Unmarshal([]byte(text), &a); err != nil || status/100 != 2 {
				t.Fatalf("%s: %d %s", kind, status, text)
			}
			ids[kind] = a.Schedule.ScheduleID + a.Batch.BatchID
			ended := "/v1/batches/" + a.Batch.BatchID + "?wait=20000"
			if kind == "batches" {
				call(t, e, "GET", ended, token, "")
			}
		}
		made[writer] = ids
	}
	for writer, ids := range made {
		for reader, token := range tokens {
			try := func(method, path, body string) {
				t.Helper()
				status, text := call(t, e, method, path, token, body)
				if p := path; p != "/v1/" && !strings.HasSuffix(p, "/failed") && !strings.HasSuffix(p, "/dropped") {
					documented(t, method, p, status, "application/json", []byte(text))
				}
				refused := strings.Contains(text, `"site_not_allowed"`)
				if may(writer, reader) == refused || refused && status != 403 && path != "/v1/" || !refused && status/100 != 2 && status != 400 {
					t.Errorf("%s %s, which %s has written, by %s: %d %s", method, path, writer, reader, status, text)
				}
				if method == "GET" && !refused && strings.Count(path, "/") == 3 && !strings.HasPrefix(path, "/v1/profiles") && !strings.Contains(text, said[writer]) {
					t.Errorf("%s, which %s has written, says %s", path, writer, text)
				}
			}
			try("GET", "/v1/flows/"+ids["flows"], "")
			try("GET", "/v1/profiles/"+ids["profiles"], "")
			try("GET", "/v1/schedules/"+ids["schedules"], "")
			try("POST", "/v1/schedules/"+ids["schedules"]+"/pause", "{}")
			try("POST", "/v1/schedules/"+ids["schedules"]+"/resume", "{}")
			try("POST", "/v1/schedules/"+ids["schedules"]+"/run", "{}")
			try("GET", "/v1/batches/"+ids["batches"], "")
			try("GET", "/v1/batches/"+ids["batches"]+"/failed", "")
			try("GET", "/v1/batches/"+ids["batches"]+"/dropped", "")
			try("POST", "/v1/batches/"+ids["batches"]+"/retry", "{}")
			try("POST", "/v1/", fmt.Sprintf(`{"actions":[{"run":%q}]}`, ids["flows"]))
			try("POST", "/v1/", fmt.Sprintf(`{"profile":{"name":%q,"readonly":true},"actions":[{"wait":1}]}`, ids["profiles"]))
			for kind, id := range ids {
				status, text := call(t, e, "GET", "/v1/"+kind, token, "")
				documented(t, "GET", "/v1/"+kind, status, "application/json", []byte(text))
				if status != 200 || strings.Contains(text, id) != may(writer, reader) {
					t.Errorf("the list of %s for %s, with what %s has written: %d %s", kind, reader, writer, status, text)
				}
			}
		}
	}
	// Who may not read may not overwrite or remove, and the last one removes all.
	for writer, ids := range made {
		for _, reader := range []string{"inner", "narrow", "wide", "any"} {
			for kind, body := range map[string]string{"flows": `{"actions":[{"wait":2}]}`, "profiles": `{"cookies":[]}`, "schedules": `{"every":3600000,"task":` + task + `}`} {
				if may(writer, reader) && reader != "any" {
					continue
				}
				for _, method := range []string{"PUT", "DELETE"} {
					status, text := call(t, e, method, "/v1/"+kind+"/"+ids[kind], tokens[reader], body)
					if refused := strings.Contains(text, `"site_not_allowed"`); may(writer, reader) == refused || refused && status != 403 || !refused && status/100 != 2 {
						t.Errorf("%s of the %s of %s by %s: %d %s", method, kind, writer, reader, status, text)
					}
				}
			}
		}
	}
}
