package http_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"troupe/actors"
	"troupe/engine"
	"troupe/http"
	"troupe/testkit"
)

// queueAnswer is what tests read of answers about queued tasks.
type queueAnswer struct {
	Success, Queued, Async bool
	TaskID, Status, Code   string
	Position               int
	Error                  string
	ActionIndex            *int
	Cancelled              bool
	Task                   struct {
		Status   string
		Position int
	}
	Tasks []struct {
		TaskID, Status, Code, QueuedAt, EndedAt string
		Priority                                *int
		Attempts                                int
	}
	Next    string
	Details []struct{ Path string }
}

func askQueue(t *testing.T, e *edge, method, path, token, body string, want int) (a queueAnswer) {
	t.Helper()
	status, text := call(t, e, method, path, token, body)
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != want {
		t.Fatalf("%s %s: %d %s, want %d", method, path, status, text, want)
	}
	return a
}

// queueKit is a service whose only worker is busy until the returned function is called.
func queueKit(t *testing.T, folder string) (*testkit.Kit, *edge, func()) {
	free := make(chan struct{})
	eng := testkit.NewEngine()
	eng.Default = func(c testkit.Call) testkit.Script {
		select {
		case <-free:
			return testkit.Script{}
		case <-c.Browser.Gone():
			return testkit.Script{Outcome: &engine.Outcome{End: engine.EndInterrupted}}
		}
	}
	k := testkit.New(t, testkit.Options{Workers: 1, Engine: eng, Config: func(c *actors.Config) { c.QueuedUploads = folder }})
	return k, openServer(t, k.Node, func(c *http.Config) { c.Live = k.Node }), func() { close(free) }
}

// TestQueueOverHTTP: a queued task from its start to its end, as clients see it.
func TestQueueOverHTTP(t *testing.T) {
	beside(t)
	k, e, free := queueKit(t, t.TempDir())
	first := askQueue(t, e, "POST", "/v1/", "good", queuedTask, 202)
	if !first.Success || !first.Async || first.Status != "queued" || first.Position != 1 || !strings.HasPrefix(first.TaskID, "task_") {
		t.Fatalf("the start: %+v", first)
	}
	k.WantState("w1", "busy")
	second := askQueue(t, e, "POST", "/v1/", "good", `{"queue":{"priority":9,"key":"k1","attempts":3},"actions":[{"wait":1}]}`, 202)
	again := askQueue(t, e, "POST", "/v1/", "good", `{"queue":{"priority":9,"key":"k1","attempts":3},"actions":[{"wait":1}]}`, 202)
	if again.TaskID != second.TaskID {
		t.Errorf("the key gives %s, then %s", second.TaskID, again.TaskID)
	}
	third := askQueue(t, e, "POST", "/v1/", "good", `{"queue":true,"actions":[{"wait":1}]}`, 202)
	if a := askQueue(t, e, "GET", "/v1/get-result?taskId="+third.TaskID, "good", "", 200); a.Status != "pending" || !a.Queued || a.Position != 2 {
		t.Errorf("a poll: %+v", a)
	}
	if a := askQueue(t, e, "GET", "/v1/tasks/"+third.TaskID, "good", "", 200); a.Task.Status != "queued" || a.Task.Position != 2 {
		t.Errorf("the task: %+v", a.Task)
	}
	askQueue(t, e, "GET", "/v1/tasks/"+third.TaskID, "small", "", 404)
	askQueue(t, e, "GET", "/v1/get-result?taskId="+third.TaskID, "small", "", 404)
	l := askQueue(t, e, "GET", "/v1/tasks?status=queued&limit=1", "good", "", 200)
	if len(l.Tasks) != 1 || l.Tasks[0].TaskID != second.TaskID || l.Tasks[0].Status != "queued" || *l.Tasks[0].Priority != 9 || l.Next == "" {
		t.Errorf("the list: %+v", l)
	}
	if a := askQueue(t, e, "DELETE", "/v1/tasks/"+third.TaskID, "good", "", 200); !a.Cancelled {
		t.Errorf("cancelled: %+v", a)
	}
	if a := askQueue(t, e, "GET", "/v1/get-result?taskId="+third.TaskID, "good", "", 200); a.Status != "failed" || a.Code != "cancelled" {
		t.Errorf("the cancelled task: %+v", a)
	}
	events := make(chan string, 1)
	go func() {
		_, text := call(t, e, "GET", "/v1/tasks/"+second.TaskID+"/events", "good", "")
		events <- text
	}()
	expired := askQueue(t, e, "POST", "/v1/", "good", `{"queue":{"startAfter":50,"expiresAfter":20},"actions":[{"wait":1}]}`, 202)
	free()
	for _, id := range []string{first.TaskID, second.TaskID} {
		if a := askQueue(t, e, "GET", "/v1/get-result?wait=20000&taskId="+id, "good", "", 200); a.Status != "complete" || a.Queued {
			t.Errorf("%s: %+v", id, a)
		}
	}
	if text := <-events; !strings.Contains(text, "event: end") || !strings.Contains(text, `"status":"complete"`) {
		t.Errorf("its events: %s", text)
	}
	if a := askQueue(t, e, "GET", "/v1/get-result?wait=20000&taskId="+expired.TaskID, "good", "", 200); a.Code != "expired" || a.ActionIndex != nil {
		t.Errorf("the expired task: %+v", a)
	}
	l = askQueue(t, e, "GET", "/v1/tasks?status=ended", "good", "", 200)
	if len(l.Tasks) != 4 || l.Tasks[0].TaskID != third.TaskID || l.Tasks[0].Code != "cancelled" || l.Tasks[0].EndedAt == "" {
		t.Errorf("ended: %+v", l)
	}
	l = askQueue(t, e, "GET", "/v1/tasks?status=dead", "good", "", 200)
	if len(l.Tasks) != 1 || l.Tasks[0].TaskID != expired.TaskID {
		t.Errorf("dead: %+v", l)
	}
	askQueue(t, e, "POST", "/v1/tasks/"+expired.TaskID+"/retry", "small", "", 404)
	askQueue(t, e, "POST", "/v1/tasks/"+first.TaskID+"/retry", "good", "", 404)
	if a := askQueue(t, e, "POST", "/v1/tasks/"+expired.TaskID+"/retry", "good", "", 202); a.Status != "queued" || a.TaskID == expired.TaskID {
		t.Errorf("sent again: %+v", a)
	}
	askQueue(t, e, "GET", "/v1/tasks?status=alive", "good", "", 400)
}

func TestQueueRefusals(t *testing.T) {
	beside(t)
	_, e, free := queueKit(t, t.TempDir())
	defer free()
	for body, path := range map[string]string{
		`{"queue":"yes","actions":[{"wait":1}]}`:                                     "/queue",
		`{"queue":{"priority":10},"actions":[{"wait":1}]}`:                           "/queue/priority",
		`{"queue":{"priority":1.5},"actions":[{"wait":1}]}`:                          "/queue/priority",
		`{"queue":{"attempts":11},"actions":[{"wait":1}]}`:                           "/queue/attempts",
		`{"queue":{"startAfter":"tomorrow"},"actions":[{"wait":1}]}`:                 "/queue/startAfter",
		`{"queue":{"retryOn":["element_lost"],"attempts":2},"actions":[{"wait":1}]}`: "/queue/retryOn/0",
		`{"queue":{"retryOn":["timeout"]},"actions":[{"wait":1}]}`:                   "/queue",
		`{"queue":{"concurrency":2},"actions":[{"wait":1}]}`:                         "/queue",
		`{"queue":{"group":""},"actions":[{"wait":1}]}`:                              "/queue/group",
		`{"queue":{"retention":1},"actions":[{"wait":1}]}`:                           "/queue/retention",
		`{"queue":{"prio":1},"actions":[{"wait":1}]}`:                                "/queue/prio",
		`{"queue":true,"queueTimeout":5,"actions":[{"wait":1}]}`:                     "/queue",
		`{"queue":true}`: "",
	} {
		a := askQueue(t, e, "POST", "/v1/", "good", body, 400)
		if len(a.Details) != 1 || a.Details[0].Path != path {
			t.Errorf("%s: %+v, want a fault at %q", body, a.Details, path)
		}
	}
	if a := askQueue(t, e, "POST", "/v1/", "small", queuedTask, 403); a.Code != "plan_required" {
		t.Errorf("%+v", a)
	}
	for _, off := range []string{"false", "null"} {
		if status, _ := call(t, e, "POST", "/v1/validate", "good", `{"queue":`+off+`,"actions":[{"wait":1}]}`); status != 200 {
			t.Errorf("queue %s: %d", off, status)
		}
	}
	a := askQueue(t, e, "POST", "/v1/validate", "good", `{"queue":{"priority":99},"actions":[{"wait":1}]}`, 200)
	if a.Success != true {
		t.Errorf("validate: %+v", a)
	}
}

// TestQueuedFilesFollowTheirFolder: a task finds its files where the data folder was moved,
// or restored elsewhere, while the task waited.
func TestQueuedFilesFollowTheirFolder(t *testing.T) {
	beside(t)
	var at atomic.Value
	at.Store(filepath.Join(t.TempDir(), "before"))
	free, read := make(chan struct{}), make(chan string, 1)
	eng := testkit.NewEngine()
	eng.Default = func(c testkit.Call) testkit.Script {
		select {
		case <-free:
		case <-c.Browser.Gone():
			return testkit.Script{Outcome: &engine.Outcome{End: engine.EndInterrupted}}
		}
		if len(c.Task.Files) == 1 {
			b, err := os.ReadFile(c.Task.Files[0].Path)
			read <- fmt.Sprint(string(b), err)
		}
		return testkit.Script{}
	}
	k := testkit.New(t, testkit.Options{Workers: 1, Engine: eng, Config: func(c *actors.Config) { c.QueuedUploads = at.Load().(string) }})
	e := openServer(t, k.Node, func(c *http.Config) { c.Live = k.Node })
	askQueue(t, e, "POST", "/v1/", "good", queuedTask, 202) // has the worker
	k.WantState("w1", "busy")
	if status, p := e.sendForm(t, "/v1/", "good",
		part{name: "payload", data: []byte(`{"queue":true,"actions":[{"open":"https://example.com"},{"uploadFile":["#f","$file:0"]}]}`)},
		part{name: "files", file: "a.txt", data: []byte("kept")}); status != 202 {
		t.Fatalf("%d %+v", status, p)
	}
	k.Crash()
	after := filepath.Join(t.TempDir(), "after")
	if err := os.Rename(at.Load().(string), after); err != nil {
		t.Fatal(err)
	}
	at.Store(after)
	k.BootCold()
	close(free)
	if got := <-read; got != "kept<nil>" {
		t.Errorf("the task read %q", got)
	}
	eventually(t, "the files are gone", func() bool { all, _ := filepath.Glob(filepath.Join(after, "*", "*", "*")); return len(all) == 0 })
}

// TestQueueKeepsUploads: files of a queued task stay until its end, over a restart.
func TestQueueKeepsUploads(t *testing.T) {
	beside(t)
	folder := t.TempDir()
	k, e, free := queueKit(t, folder)
	askQueue(t, e, "POST", "/v1/", "good", queuedTask, 202) // has the worker
	k.WantState("w1", "busy")
	if status, p := e.sendForm(t, "/v1/", "good",
		part{name: "payload", data: []byte(`{"queue":true,"actions":[{"open":"https://example.com"},{"uploadFile":["#f","$file:0"]}]}`)},
		part{name: "files", file: "a.txt", data: []byte("kept")}); status != 202 {
		t.Fatalf("%d %+v", status, p)
	}
	kept := func() (all []string) {
		all, _ = filepath.Glob(filepath.Join(folder, "*", "*", "*"))
		return all
	}
	if all := kept(); len(all) != 1 {
		t.Fatalf("kept: %q", all)
	} else if b, err := os.ReadFile(all[0]); err != nil || string(b) != "kept" {
		t.Errorf("%q, %v", b, err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "acc1", "task_0_q50123456789abcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	k.Crash()
	k.BootCold()
	if all := kept(); len(all) != 1 {
		t.Errorf("kept over a restart: %q", all)
	}
	if _, err := os.Stat(filepath.Join(folder, "acc1", "task_0_q50123456789abcd")); err == nil {
		t.Error("the folder of no task is there still")
	}
	free()
	eventually(t, "the files are gone", func() bool { return len(kept()) == 0 })
}
