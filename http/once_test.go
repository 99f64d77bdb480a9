package http_test

import (
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/http"
	"troupe/http/admin"
	"troupe/persistence"
	"troupe/testkit"
)

// keyedCall is a request that makes something, and what a repeat of it has to leave alone.
type keyedCall struct {
	path, body, other string                        // other is another body; empty: none is another
	operator          bool                          //
	made              func(e *callKit) int          // how many of what it makes there are; nil: nothing to count
	remove            func(e *callKit, body string) // what it has made; nil: it stays
	now               bool                          // a repeat says how it is now, which is not what the first was told
}

// callKit is a service with all that requests with a key make things in.
type callKit struct {
	*stranger
	schedule, task, dead, batch, failed, notice, session string
}

func openCallKit(t *testing.T) *callKit {
	t.Helper()
	hook := openHook(t, nil)
	eng := testkit.NewEngine()
	eng.Default = func(c testkit.Call) testkit.Script {
		if c.Task.WorkerID == "w2" {
			return testkit.Script{Outcome: &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: engine.CodeElementNotFound, Text: "no button", Path: "actions[0]"}}}}
		}
		return testkit.Script{}
	}
	var profiles *persistence.Profiles
	k := testkit.New(t, testkit.Options{Workers: 4, Engine: eng, Config: func(c *actors.Config) {
		profiles = persistence.NewProfiles(c.Store, c.Seal)
		c.Profiles = profiles
		c.QueuedUploads = t.TempDir()
		c.Notices = actors.NoticesConfig{Client: &nethttp.Client{Transport: &nethttp.Transport{DisableKeepAlives: true}}, Result: http.NoticeResult, Address: "https://troupe.example"}
	}})
	accounts := persistence.NewAccounts(k.Store)
	e := &callKit{stranger: &stranger{liveServer: &liveServer{openServer(t, k.Node, func(c *http.Config) {
		c.Profiles = profiles
		c.Live, c.Admin = k.Node, &admin.Admin{Accounts: accounts, Actors: k.Node}
	}), k, t}}}
	var a struct {
		TaskID   string
		Schedule struct{ ScheduleID string }
		Batch    struct{ BatchID string }
		Session  struct{ SessionID string }
	}
	post := func(path, body string) {
		if status, _, text, _ := e.send("POST", path, body, bearerGood); status >= 300 || json.Unmarshal([]byte(text), &a) != nil {
			t.Fatalf("POST %s: %d %s", path, status, text)
		}
	}
	post("/v1/schedules", `{"every":86400000,"overlap":"queue","task":{"actions":[{"wait":1}]}}`)
	e.schedule = a.Schedule.ScheduleID
	post("/v1/batches", `{"task":{"workerId":"w2","actions":[{"wait":1}]},"items":[{"a":1},{"a":2}]}`)
	e.failed = a.Batch.BatchID
	post("/v1/batches", `{"task":{"queue":{"startAfter":3600000},"actions":[{"wait":1}]},"items":[{"a":1},{"a":2}]}`)
	e.batch = a.Batch.BatchID
	post("/v1/", `{"queue":{"startAfter":3600000},"actions":[{"wait":1}]}`)
	e.task = a.TaskID
	post("/v1/", fmt.Sprintf(`{"queue":true,"workerId":"w2","notify":[{"url":%q}],"actions":[{"wait":1}]}`, hook.URL))
	e.dead = a.TaskID
	post("/v1/sessions", `{"workerId":"w3","profile":"p"}`)
	e.session = a.Session.SessionID
	eventually(t, "the items have failed", func() bool { return e.count("/v1/batches/"+e.failed, `"failed":2`) == 1 })
	eventually(t, "a task is dead and its notice is in the log", func() bool {
		var l struct{ Notices []struct{ NoticeID string } }
		_, _, tasks, _ := e.send("GET", "/v1/tasks?status=dead", "", bearerGood)
		_, _, text, _ := e.send("GET", "/v1/notices", "", bearerGood)
		_ = json.Unmarshal([]byte(text), &l)
		if len(l.Notices) > 0 {
			e.notice = l.Notices[0].NoticeID
		}
		return strings.Contains(tasks, e.dead+`"`) && len(l.Notices) > 0
	})
	return e
}

// count is how often a word is in the answer to a GET.
func (e *callKit) count(path, word string, headers ...string) int {
	status, _, text, _ := e.send("GET", path, "", append([]string{bearerGood}, headers...)...)
	if status != 200 {
		e.t.Errorf("GET %s: %d %s", path, status, text)
	}
	return strings.Count(text, word)
}

func (e *callKit) told(command, word string) int {
	_, _, text, _ := e.send("POST", "/v1/operator/"+command, "{}", "Authorization: Bearer boss")
	return strings.Count(text, word)
}

// keyedCalls are all requests of [postKeys] that the edge carries out.
func keyedCalls(e *callKit) map[string]keyedCall {
	field := func(body, name string) string {
		var m map[string]any
		_ = json.Unmarshal([]byte(body), &m)
		if r, is := m["result"].(map[string]any); is {
			m = r
		}
		if r, is := m["endpoint"].(map[string]any); is {
			m = r
		}
		s, _ := m[name].(string)
		return s
	}
	del := func(path, name string) func(*callKit, string) {
		return func(e *callKit, body string) {
			if status, _, text, _ := e.send("DELETE", path+field(body, name), "", bearerGood); status != 200 {
				e.t.Errorf("DELETE %s: %d %s", path, status, text)
			}
		}
	}
	command := func(path, body string) func(*callKit, string) {
		return func(e *callKit, made string) {
			body := strings.ReplaceAll(strings.ReplaceAll(body, "ID", field(made, "id")), "NAME", field(made, "name"))
			if status, _, text, _ := e.send("POST", "/v1/operator/"+path, body, "Authorization: Bearer boss"); status != 200 {
				e.t.Errorf("POST %s: %d %s", path, status, text)
			}
		}
	}
	runs := func(e *callKit) int { return e.count("/v1/schedules/"+e.schedule, `"manual":true`) }
	return map[string]keyedCall{
		"/v1/tickets": {path: "/v1/tickets", body: `{"object":"account","ttl":60000}`, other: `{"object":"account","ttl":60001}`, remove: del("/v1/tickets/", "id")},
		"/v1/links": {path: "/v1/links", body: `{"object":"` + e.task + `"}`, other: `{"object":"` + e.task + `","label":"b"}`, remove: del("/v1/links/", "id"),
			made: func(e *callKit) int { return e.count("/v1/links", `"id":"lnk_`) }},
		"/v1/sessions": {path: "/v1/sessions", body: `{}`, other: `{"label":"b"}`, now: true, remove: func(e *callKit, body string) {
			var m struct{ Session struct{ SessionID string } }
			_ = json.Unmarshal([]byte(body), &m)
			if status, _, text, _ := e.send("DELETE", "/v1/sessions/"+m.Session.SessionID, "", bearerGood); status != 200 {
				e.t.Errorf("DELETE the session %q: %d %s", m.Session.SessionID, status, text)
			}
		}, made: func(e *callKit) int { return e.count("/v1/sessions", `"sessionId"`) }},
		"/v1/sessions/{sessionId}/save": {path: "/v1/sessions/" + e.session + "/save", body: `{}`, now: true},
		"/v1/endpoints": {path: "/v1/endpoints", body: `{"url":"https://example.com/a"}`, other: `{"url":"https://example.com/b"}`, remove: del("/v1/endpoints/", "endpointId"),
			made: func(e *callKit) int { return e.count("/v1/endpoints", `"endpointId"`) }},
		"/v1/schedules/{scheduleId}/run":    {path: "/v1/schedules/" + e.schedule + "/run", body: `{}`, made: runs, now: true},
		"/v1/schedules/{scheduleId}/pause":  {path: "/v1/schedules/" + e.schedule + "/pause", body: `{}`, now: true},
		"/v1/schedules/{scheduleId}/resume": {path: "/v1/schedules/" + e.schedule + "/resume", body: `{}`, now: true},
		"/v1/batches/{batchId}/pause":       {path: "/v1/batches/" + e.batch + "/pause", body: `{}`, now: true},
		"/v1/batches/{batchId}/resume":      {path: "/v1/batches/" + e.batch + "/resume", body: `{}`, now: true},
		"/v1/batches/{batchId}/retry":       {path: "/v1/batches/" + e.failed + "/retry", body: `{}`, now: true},
		"/v1/notices/{noticeId}/redeliver":  {path: "/v1/notices/" + e.notice + "/redeliver", body: `{}`, now: true},
		"/v1/notice-secret/rotate":          {path: "/v1/notice-secret/rotate", body: `{}`},
		"/v1/tasks/{taskId}/retry":          {path: "/v1/tasks/" + e.dead + "/retry", body: `{}`, now: true},
		"/v1/operator/{order}": {path: "/v1/operator/token/create", body: `{"account":"ada","plan":"free"}`, other: `{"account":"bob","plan":"free"}`, operator: true,
			made: func(e *callKit) int { return e.told("token/list", `"id":"tok_`) }, remove: command("token/revoke", `{"id":"ID"}`)},
		"account": {path: "/v1/operator/account/create", body: `{"name":"eve","plan":"free"}`, other: `{"name":"eva","plan":"free"}`, operator: true,
			made: func(e *callKit) int { return e.told("account/list", `"name":`) }, remove: command("account/delete", `{"account":"NAME"}`)},
		"worker": {path: "/v1/operator/worker/add", body: `{"name":"extra"}`, other: `{"name":"more"}`, operator: true,
			made: func(e *callKit) int { return e.told("worker/list", `"name":`) }, remove: command("worker/remove", `{"worker":"ID","graceMs":0}`)},
	}
}

// TestEveryPostWithAKey: whatever a request makes, a key makes it once, however many come
// at once; other content is refused; and when what was made is gone, a repeat says so.
//
// Promise: A repeated request with a key makes nothing twice (docs/api.md#repeating-a-request).
func TestEveryPostWithAKey(t *testing.T) {
	e := openCallKit(t)
	calls := keyedCalls(e)
	for path, how := range postKeys {
		if _, is := calls[path]; how == keptByActors && !is && !strings.HasSuffix(path, "/enable") && !strings.HasSuffix(path, "/cancel") && path != "/v1" && path != "/v1/" && path != "/v1/execute" && path != "/v1/runs/{runId}/again" {
			t.Errorf("POST %s has no row in keyedCalls", path)
		}
	}
	n := 0
	for name, c := range calls {
		t.Run(strings.Trim(strings.ReplaceAll(name, "/", " "), " "), func(t *testing.T) {
			n++
			bearer, key := bearerGood, fmt.Sprintf("Idempotency-Key: key-%d", n)
			if c.operator {
				bearer = "Authorization: Bearer boss"
			}
			before := 0
			if c.made != nil {
				before = c.made(e)
			}
			var work sync.WaitGroup
			var mu sync.Mutex
			answers := map[string]int{}
			var first string
			for range 8 {
				work.Go(func() {
					status, _, text, _ := e.send("POST", c.path, c.body, bearer, key)
					mu.Lock()
					defer mu.Unlock()
					if status != 200 && status != 201 && status != 202 {
						t.Errorf("%d %s", status, text)
					}
					answers[text]++
					first = text
				})
			}
			work.Wait()
			if len(answers) != 1 && !c.now {
				t.Errorf("%d answers: %v", len(answers), answers)
			}
			if c.made != nil {
				eventually(t, "one is made", func() bool { return c.made(e) == before+1 })
			}
			status, p, text, _ := e.send("POST", c.path, strings.Replace(c.body, "{", "{ ", 1), bearer, key)
			if status >= 300 || !c.now && text != first {
				t.Errorf("the same in other words: %d %s", status, text)
			}
			if c.other != "" {
				if status, p, text, _ = e.send("POST", c.path, c.other, bearer, key); status != 409 || p.Code != "idempotency_mismatch" {
					t.Errorf("other content: %d %s", status, text)
				}
			}
			if status, p, text, _ = e.send("POST", "/v1/notice-secret/rotate", `{"a":1}`, bearer, key); status != 409 || p.Code != "idempotency_mismatch" {
				t.Errorf("another path: %d %s", status, text)
			}
			if c.made != nil && c.made(e) != before+1 {
				t.Errorf("there were %d and are %d", before, c.made(e))
			}
			if c.remove != nil {
				c.remove(e, first)
				if status, p, text, _ = e.send("POST", c.path, c.body, bearer, key); status != 404 || p.Code != "not_found" {
					t.Errorf("after it is gone: %d %s", status, text)
				}
			}
		})
	}
}

// TestAnswersToKeysAreSealed: the answer to a key is in the store for a day, and only sealed. That
// of a refused request is not kept.
func TestAnswersToKeysAreSealed(t *testing.T) {
	e := openCallKit(t)
	_, _, first, _ := e.send("POST", "/v1/tickets", `{"object":"account"}`, bearerGood, "Idempotency-Key: k")
	var m made
	_ = json.Unmarshal([]byte(first), &m)
	list, err := e.kit.Store.List(t.Context(), "key/")
	if err != nil || len(list) != 1 || m.Ticket == "" {
		t.Fatalf("%v, %v, %s", list, err, first)
	}
	if v := string(list[0].Value); strings.Contains(v, m.Ticket) || !strings.Contains(v, `"answer":`) || time.Until(list[0].Expires) < 23*time.Hour {
		t.Errorf("the record is %s, until %v", v, list[0].Expires)
	}

	// A refused request is not kept.
	if status, _, text, _ := e.send("POST", "/v1/links", `{"object":"task_1"}`, bearerGood, "Idempotency-Key: r"); status != 404 {
		t.Errorf("%d %s", status, text)
	}
	if list, _ := e.kit.Store.List(t.Context(), "key/"); len(list) != 1 {
		t.Errorf("%d records after a refusal", len(list))
	}
	if status, p, text, _ := e.send("POST", "/v1/tickets", `{"object":"account"}`, bearerGood, "Idempotency-Key: "); status != 400 || p.Code != "invalid_request" {
		t.Errorf("an empty key: %d %s", status, text)
	}
}

// TestSecretOfARepeat: a repeat of a change of the secret tells the one that signs now.
func TestSecretOfARepeat(t *testing.T) {
	e := openCallKit(t)
	rotate := func(key string) string {
		_, _, text, _ := e.send("POST", "/v1/notice-secret/rotate", "{}", bearerGood, "Idempotency-Key: "+key)
		var a struct{ Secret string }
		_ = json.Unmarshal([]byte(text), &a)
		return a.Secret
	}
	first := rotate("a")
	if again := rotate("a"); again != first || first == "" {
		t.Errorf("%s, then %s", first, again)
	}
	second := rotate("b")
	if again := rotate("a"); second == first || again != second {
		t.Errorf("%s, then %s, and a repeat says %s", first, second, again)
	}
}
