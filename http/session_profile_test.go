package http_test

import (
	"testing"
	"time"

	"troupe/actors"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit"
)

// TestSessionsWithProfiles: sessions wait for the profile of another session, as tasks do,
// or are refused at once; and what cannot be saved is said.
func TestSessionsWithProfiles(t *testing.T) {
	beside(t)
	var profiles *persistence.Profiles
	k := testkit.New(t, testkit.Options{Workers: 6, Config: func(c *actors.Config) {
		profiles = persistence.NewProfiles(c.Store, c.Seal)
		c.Profiles = profiles
	}})
	e := openServer(t, k.Node, func(c *http.Config) { c.Profiles = profiles })
	first := askSession(t, e, "POST", "/v1/sessions", `{"profile":"p"}`, 201).Session
	if no := askSession(t, e, "POST", "/v1/sessions", `{"profile":"p"}`, 409); no.Code != "profile_busy" {
		t.Errorf("a second writer: %+v", no)
	}
	if no := askSession(t, e, "POST", "/v1/", `{"profile":"p","session":{"preserve":true},"actions":[{"wait":1}]}`, 409); no.Code != "profile_busy" {
		t.Errorf("a second writer: %+v", no)
	}
	if all := askSession(t, e, "GET", "/v1/sessions", "", 200).Sessions; len(all) != 1 {
		t.Fatalf("refused ones have left %+v", all)
	}
	saved := askSession(t, e, "POST", "/v1/sessions/"+first.SessionID+"/save", `{}`, 200).Session
	if saved.Profile.Name != "p" || saved.Profile.Version != 1 || saved.Profile.SavedAt == "" {
		t.Errorf("saved as %+v", saved)
	}
	read := askSession(t, e, "POST", "/v1/sessions", `{"profile":{"name":"p","readonly":true}}`, 201).Session
	if !read.Profile.Readonly || read.Profile.Version != 1 {
		t.Errorf("one that reads: %+v", read)
	}
	waits := make(chan sessionAnswer, 1)
	go func() { waits <- askSession(t, e, "POST", "/v1/sessions", `{"profile":"p","queueTimeout":60000}`, 201) }()
	select {
	case a := <-waits:
		t.Fatalf("a second writer did not wait: %+v", a)
	case <-time.After(200 * time.Millisecond):
	}
	askSession(t, e, "DELETE", "/v1/sessions/"+first.SessionID, "", 200)
	if next := (<-waits).Session; next.Profile.Version < 1 || next.Profile.Lost != "" {
		t.Errorf("the one that has waited: %+v", next)
	}
	plain := askSession(t, e, "POST", "/v1/", `{"session":{"preserve":true},"actions":[{"wait":1}]}`, 200).SessionID
	for _, id := range []string{read.SessionID, plain} {
		if no := askSession(t, e, "POST", "/v1/sessions/"+id+"/save", `{}`, 400); no.Code != "invalid_request" {
			t.Errorf("%s is saved: %+v", id, no)
		}
	}
	askSession(t, e, "POST", "/v1/sessions/none/save", `{}`, 404)
}
