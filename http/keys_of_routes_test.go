package http_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"troupe/http"
)

// postKeys says what a key does at each route that takes a POST. A new one needs a line.
// Where it is ignored, nothing is made.
var postKeys = map[string]string{
	"/v1/runs/{runId}/again": keptByActors,
	"/v1":                    keptByActors, "/v1/": keptByActors, "/v1/execute": keptByActors,
	"/v1/batches": keptByThing, "/v1/schedules": keptByThing,
	"/v1/validate":                     "ignored: it makes nothing",
	"/v1/sessions/{sessionId}/tickets": "ignored: a ticket that nobody uses ends within a minute or with its session, and no store has it",
	"/v1/sessions/{sessionId}/files":   "ignored: a file takes the place of one with its name",
	"/mcp":                             "ignored: its messages have ids, and what they make goes through the requests above",
	"/v1/endpoints":                    keptByActors, "/v1/endpoints/{endpointId}/enable": keptByActors,
	"/v1/batches/{batchId}/pause": keptByActors, "/v1/batches/{batchId}/resume": keptByActors, "/v1/batches/{batchId}/cancel": keptByActors,
	"/v1/batches/{batchId}/retry":      keptByActors,
	"/v1/schedules/{scheduleId}/pause": keptByActors, "/v1/schedules/{scheduleId}/resume": keptByActors, "/v1/schedules/{scheduleId}/run": keptByActors,
	"/v1/tasks/{taskId}/retry": keptByActors, "/v1/notices/{noticeId}/redeliver": keptByActors, "/v1/notice-secret/rotate": keptByActors,
	"/v1/tickets": keptByActors, "/v1/links": keptByActors, "/v1/sessions": keptByActors, "/v1/sessions/{sessionId}/save": keptByActors, "/v1/operator/{order}": keptByActors,
}

const (
	keptByActors = "the actors keep the answer"
	keptByThing  = "what was made has the key"
)

// TestKeysOfEveryPost: each route that takes a POST has a decision about keys, and those
// that honour them say so to browsers.
func TestKeysOfEveryPost(t *testing.T) {
	for _, w := range http.Routes() {
		if w.Method != "POST" {
			continue
		}
		how, decided := postKeys[w.Path]
		if !decided {
			t.Errorf("POST %s makes something: decide in postKeys what %s does there", w.Path, "Idempotency-Key")
		}
		reads := strings.Contains(strings.Join(w.Headers, ","), "Idempotency-Key")
		documented := strings.Contains(string(http.OpenAPIOperation(w.Path, "post")), `"Idempotency-Key"`)
		if w.Path != "/v1" && w.Path != "/mcp" && !strings.Contains(w.Path, "{order}") && documented != reads {
			t.Errorf("POST %s: the API document names the key: %v, and it reads %v", w.Path, documented, w.Headers)
		}
		if honours := how == keptByActors || how == keptByThing; honours != reads {
			t.Errorf("POST %s: %s, but it reads %v", w.Path, how, w.Headers)
		}
	}
}

// TestScheduleWithAKey: a repeat gets the schedule that the first request has made, as it
// is now, however many come at once.
func TestScheduleWithAKey(t *testing.T) {
	e := &stranger{liveServer: openLiveServer(t)}
	const body = `{"every":3600000,"name":"a","task":{"actions":[{"wait":1}]}}`
	type answer struct {
		Schedule struct {
			ScheduleID string
			Status     string
		}
	}
	post := func(key, body string) (int, problem, answer) {
		status, p, text, _ := e.send("POST", "/v1/schedules", body, bearerGood, "Idempotency-Key: "+key)
		var a answer
		_ = json.Unmarshal([]byte(text), &a)
		return status, p, a
	}
	var work sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]bool{}
	for range 20 {
		work.Go(func() {
			status, p, a := post("k1", body)
			mu.Lock()
			defer mu.Unlock()
			if status != 201 {
				t.Errorf("%d %+v", status, p)
			}
			ids[a.Schedule.ScheduleID] = true
		})
	}
	work.Wait()
	if len(ids) != 1 || ids[""] {
		t.Fatalf("the key has made %v", ids)
	}
	var id string
	for id = range ids {
	}
	if status, _, a := post("k1", `{"task": {"actions":[{"wait":1.0}]}, "name":"\u0061","every":3600000}`); status != 201 || a.Schedule.ScheduleID != id {
		t.Errorf("the same in other words: %d %+v", status, a)
	}
	if status, p, _ := post("k1", strings.Replace(body, `"a"`, `"b"`, 1)); status != 409 || p.Code != "idempotency_mismatch" {
		t.Errorf("other content: %d %+v", status, p)
	}
	if status, p, _ := post("", body); status != 400 {
		t.Errorf("an empty key: %d %+v", status, p)
	}
	if _, _, a := post("k2", body); a.Schedule.ScheduleID == id || a.Schedule.ScheduleID == "" {
		t.Errorf("another key: %+v", a)
	}
	e.send("POST", "/v1/schedules/"+id+"/pause", "{}", bearerGood)
	if _, _, a := post("k1", body); a.Schedule.ScheduleID != id || a.Schedule.Status != "paused" {
		t.Errorf("the paused one: %+v", a)
	}
	e.send("DELETE", "/v1/schedules/"+id, "", bearerGood)
	if status, _, a := post("k1", body); status != 201 || a.Schedule.Status != "active" {
		t.Errorf("after its removal: %d %+v", status, a)
	}
}

// TestRepeatedStartSaysWhatIsTrue: a key whose task waits no more does not say that it does.
func TestRepeatedStartSaysWhatIsTrue(t *testing.T) {
	e := &stranger{liveServer: openLiveServer(t)}
	type answer struct{ TaskID, Status, Code, Error string }
	post := func(key string) (int, answer) {
		status, _, text, _ := e.send("POST", "/v1/", `{"queue":{"startAfter":3600000},"actions":[{"wait":1}]}`, bearerGood, "Idempotency-Key: "+key)
		var a answer
		_ = json.Unmarshal([]byte(text), &a)
		return status, a
	}
	status, first := post("k")
	if status != 202 || first.Status != "queued" {
		t.Fatalf("%d %+v", status, first)
	}
	if status, again := post("k"); status != 202 || again.Status != "queued" || again.TaskID != first.TaskID {
		t.Errorf("while it waits: %d %+v", status, again)
	}
	e.send("DELETE", "/v1/tasks/"+first.TaskID, "", bearerGood)
	if status, again := post("k"); status != 200 || again.Status != "failed" || again.Code != "cancelled" || again.TaskID != first.TaskID {
		t.Errorf("when it is cancelled: %d %+v", status, again)
	}
}
