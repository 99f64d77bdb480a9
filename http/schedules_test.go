package http_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/http"
	"troupe/testkit"
	"troupe/testkit/need"
)

// scheduleAnswer is what tests read of answers about schedules.
type scheduleAnswer struct {
	Code, Error string
	Schedule    scheduleBody
	Schedules   []scheduleBody
	Details     []struct{ Path, Message string }
}

type scheduleBody struct {
	ScheduleID, Name, Status, Cron, TimeZone, Missed, Overlap string
	Every, Jitter                                             int64
	Next                                                      []string
	Items                                                     int
	Task                                                      map[string]any
	Batch                                                     map[string]any
	Runs                                                      []struct {
		PlannedAt, BegunAt, EndedAt, Status, Code, TaskID, BatchID string
		Manual                                                     bool
	}
}

func askSchedule(t *testing.T, e *edge, method, path, body string, want int) (a scheduleAnswer) {
	t.Helper()
	status, text := sendBody(t, e, method, path, "application/json", body)
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != want {
		t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, status, text, want)
	}
	return a
}

func scheduleKit(t *testing.T) *edge {
	eng := testkit.NewEngine()
	eng.Default = func(testkit.Call) testkit.Script {
		return testkit.Script{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(`1`)}}
	}
	limits := engine.DefaultLimits()
	pro := limits[engine.Pro]
	pro.ScheduleEvery = time.Second
	limits[engine.Pro] = pro
	k := testkit.New(t, testkit.Options{Workers: 2, Engine: eng, Config: func(c *actors.Config) { c.QueuedUploads, c.Limits = t.TempDir(), limits }})
	return openServer(t, k.Node, func(c *http.Config) { c.Live = k.Node })
}

const scheduledTask = `{"actions":[{"open":"https://example.com/"}]}`

// untilRun asks until the newest run of a schedule is as it should be.
func untilRun(t *testing.T, e *edge, id, status string) scheduleBody {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s := askSchedule(t, e, "GET", "/v1/schedules/"+id, "", 200).Schedule
		if len(s.Runs) > 0 && s.Runs[0].Status == status {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("the schedule stays %+v", s)
		}
	}
}

// TestSchedule: a schedule from its start to its end, as clients see it.
func TestSchedule(t *testing.T) {
	beside(t)
	e := scheduleKit(t)
	s := askSchedule(t, e, "POST", "/v1/schedules", `{"name":"prices","cron":"0 9 * * 1-5","timeZone":"Europe/Berlin","jitter":60000,"task":`+scheduledTask+`}`, 201).Schedule
	if s.Status != "active" || s.Missed != "once" || s.Overlap != "skip" || s.Jitter != 60000 || len(s.Next) != 3 || !strings.Contains(s.Next[0], "T09:00:00+0") || s.Task["actions"] == nil {
		t.Fatalf("the start: %+v", s)
	}
	path := "/v1/schedules/" + s.ScheduleID
	if run := askSchedule(t, e, "POST", path+"/run", `{}`, 200).Schedule; len(run.Runs) != 1 || !run.Runs[0].Manual || run.Runs[0].TaskID == "" {
		t.Fatalf("run now: %+v", run)
	}
	ran := untilRun(t, e, s.ScheduleID, "complete").Runs[0]
	if ran.EndedAt == "" || ran.BegunAt == "" {
		t.Errorf("the run: %+v", ran)
	}
	var task struct {
		Task struct {
			Status   string
			Schedule struct{ ScheduleID, PlannedAt string }
		}
	}
	if _, text := sendBody(t, e, "GET", "/v1/tasks/"+ran.TaskID, "application/json", ""); json.Unmarshal([]byte(text), &task) != nil || task.Task.Schedule.ScheduleID != s.ScheduleID || task.Task.Schedule.PlannedAt != ran.PlannedAt {
		t.Errorf("the task: %s", text)
	}
	if p := askSchedule(t, e, "POST", path+"/pause", `{}`, 200).Schedule; p.Status != "paused" || len(p.Next) != 0 {
		t.Errorf("paused: %+v", p)
	}
	changed := askSchedule(t, e, "PUT", path, `{"every":3600000,"overlap":"queue","missed":"all","batch":{"name":"b","task":{"actions":[{"set":{"n":"${item.n}"}}]},"items":[{"n":1},{"n":2}]}}`, 200).Schedule
	if changed.Status != "paused" || changed.Cron != "" || changed.Every != 3600000 || changed.Items != 2 || changed.Batch["items"] == nil || changed.Name != "" {
		t.Errorf("changed: %+v", changed)
	}
	if r := askSchedule(t, e, "POST", path+"/resume", `{}`, 200).Schedule; r.Status != "active" || len(r.Next) != 3 {
		t.Errorf("resumed: %+v", r)
	}
	askSchedule(t, e, "POST", path+"/run", `{}`, 200)
	both := untilRun(t, e, s.ScheduleID, "complete")
	if len(both.Runs) != 2 || both.Runs[0].BatchID == "" {
		t.Fatalf("the batch: %+v", both.Runs)
	}
	if b := askBatch(t, e, "GET", "/v1/batches/"+both.Runs[0].BatchID, "application/json", "", 200).Batch; b.Complete != 2 {
		t.Errorf("the batch: %+v", b)
	}
	if l := askSchedule(t, e, "GET", "/v1/schedules", "", 200).Schedules; len(l) != 1 || l[0].Batch != nil || len(l[0].Runs) != 1 {
		t.Errorf("the list: %+v", l)
	}
	askSchedule(t, e, "DELETE", path, "", 200)
	for _, c := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"PUT", ""}, {"POST", "/run"}, {"POST", "/pause"}} {
		body := `{}`
		if c[0] == "PUT" {
			body = `{"every":1000,"task":` + scheduledTask + `}`
		}
		askSchedule(t, e, c[0], path+c[1], body, 404)
	}
	if l := askSchedule(t, e, "GET", "/v1/schedules", "", 200).Schedules; len(l) != 0 {
		t.Errorf("the list: %+v", l)
	}
}

// TestSchedulePutBack: what GET answers can be sent with PUT, and changes nothing, neither the
// next times nor whether it is paused; and POST makes another one of it.
func TestSchedulePutBack(t *testing.T) {
	beside(t)
	e := scheduleKit(t)
	for _, body := range []string{
		`{"name":"prices","cron":"0 9 * jan-dec mon-7","timeZone":"Europe/Berlin","jitter":60000,"missed":"all","overlap":"queue","task":{"actions":[{"open":"https://example.com/"}],"queue":{"attempts":3}}}`,
		`{"every":3600500,"task":` + scheduledTask + `}`,
		`{"every":3600000,"paused":true,"batch":{"name":"b","task":{"actions":[{"set":{"n":"${item.n}"}}]},"items":[{"n":1},{"n":2}]}}`,
	} {
		id := askSchedule(t, e, "POST", "/v1/schedules", body, 201).Schedule.ScheduleID
		path := "/v1/schedules/" + id
		askSchedule(t, e, "POST", path+"/run", `{}`, 200)
		untilRun(t, e, id, "complete")
		get := func(path string) (whole string, without map[string]any) {
			_, whole = sendBody(t, e, "GET", path, "application/json", "")
			var a struct{ Schedule map[string]any }
			if err := json.Unmarshal([]byte(whole), &a); err != nil {
				t.Fatal(err)
			}
			delete(a.Schedule, "changedAt")
			return whole, a.Schedule
		}
		whole, before := get(path)
		inner, _ := json.Marshal(before)
		for _, put := range []string{whole, string(inner)} {
			askSchedule(t, e, "PUT", path, put, 200)
			if _, after := get(path); !reflect.DeepEqual(after, before) {
				t.Errorf("after %s:\n%v\nwas\n%v", put, after, before)
			}
		}
		own := "/v1/schedules/copy." + id
		askSchedule(t, e, "PUT", own, strings.Replace(whole, `"scheduleId":"`, `"scheduleId":"copy.`, 1), 201)
		_, copied := get(own)
		for _, f := range []string{"scheduleId", "createdAt", "runs", "next"} {
			delete(copied, f)
			delete(before, f)
		}
		if !reflect.DeepEqual(copied, before) {
			t.Errorf("the copy:\n%v\nwant\n%v", copied, before)
		}
		askSchedule(t, e, "DELETE", path, "", 200)
		askSchedule(t, e, "PUT", path, strings.Replace(whole, `"scheduleId":"`+id+`",`, "", 1), 404) // somebody has removed it
		for _, method := range []string{"POST", "PUT"} {
			to := path
			if method == "POST" {
				to = "/v1/schedules"
			}
			if again := askSchedule(t, e, method, to, whole, 201).Schedule; again.ScheduleID != id || len(again.Runs) != 0 {
				t.Errorf("made again: %+v", again)
			}
			askSchedule(t, e, "DELETE", path, "", 200)
		}
	}
}

// TestScheduleOwnID: a client names its schedule. Another account may use the same name.
func TestScheduleOwnID(t *testing.T) {
	beside(t)
	e := scheduleKit(t)
	const path = "/v1/schedules/nightly-prices"
	body := `{"every":3600000,"task":` + scheduledTask + `}`
	named := `{"scheduleId":"nightly-prices",` + body[1:]
	askSchedule(t, e, "PUT", path, body, 404)
	if s := askSchedule(t, e, "PUT", path, named, 201).Schedule; s.ScheduleID != "nightly-prices" || s.Status != "active" {
		t.Errorf("%+v", s)
	}
	askSchedule(t, e, "PUT", path, body, 200)
	askSchedule(t, e, "PUT", path, named, 200)
	askSchedule(t, e, "POST", path+"/run", `{}`, 200)
	ran := untilRun(t, e, "nightly-prices", "complete")
	if len(ran.Runs) != 1 {
		t.Errorf("%+v", ran.Runs)
	}
	if _, text := sendBody(t, e, "GET", "/v1/tasks/"+ran.Runs[0].TaskID, "application/json", ""); !strings.Contains(text, `"scheduleId":"nightly-prices"`) {
		t.Errorf("the task: %s", text)
	}
	if a := askSchedule(t, e, "POST", "/v1/schedules", named, 400); !strings.Contains(a.Error, "already") {
		t.Errorf("the same once more: %+v", a)
	}
	if s := askSchedule(t, e, "POST", "/v1/schedules", `{"scheduleId":"weekly:1",`+body[1:], 201).Schedule; s.ScheduleID != "weekly:1" {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct{ method, path, field, value, text string }{
		{"PUT", path, "scheduleId", `"weekly:1"`, "the path names"}, {"POST", "/v1/schedules", "scheduleId", `"a/b"`, "want 1 to 128"},
		{"POST", "/v1/schedules", "scheduleId", `7`, "want"}, {"POST", "/v1/schedules", "scheduleId", `""`, "want"}, {"PUT", path, "status", `"off"`, "want active, paused"}, {"PUT", path, "paused", `true`, "paused"},
	} {
		a := askSchedule(t, e, c.method, c.path, `{"`+c.field+`":`+c.value+`,`+body[1:], 400)
		if len(a.Details) != 1 || a.Details[0].Path != "/"+c.field || !strings.Contains(a.Details[0].Message, c.text) && c.text != "paused" {
			t.Errorf("%s %s: %+v", c.field, c.value, a)
		}
	}
	askSchedule(t, e, "DELETE", path, "", 200)
	if s := askSchedule(t, e, "PUT", path, named, 201).Schedule; len(s.Runs) != 0 {
		t.Errorf("a new one of the same name has runs of the old one: %+v", s)
	}
}

// TestScheduleRefusals: what is wrong is named with its field.
func TestScheduleRefusals(t *testing.T) {
	beside(t)
	e := scheduleKit(t)
	for _, c := range []struct{ body, path, text string }{
		{`{"task":` + scheduledTask + `}`, "", "neither cron nor every"},
		{`{"cron":"0 9 * * *","every":60000,"task":` + scheduledTask + `}`, "/every", "not both"},
		{`{"cron":"0 9 * *","task":` + scheduledTask + `}`, "/cron", "has 4 fields: want 5"},
		{`{"cron":"0 25 * * *","task":` + scheduledTask + `}`, "/cron", "above maximum (23)"},
		{`{"cron":"0 9 31 2 *","task":` + scheduledTask + `}`, "/cron", "does not come"},
		{`{"cron":"@every 5m","task":` + scheduledTask + `}`, "/cron", "use every"},
		{`{"cron":"` + strings.Repeat("1,", 100) + `1 * * * *","task":` + scheduledTask + `}`, "/cron", "at most 200"},
		{`{"cron":"0 9 * * *","timeZone":"Berlin","task":` + scheduledTask + `}`, "/timeZone", `there is no time zone "Berlin"`},
		{`{"every":999,"task":` + scheduledTask + `}`, "/every", "1000"},
		{`{"every":60000,"jitter":3600001,"task":` + scheduledTask + `}`, "/jitter", "3600000"},
		{`{"every":60000,"missed":"replay","task":` + scheduledTask + `}`, "/missed", "want once, skip, all"},
		{`{"every":60000,"overlap":"skp","task":` + scheduledTask + `}`, "/overlap", `did you mean "skip"`},
		{`{"every":60000,"paused":1,"task":` + scheduledTask + `}`, "/paused", "true or false"},
		{`{"every":60000}`, "", "neither task nor batch"},
		{`{"every":60000,"task":{"actions":[{"opn":"x"}]}}`, "/task/actions/0/opn", "did you mean"},
		{`{"every":60000,"task":{"queue":{"key":"a"},"actions":[{"wait":1}]}}`, "/task/queue/key", "have no keys"},
		{`{"every":60000,"task":{"queue":{"startAfter":"2027-01-01T00:00:00Z"},"actions":[{"wait":1}]}}`, "/task/queue/startAfter", "one time for all runs"},
		{`{"every":60000,"task":{"queue":false,"actions":[{"wait":1}]}}`, "/task/queue", "a schedule are queued"},
		{`{"every":60000,"task":{"config":{"proxy":"home"},"actions":[{"wait":1}]}}`, "/task/config/proxy", "it may use none"},
		{`{"every":60000,"batch":{"task":{"config":{"proxy":"home"},"actions":[{"wait":1}]},"items":[{}]}}`, "/batch/task/config/proxy", "it may use none"},
		{`{"every":60000,"batch":{"items":[{}]}}`, "/batch", "has no task"},
		{`{"every":60000,"batch":{"task":` + scheduledTask + `}}`, "/batch", "has no items"},
		{`{"every":60000,"batch":{"task":{"actions":[{"set":{"n":"${item.n}"}}]},"items":[{"m":1}]}}`, "/batch/items/0/n", "missing"},
		{`{"evry":60000,"task":` + scheduledTask + `}`, "/evry", `did you mean "every"`},
		{`[]`, "", "want the schedule, an object"},
	} {
		a := askSchedule(t, e, "POST", "/v1/schedules", c.body, 400)
		found := false
		for _, d := range a.Details {
			found = found || d.Path == c.path && strings.Contains(d.Message, c.text)
		}
		if !found {
			t.Errorf("%s: %+v, want %q at %q", c.body, a.Details, c.text, c.path)
		}
	}
	askSchedule(t, e, "PUT", "/v1/schedules/none", `{"every":60000,"task":`+scheduledTask+`}`, 404)
	askSchedule(t, e, "GET", "/v1/schedules/none?runs=0", "", 400)
	if l := askSchedule(t, e, "GET", "/v1/schedules", "", 200).Schedules; len(l) != 0 {
		t.Errorf("%+v is listed", l)
	}
}

// TestSchedulesSurviveKills: the service is killed again and again while schedules are due
// every second. No time has two runs, none is left out but those that were missed, and no
// task is played twice.
//
// Promise: After a crash, a claimed time runs once
// (docs/schedules.md#when-the-service-stops).
func TestSchedulesSurviveKills(t *testing.T) {
	need.All(t)
	beside(t)
	folder := t.TempDir()
	p := startQueueProcess(t, folder, "1ms")
	const schedules, kills = 5, 4
	c := client(1)
	defer c.CloseIdleConnections()
	var ids []string
	for range schedules {
		var a scheduleAnswer
		if status, err := p.ask(c, "POST", "/v1/schedules", `{"every":1000,"missed":"all","overlap":"queue","task":`+scheduledTask+`}`, &a); err != nil || status != 201 {
			t.Fatal(status, err, a)
		}
		ids = append(ids, a.Schedule.ScheduleID)
	}
	played := func() string {
		b, _ := os.ReadFile(filepath.Join(folder, "played"))
		return string(b)
	}
	least := 0
	for kill := range kills {
		before := strings.Count(played(), "\n")
		least = before + schedules - kill
		eventually(t, "tasks are played", func() bool { return strings.Count(played(), "\n") >= least })
		p.kill()
		c.CloseIdleConnections()
		p = startQueueProcess(t, folder, "1ms")
	}
	for _, id := range ids {
		var a scheduleAnswer
		if status, err := p.ask(c, "POST", "/v1/schedules/"+id+"/pause", `{}`, &a); err != nil || status != 200 {
			t.Fatal(status, err, a)
		}
	}
	plays := map[string]int{}
	runs := 0
	for _, id := range ids {
		var a scheduleAnswer
		eventually(t, "all runs have ended", func() bool {
			a = scheduleAnswer{}
			status, err := p.ask(c, "GET", "/v1/schedules/"+id+"?runs=100", "", &a)
			if err != nil || status != 200 {
				return false
			}
			for _, r := range a.Schedule.Runs {
				if r.Status == "queued" {
					return false
				}
			}
			return true
		})
		last := time.Time{}
		for _, r := range a.Schedule.Runs { // the newest first
			at, err := time.Parse(time.RFC3339Nano, r.PlannedAt)
			if err != nil || !last.IsZero() && last.Sub(at) != time.Second {
				t.Errorf("%s: %s is followed by %v", id, r.PlannedAt, last)
			}
			last = at
			plays[r.TaskID] = 0
			if runs++; r.Status != "complete" && r.Code != "interrupted" && r.Status != "skipped" {
				t.Errorf("%s: %+v", id, r)
			}
		}
	}
	for task := range strings.Lines(played()) {
		task = strings.TrimSpace(task)
		if n, known := plays[task]; !known || n > 0 {
			t.Errorf("%s was played %d times before, and is of a run: %v", task, n, known)
		}
		plays[task]++
	}
	if runs < least {
		t.Errorf("only %d runs, but %d tasks were played before the last kill", runs, least)
	}
	t.Logf("%d runs of %d schedules, %d kills", runs, schedules, kills)
}
