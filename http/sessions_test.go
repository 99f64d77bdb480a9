package http_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"troupe/engine"
	"troupe/testkit"
	"troupe/testkit/wait"
)

// oneSession is what tests read of answers about sessions.
type oneSession struct {
	SessionID, WorkerID, WorkerName, State, Label, TaskID, OpenedAt, ExpiresAt, Live string
	Timeout                                                                          int64
	Profile                                                                          struct {
		Name, SavedAt, Lost string
		Version             int
		Readonly            bool
	}
}

type sessionAnswer struct {
	Code, Error, SessionID string
	Session                oneSession
	Sessions               []oneSession
	Details                []struct{ Path, Message string }
}

func askSession(t *testing.T, e *edge, method, path, body string, want int, headers ...string) (a sessionAnswer) {
	t.Helper()
	status, text := sendBody(t, e, method, path, "application/json", body, headers...)
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != want {
		t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, status, text, want)
	}
	return a
}

// TestSessions: a session from its opening to its end. It is the same thing as one that a
// task has preserved.
func TestSessions(t *testing.T) {
	beside(t)
	eng := testkit.NewEngine()
	release, set := make(chan struct{}), make(chan *engine.Task, 1)
	eng.Default = func(c testkit.Call) testkit.Script {
		if c.Task.Actions() == 0 {
			set <- c.Task
		} else if strings.Contains(string(c.Task.Source()), "wait") {
			return testkit.Script{Do: func(context.Context, testkit.Call) *engine.Outcome {
				<-release
				return &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(`1`)}
			}}
		}
		return testkit.Script{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(`1`)}}
	}
	k := testkit.New(t, testkit.Options{Workers: 4, Engine: eng})
	e := openServer(t, k.Node)

	opened := askSession(t, e, "POST", "/v1/sessions", `{"timeout":120000,"label":"shop","config":{"sites":["shop.example.org"],"locale":"de-DE"}}`, 201)
	s := opened.Session
	if s.State != "reserved" || s.Label != "shop" || s.Timeout != 120000 || s.WorkerID == "" || s.Live != "/v1/live/"+s.SessionID {
		t.Fatalf("opened as %+v", s)
	}
	began, _ := time.Parse(time.RFC3339Nano, s.OpenedAt)
	if ends, _ := time.Parse(time.RFC3339Nano, s.ExpiresAt); ends.Sub(began) < 2*time.Minute || ends.Sub(began) > 3*time.Minute {
		t.Errorf("opened %s, expires %s, want two minutes later", s.OpenedAt, s.ExpiresAt)
	}
	if task := <-set; len(task.Config.Sites) != 1 || task.Session == nil || !task.Session.Preserve {
		t.Errorf("its config was played as %s", task.Source())
	}

	// One of a task is in the list, too, and is closed in the same way.
	byTask := askSession(t, e, "POST", "/v1/", `{"session":{"preserve":true,"label":"by a task"},"actions":[{"open":"https://example.com/"}]}`, 200)
	all := askSession(t, e, "GET", "/v1/sessions", "", 200).Sessions
	if len(all) != 2 {
		t.Fatalf("listed: %+v", all)
	}
	if got := askSession(t, e, "GET", "/v1/sessions/"+byTask.SessionID, "", 200).Session; got.Label != "by a task" || got.Timeout != 300000 {
		t.Errorf("that of a task: %+v", got)
	}
	// A list continues the opened one, and has its time again after it.
	started := make(chan sessionAnswer, 1)
	go func() {
		var a sessionAnswer
		_, text := call(t, e, "POST", "/v1/", "good", `{"session":{"id":"`+s.SessionID+`","timeout":240000},"actions":[{"wait":1}]}`)
		_ = json.Unmarshal([]byte(text), &a)
		started <- a
	}()
	wait.Until(t, "the task runs", func() bool {
		return askSession(t, e, "GET", "/v1/sessions/"+s.SessionID, "", 200).Session.State == "busy"
	})
	now := askSession(t, e, "GET", "/v1/sessions/"+s.SessionID, "", 200).Session
	if now.ExpiresAt != "" || now.TaskID == "" {
		t.Errorf("while a task runs: %+v", now)
	}
	if no := askSession(t, e, "DELETE", "/v1/sessions/"+s.SessionID, "", 409); no.Code != "worker_busy" {
		t.Errorf("closed under its task: %+v", no)
	}
	close(release)
	if a := <-started; a.SessionID != s.SessionID {
		t.Errorf("the list was answered %+v", a)
	}
	if now = askSession(t, e, "GET", "/v1/sessions/"+s.SessionID, "", 200).Session; now.ExpiresAt == "" || now.Timeout != 240000 {
		t.Errorf("after the task: %+v", now)
	}

	for _, id := range []string{s.SessionID, byTask.SessionID} {
		if a := askSession(t, e, "DELETE", "/v1/sessions/"+id, "", 200); a.SessionID != id {
			t.Errorf("closed: %+v", a)
		}
		askSession(t, e, "GET", "/v1/sessions/"+id, "", 404)
		askSession(t, e, "DELETE", "/v1/sessions/"+id, "", 404)
	}
	if all = askSession(t, e, "GET", "/v1/sessions", "", 200).Sessions; len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
	if no := askSession(t, e, "POST", "/v1/", `{"session":{"id":"`+s.SessionID+`"},"actions":[{"open":"https://example.com/"}]}`, 409); no.Code != "session_mismatch" {
		t.Errorf("a closed session: %+v", no)
	}
}

// TestSessionsOpenOnce: a repeat with the key gets the session, as it is now.
func TestSessionsOpenOnce(t *testing.T) {
	beside(t)
	k := testkit.New(t, testkit.Options{Workers: 4})
	e := openServer(t, k.Node)
	first := askSession(t, e, "POST", "/v1/sessions", `{"label":"a"}`, 201, "Idempotency-Key", "k1")
	again := askSession(t, e, "POST", "/v1/sessions", `{"label":"a"}`, 201, "Idempotency-Key", "k1")
	if first.Session.SessionID == "" || again.Session.SessionID != first.Session.SessionID {
		t.Errorf("opened %+v, then %+v", first.Session, again.Session)
	}
	if no := askSession(t, e, "POST", "/v1/sessions", `{"label":"b"}`, 409, "Idempotency-Key", "k1"); no.Code != "idempotency_mismatch" {
		t.Errorf("another request with the key: %+v", no)
	}
	askSession(t, e, "DELETE", "/v1/sessions/"+first.Session.SessionID, "", 200)
	askSession(t, e, "POST", "/v1/sessions", `{"label":"a"}`, 404, "Idempotency-Key", "k1")
}

// TestSessionsAreRefused: what a session cannot have, and who cannot have one.
func TestSessionsAreRefused(t *testing.T) {
	beside(t)
	eng := testkit.NewEngine()
	why := engine.Failure{Code: engine.CodePlanRequired, Text: "This proxy is for others"}
	eng.Default = func(testkit.Call) testkit.Script {
		return testkit.Script{Outcome: &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{why}}}
	}
	k := testkit.New(t, testkit.Options{Workers: 2, Engine: eng})
	e := openServer(t, k.Node)
	for body, path := range map[string]string{
		`{"timeout":1}`: "/timeout",
		`{"label":7}`:   "/label",
		`{"label":"` + strings.Repeat("x", 101) + `"}`: "/label",
		`{"queueTimeout":-1}`:                          "/queueTimeout",
		`{"workerId":""}`:                              "/workerId",
		`{"profile":"a b"}`:                            "/profile",
		`{"profile":{"name":"p","version":1}}`:         "/profile/version",
		`{"actions":[{"wait":1}]}`:                     "/actions",
		`{"preserve":true}`:                            "/preserve",
		`{"config":{"trace":true}}`:                    "/config/trace",
		`{"config":{"dialogs":"dismiss"}}`:             "/config/dialogs",
		`{"config":{"actionTimeout":5}}`:               "/config/actionTimeout",
		`{"config":{"sites":[]}}`:                      "/config/sites",
		`{"config":{"devise":"iPhone 15"}}`:            "/config/devise",
		`[]`:                                           "",
	} {
		no := askSession(t, e, "POST", "/v1/sessions", body, 400)
		if len(no.Details) != 1 || no.Details[0].Path != path {
			t.Errorf("%s is refused with %+v, want one fault at %q", body, no.Details, path)
		}
	}
	// What its config asks for is refused: nothing is left open.
	if no := askSession(t, e, "POST", "/v1/sessions", `{"config":{"sites":["example.org"]}}`, 403); no.Code != "plan_required" || no.Error != "This proxy is for others" {
		t.Errorf("refused by the engine: %+v", no)
	}
	why = engine.Failure{Code: engine.CodeTimeout, Text: "The profile could not be put into the browser within 5000ms"}
	if no := askSession(t, e, "POST", "/v1/sessions", `{"config":{"sites":["example.org"]}}`, 409); no.Code != "worker_offline" || !strings.Contains(no.Error, why.Text) {
		t.Errorf("on a busy machine: %+v", no)
	}
	if all := askSession(t, e, "GET", "/v1/sessions", "", 200).Sessions; len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
	askSession(t, e, "POST", "/v1/sessions", `{}`, 201)
	if no := askSession(t, e, "POST", "/v1/sessions", `{}`, 403); no.Code != "session_limit" {
		t.Errorf("one more than the account may have: %+v", no)
	}
	// Other accounts see none of it.
	for _, other := range []string{"small", "boss"} {
		if status, text := call(t, e, "GET", "/v1/sessions", other, ""); status == 200 && strings.Contains(text, "sess_") {
			t.Errorf("%s sees %s", other, text)
		}
	}
}
