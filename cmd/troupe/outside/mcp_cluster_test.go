package outside_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/testkit/need"
)

// TestAgentOutlivesANode: a model's session goes from node to node, and over the death
// of the one that had it, with all that can be saved of it.
func TestAgentOutlivesANode(t *testing.T) {
	need.All(t)
	t.Parallel()
	g := newTestCluster(t, 0, 1, 1)
	a := &agent{t: t, address: g.nodes[0].base, token: g.token, session: "new"}
	at, err := url.Parse(g.site.url)
	if err != nil {
		t.Fatal(err)
	}
	site := serveOn(t, at.Hostname(), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch user, err := r.Cookie("user"); {
		case r.Method == http.MethodPost:
			http.SetCookie(w, &http.Cookie{Name: "user", Value: r.FormValue("user"), HttpOnly: true, Path: "/"})
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case err != nil:
			fmt.Fprint(w, `<form method=post><label>User <input name=user></label><button>Sign in</button></form>`)
		default:
			fmt.Fprintf(w, `<h1>Hello %s</h1>`, user.Value)
		}
	})
	a.do(action{"open": site + "/"}, action{"fill": []any{action{"role": "textbox", "name": "User"}, "ada"}}, action{"click": action{"role": "button", "name": "Sign in"}}, action{"getText": "h1"})
	var list struct {
		Workers []struct{ WorkerID, SessionID string }
	}
	if err := json.Unmarshal([]byte(g.ask(g.nodes[0], "GET", "/v1/workers", "").body), &list); err != nil {
		t.Fatal(err)
	}
	var home, other *member
	for _, w := range list.Workers {
		for i, m := range g.nodes[1:] {
			if w.SessionID == a.session && w.WorkerID == actors.WorkerID(m.name, 1) {
				home, other = m, g.nodes[1+(1-i)]
			}
		}
	}
	if home == nil {
		t.Fatalf("nobody has the session %s: %+v", a.session, list)
	}
	a.address = other.base
	if text := a.do(action{"open": site + "/account"}, action{"getText": "h1"}); !strings.Contains(text, "ada") {
		t.Errorf("at another node: %s", text)
	}
	g.kill(home)
	var text string
	var facts map[string]any
	for began := time.Now(); time.Since(began) < 2*afterLease; time.Sleep(time.Second) { // an agent is told to try again
		if text, facts = a.call("run", map[string]any{"session": a.session, "actions": []any{action{"getText": "h1"}}}); facts["ok"] == true {
			break
		}
		if !strings.Contains(text, "again") && !strings.Contains(text, "lost") {
			t.Errorf("while the node is missed: %s", text)
		}
	}
	if facts["ok"] != true || !strings.Contains(text, "ada") || !strings.Contains(text, "browser was replaced") {
		t.Fatalf("after the death of %s: %s", home.name, text)
	}
	text, facts = a.call("flow", map[string]any{"do": "save", "session": a.session, "name": "signs-in"})
	if facts["ok"] != true || facts["actions"] != 7.0 {
		t.Errorf("saving: %s", text)
	}
	a.address = g.nodes[0].base
	a.call("session", map[string]any{"do": "close", "id": a.session})
	if text, facts = a.call("flow", map[string]any{"do": "run", "name": "signs-in"}); facts["ok"] != true || !strings.Contains(text, "ada") {
		t.Errorf("the flow: %s", text)
	}
}
