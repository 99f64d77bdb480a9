package outside_test

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/testkit/wait"
)

// TestWhatANewKeyLeaves: after --reset-key each list answers and names what it cannot open,
// that can be removed and made anew, and nothing is replaced in silence.
//
// Promise: After a new key, lists name what cannot be opened, and it can be removed (docs/operations.md#a-new-key).
func TestWhatANewKeyLeaves(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c, base := serve(t, data, "--workers=1")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	ask := func(method, path, body string, want int) map[string]any {
		t.Helper()
		code, text, err := sendTo(method, base+path, token, body)
		var x map[string]any
		if err == nil {
			err = json.Unmarshal([]byte(text), &x)
		}
		if err != nil || code != want {
			t.Fatalf("%s %s: %d, %v: %.500s", method, path, code, err, text)
		}
		return x
	}
	of := func(x map[string]any, names ...string) string {
		t.Helper()
		for _, n := range names[:len(names)-1] {
			x, _ = x[n].(map[string]any)
		}
		s, _ := x[names[len(names)-1]].(string)
		if s == "" {
			t.Fatalf("no %v", names)
		}
		return s
	}
	const task = `"actions":[{"open":"http://demo.troupe.test/"}]`
	endpoint := of(ask("POST", "/v1/endpoints", `{"url":"http://demo.troupe.test/hook"}`, 200), "endpoint", "endpointId")
	schedule := of(ask("POST", "/v1/schedules", `{"every":3600000,"task":{`+task+`}}`, 201), "schedule", "scheduleId")
	batch := of(ask("POST", "/v1/batches", `{"task":{`+task+`},"items":[{"n":1}]}`, 202), "batch", "batchId")
	ask("POST", "/v1/", `{"queueTimeout":20000,"profile":"kept",`+task+`}`, 200)
	secret := of(ask("GET", "/v1/notice-secret", "", 200), "secret")
	later := of(ask("POST", "/v1/", `{"async":true,"queue":{"startAfter":3600000},`+task+`}`, 202), "taskId")
	dead := of(ask("POST", "/v1/", `{"async":true,"queue":{},"actions":[{"open":"http://nothing.invalid/"}]}`, 202), "taskId")
	var waiting []string
	wait.Until(t, "notices of ends wait", func() bool {
		waiting = nil
		list, _ := ask("GET", "/v1/notices?status=waiting", "", 200)["notices"].([]any)
		for _, n := range list {
			waiting = append(waiting, of(n.(map[string]any), "noticeId"))
		}
		return len(ask("GET", "/v1/tasks?status=dead", "", 200)["tasks"].([]any)) == 1 && len(waiting) == 3
	})
	wait.Until(t, "the batch has ended", func() bool {
		return of(ask("GET", "/v1/batches/"+batch, "", 200), "batch", "status") == "ended"
	})
	stop := func() {
		t.Helper()
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := c.end(t, hang); err != nil {
			t.Fatal(err)
		}
	}
	due := time.Now().Add(6 * time.Second) // its turn comes when the service runs again
	soon := of(ask("POST", "/v1/", `{"async":true,"queue":{"startAfter":"`+due.UTC().Format(time.RFC3339Nano)+`"},`+task+`}`, 202), "taskId")
	stop()

	time.Sleep(time.Until(due))
	c, base = serve(t, data, "--workers=1", "--reset-key")
	for path, lost := range map[string]struct{ method, remove, id string }{
		"/v1/endpoints":              {"DELETE", "/v1/endpoints/" + endpoint, endpoint},
		"/v1/schedules":              {"DELETE", "/v1/schedules/" + schedule, schedule},
		"/v1/batches":                {"POST", "/v1/batches/" + batch + "/cancel", batch},
		"/v1/profiles":               {"DELETE", "/v1/profiles/kept", "kept"},
		"/v1/tasks?status=queued":    {"DELETE", "/v1/tasks/", later + " " + soon},
		"/v1/tasks?status=dead":      {"", "", dead},
		"/v1/notices?status=waiting": {"", "", strings.Join(waiting, " ")},
	} {
		named := func() string {
			t.Helper()
			var all []string
			list, _ := ask("GET", path, "", 200)["unreadable"].([]any)
			for _, id := range list {
				all = append(all, id.(string))
			}
			slices.Sort(all)
			return strings.Join(all, " ")
		}
		ids := strings.Fields(lost.id)
		slices.Sort(ids)
		if got := named(); got != strings.Join(ids, " ") {
			t.Errorf("%s names %q: want %q", path, got, ids)
		}
		if lost.method == "" { // they go when their time is over
			continue
		}
		body := ""
		if lost.method == "POST" {
			body = "{}"
		}
		for _, id := range ids {
			if !strings.HasSuffix(lost.remove, "/") {
				id = ""
			} else if x := ask("GET", "/v1/get-result?taskId="+id, "", 500); x["code"] != "unreadable" {
				t.Errorf("a poll of a task that cannot be opened: %v", x)
			}
			if code, text, err := sendTo(lost.method, base+lost.remove+id, token, body); err != nil || code/100 != 2 {
				t.Errorf("%s %s: %d, %v: %s", lost.method, lost.remove+id, code, err, text)
			}
			if id != "" {
				if x := ask("GET", "/v1/get-result?taskId="+id, "", 200); x["code"] != "cancelled" {
					t.Errorf("a poll of one that was deleted: %v", x)
				}
			}
		}
		if got := named(); got != "" {
			t.Errorf("%s still names %q", path, got)
		}
	}
	if x := ask("GET", "/v1/notice-secret", "", 500); x["code"] != "unreadable" {
		t.Errorf("the secret that signs notices: %v", x)
	}
	if fresh := of(ask("POST", "/v1/notice-secret/rotate", "{}", 200), "secret"); fresh == secret || fresh != of(ask("GET", "/v1/notice-secret", "", 200), "secret") {
		t.Errorf("after the rotation it is %q, before it was %q", fresh, secret)
	}
	ask("POST", "/v1/", `{"queueTimeout":20000,"profile":"kept",`+task+`}`, 200)
	stop()
}
