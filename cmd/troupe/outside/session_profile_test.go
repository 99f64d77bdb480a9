package outside_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// profileSession is what is read of a session with a profile.
type profileSession struct {
	Code, Error string
	Session     struct {
		SessionID, WorkerID string
		Profile             struct {
			Name, SavedAt, Lost string
			Version             int
			Readonly            bool
		}
	}
}

// sessionsOf asks a service for sessions.
type sessionsOf struct {
	t           *testing.T
	base, token string
}

func (s *sessionsOf) ask(method, path, body string, want int, parts ...string) (a profileSession) {
	s.t.Helper()
	got, text, err := sendTo(method, s.base+path, s.token, body)
	if err != nil || got != want || json.Unmarshal([]byte(text), &a) != nil && strings.HasPrefix(path, "/v1/sessions/") {
		s.t.Fatalf("%s %s %s: %d %s %v, want %d", method, path, body, got, text, err, want)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			s.t.Errorf("%s %s: %s\nhas no %s", method, path, text, part)
		}
	}
	return a
}

// visits plays a list in a session that adds one to what the site keeps.
func (s *sessionsOf) visits(id, site, want string) {
	s.t.Helper()
	s.ask("POST", "/v1/", fmt.Sprintf(`{"session":{"id":%q},"timeout":60000,"queueTimeout":60000,"actions":[{"open":%q},{"evaluate":%s}]}`, id, site, quoted(countsVisits)), 200, `"data":"`+want+`"`)
}

// TestProfileInSession: a session begins with what its profile has and saves it, one writer
// at a time, through a kill of the service. Its sites hold there as well.
//
// Promise: A session with a profile saves it, and has its right to save it again after a
// restart (docs/profiles.md#in-a-session).
func TestProfileInSession(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	data, site := t.TempDir(), shop(t).URL
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	code, token, stderr := play(t, "", "token", "create", "--account=ada", "--plan=pro", "--data="+data)
	if code != 0 {
		t.Fatal(stderr)
	}
	c, base := serve(t, data, "--workers=4", "--allow-private")
	s := &sessionsOf{t, base, strings.TrimSpace(token)}

	first := s.ask("POST", "/v1/sessions", `{"profile":"p","queueTimeout":60000,"config":{"sites":["127.0.0.1"]}}`, 201, `"profile":{"name":"p"}`).Session
	s.visits(first.SessionID, site, "1,1,1")
	s.ask("POST", "/v1/sessions", `{"profile":"p"}`, 409, `"profile_busy"`)
	s.ask("POST", "/v1/", fmt.Sprintf(`{"profile":"p","actions":[{"open":%q}]}`, site), 409, `"profile_busy"`)
	s.ask("POST", "/v1/sessions", `{"queueTimeout":60000,"profile":{"name":"p","readonly":true}}`, 404, `"profile_not_found"`)
	s.ask("POST", "/v1/", fmt.Sprintf(`{"profile":"p","session":{"id":%q},"actions":[{"wait":1}]}`, first.SessionID), 400, `"/profile"`)
	for range 2 { // nothing has changed at the second
		if p := s.ask("POST", "/v1/sessions/"+first.SessionID+"/save", "", 200).Session.Profile; p.Version != 1 || p.SavedAt == "" {
			t.Errorf("saved as %+v", p)
		}
	}
	s.ask("DELETE", "/v1/profiles/p", "", 409, `"profile_busy"`)
	s.ask("GET", "/v1/profiles", "", 200, `"sessionId":"`+first.SessionID+`"`, `"writer":"`+first.SessionID+`"`)
	read := s.ask("POST", "/v1/sessions", `{"queueTimeout":60000,"profile":{"name":"p","readonly":true}}`, 201, `"readonly":true,"version":1`).Session
	s.visits(read.SessionID, site, "2,2,2")
	s.ask("POST", "/v1/sessions/"+read.SessionID+"/save", "", 400, "only reads")
	s.ask("DELETE", "/v1/sessions/"+read.SessionID, "", 200)
	s.visits(first.SessionID, site, "2,2,2")

	_ = c.Process.Kill()
	_ = c.end(t, hang)
	c, s.base = serve(t, data, "--workers=4", "--allow-private")
	until(t, "the session goes on", func() bool {
		status, text, _ := sendTo("GET", s.base+"/v1/sessions/"+first.SessionID, s.token, "")
		return status == 200 && strings.Contains(text, `"reserved"`)
	})
	if p := s.ask("GET", "/v1/sessions/"+first.SessionID, "", 200).Session.Profile; p.Name != "p" || p.Version != 1 || p.Lost != "" {
		t.Errorf("after the kill its profile is %+v", p)
	}
	s.ask("GET", "/v1/profiles", "", 200, `"version":1`, `"writer":"`+first.SessionID+`"`)
	// Databases come back as the profile has them, the rest as the session was.
	s.visits(first.SessionID, site, "3,3,2")
	s.ask("POST", "/v1/", fmt.Sprintf(`{"session":{"id":%q},"queueTimeout":60000,"actions":[{"open":%q}]}`, first.SessionID, elsewhere), 200, `"site_not_allowed"`)
	s.ask("POST", "/v1/sessions", `{"profile":"p"}`, 409, `"profile_busy"`)
	s.ask("DELETE", "/v1/sessions/"+first.SessionID, "", 200)

	s.ask("POST", "/v1/", fmt.Sprintf(`{"profile":"p","session":{"preserve":true},"queueTimeout":60000,"actions":[{"open":%q},{"evaluate":%s}]}`, site, quoted(countsVisits)), 200, `"data":"4,4,3"`, `"sessionId"`)
	s.ask("GET", "/v1/sessions", "", 200, `"profile":{"name":"p","version":2}`)
	_ = c.Process.Kill() // what was saved last stays, and nothing that came after it
	_ = c.end(t, hang)
	_, s.base = serve(t, data, "--workers=4", "--allow-private")
	s.ask("GET", "/v1/profiles/p", "", 200, `"name":"visits","value":"3"`)
	s.ask("GET", "/v1/profiles", "", 200, `"version":2`)
}

// TestProfileSessionMoves: a session that goes on at another node has the right to save its
// profile there.
func TestProfileSessionMoves(t *testing.T) {
	need.All(t)
	t.Parallel()
	g := newTestCluster(t, 2, 2, 0)
	site := shop(t).URL
	first, second := &sessionsOf{t, g.nodes[0].base, g.token}, &sessionsOf{t, g.nodes[1].base, g.token}
	s := first.ask("POST", "/v1/sessions", `{"profile":"p","queueTimeout":60000}`, 201).Session
	first.visits(s.SessionID, site, "1,1,1")
	second.ask("POST", "/v1/sessions/"+s.SessionID+"/save", "", 200)
	until(t, "the other node shows the version", func() bool {
		return second.ask("GET", "/v1/sessions/"+s.SessionID, "", 200).Session.Profile.Version == 1
	})
	second.ask("POST", "/v1/sessions", `{"profile":"p"}`, 409, `"profile_busy"`)
	first.visits(s.SessionID, site, "2,2,2")
	g.kill(g.nodes[0])
	var text string
	g.until("the session goes on at the other node", func() bool {
		var status int
		status, text, _ = post(second.base, g.token, fmt.Sprintf(`{"session":{"id":%q},"timeout":60000,"actions":[{"open":%q},{"evaluate":%s}]}`, s.SessionID, site, quoted(countsVisits)))
		return status == 200 && !strings.Contains(text, `"worker_lost"`) // as for a task that was sent to the dead node
	})
	if !strings.Contains(text, `"restored":true`) || !strings.Contains(text, `"data":"3,3,2"`) {
		t.Errorf("it goes on with %s", text)
	}
	if p := second.ask("POST", "/v1/sessions/"+s.SessionID+"/save", "", 200).Session.Profile; p.Version != 2 || p.Lost != "" {
		t.Errorf("saved there as %+v", p)
	}
	second.ask("POST", "/v1/sessions", `{"profile":"p"}`, 409, `"profile_busy"`)
	if _, list, _ := sendTo("GET", second.base+"/v1/sessions", g.token, ""); strings.Count(list, s.SessionID+`","workerId"`) != 1 {
		t.Errorf("the sessions are %s", list)
	}
	second.ask("DELETE", "/v1/sessions/"+s.SessionID, "", 200)
	second.ask("POST", "/v1/sessions", `{"profile":"p","queueTimeout":60000}`, 201, `"version":2`)
}
