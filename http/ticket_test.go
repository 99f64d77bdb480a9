package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
)

// TestTickets: a ticket opens the events of its task, and nothing else.
func TestTickets(t *testing.T) {
	beside(t)
	c := &fakeActors{
		poll: func(_ context.Context, m *api.Poll) (*api.Polled, error) {
			if m.Account.ID != "acc1" {
				return &api.Polled{Refusal: noTask}, nil
			}
			return &api.Polled{Status: api.TaskComplete, Executed: done(&api.Execute{TaskID: m.TaskID})}, nil
		},
		follow: func(_ context.Context, m *api.Follow) (*api.Followed, error) {
			if m.Account.ID != "acc1" {
				return &api.Followed{Refusal: noTask}, nil
			}
			return &api.Followed{Status: api.TaskComplete}, nil
		},
		list: []api.WorkerInfo{{ID: "w1", Name: "shared"}, {ID: "w2", Name: "own", Owner: "acc1"}, {ID: "w3", Name: "held", Session: "sess_1"}},
	}
	e := openServer(t, c, func(cfg *http.Config) { cfg.Origins = []string{"https://console.example"} })
	type made struct{ ID, Ticket, ExpiresAt string }
	issue := func(token, body string) (int, problem, made) {
		t.Helper()
		req, err := nethttp.NewRequest("POST", "http://"+e.addr+"/v1/tickets", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		r, err := alone.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if r.StatusCode != 200 {
			return r.StatusCode, judge(t, r), made{}
		}
		var m made
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Fatal(err)
		}
		return 200, problem{}, m
	}
	get := func(path string, headers ...string) int {
		t.Helper()
		status, _, _ := e.ask(t, "GET "+path, append([]string{"Host: test"}, headers...)...)
		return status
	}
	status, p, own := issue("good", `{"object":"task_1","ttl":60000}`)
	if at, err := time.Parse(time.RFC3339Nano, own.ExpiresAt); status != 200 || err != nil || time.Until(at) > time.Minute || time.Until(at) < 50*time.Second {
		t.Fatalf("%d %+v %+v", status, p, own)
	}
	events := func(ticket string) string { return "/v1/tasks/task_1/events?ticket=" + ticket }
	if got := get(events(own.Ticket)); got != 200 {
		t.Errorf("with the ticket: %d", got)
	}
	if got := get(events(own.Ticket), "Origin: https://console.example"); got != 200 {
		t.Errorf("from an origin that is allowed: %d", got)
	}
	if got := get(events(own.Ticket), "Origin: https://attacker.example"); got != 403 {
		t.Errorf("from another origin: %d", got)
	}
	// For nothing else, and in no other way.
	for _, path := range []string{"/v1/tasks/task_2/events?ticket=" + own.Ticket, events("good"), "/v1/workers?ticket=" + own.Ticket, "/v1/get-result?taskId=task_1&ticket=" + own.Ticket, "/v1/usage?ticket=" + own.Ticket} {
		if got := get(path); got != 401 {
			t.Errorf("%s: %d", path, got)
		}
	}
	if got := get("/v1/workers", "Authorization: Bearer "+own.Ticket); got != 401 {
		t.Errorf("as a token: %d", got)
	}
	if status, _, _ := e.ask(t, "DELETE /v1/tasks/task_1?ticket="+own.Ticket, "Host: test"); status != 401 {
		t.Errorf("to cancel: %d", status)
	}
	if status, _, _ := e.ask(t, "POST /v1/?ticket="+own.Ticket, "Host: test", "Content-Length: 0"); status != 401 {
		t.Errorf("to play: %d", status)
	}

	for body, want := range map[string]string{
		`[]`: "not an object", `{}`: "object is missing", `{"object":7}`: "object wants", `{"object":"../x"}`: "object wants", `{"object":"task_1","ttl":1}`: "ttl wants milliseconds from 1000 to 900000",
		`{"object":"task_1","ttl":900001}`: "ttl wants", `{"object":"task_1","ttl":"1000"}`: "ttl wants", `{"object":"task_1","scope":"all"}`: `no field "scope"`,
	} {
		if status, p, _ := issue("good", body); status != 400 || !strings.Contains(p.Error, want) {
			t.Errorf("%s: %d %+v", body, status, p)
		}
	}
	for range 20 { // in one order, whatever that of a map is
		_, p, _ := issue("good", `{"scope":"all","ttl":1,"object":7}`)
		if len(p.Details) != 3 || p.Details[0].Path != "/object" || p.Details[1].Path != "/scope" || p.Details[2].Path != "/ttl" {
			t.Fatalf("three faults: %+v", p)
		}
	}
	for object, want := range map[string]int{"sess_1": 200, "w2": 200, "w3": 200, "w1": 404, "sess_2": 404, "w9": 404} {
		if status, _, _ := issue("good", fmt.Sprintf(`{"object":%q}`, object)); status != want {
			t.Errorf("a ticket for %s: %d", object, status)
		}
	}
	if status, p, _ := issue("small", `{"object":"task_1"}`); status != 404 || p.Code != string(engine.CodeNotFound) {
		t.Errorf("a ticket for somebody else's task: %d %+v", status, p)
	}

	revoke := func(token string) int {
		status, _, _ := e.ask(t, "DELETE /v1/tickets/"+own.ID, "Host: test", "Authorization: Bearer "+token)
		return status
	}
	if got := revoke("small"); got != 404 || get(events(own.Ticket)) != 200 {
		t.Errorf("revoked by somebody else: %d", got)
	}
	if got := revoke("good"); got != 200 || get(events(own.Ticket)) != 401 || revoke("good") != 404 {
		t.Errorf("revoked: %d", got)
	}

	_, _, brief := issue("good", `{"object":"task_1","ttl":1000}`)
	at, err := time.Parse(time.RFC3339Nano, brief.ExpiresAt)
	if got := get(events(brief.Ticket)); err != nil || got != 200 && time.Now().Before(at) {
		t.Errorf("a brief ticket until %v: %d, %v", at, got, err)
	}
	eventually(t, "its time is over", func() bool { return get(events(brief.Ticket)) != 200 })
}
