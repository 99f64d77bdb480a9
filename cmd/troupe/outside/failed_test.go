package outside_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"
)

// TestFailuresLookLikeFailures: a list that ran to its end with a failed action has failed
// for all that counts, repeats, tells or lists ends, unless the list tolerates the failure.
// The poll says "complete" of both.
//
// Promise: A list that ran to its end with a failure that it does not tolerate counts as
// failed everywhere but in the poll (docs/reliability.md#what-counts-as-failed).
func TestFailuresLookLikeFailures(t *testing.T) {
	var mu sync.Mutex
	told := map[string][]string{} // events by task
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n struct {
			Type string
			Data struct{ TaskID string }
		}
		if b, err := io.ReadAll(r.Body); err == nil && json.Unmarshal(b, &n) == nil {
			mu.Lock()
			told[n.Data.TaskID] = append(told[n.Data.TaskID], n.Type)
			mu.Unlock()
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer hook.Close()
	data := t.TempDir()
	c, base := serve(t, data, "--workers=2", "--allow-cidr=127.0.0.1/32")
	token := tokenLine.FindStringSubmatch(c.out.String())
	if token == nil {
		t.Fatalf("no token is printed: %s", c.out.String())
	}
	t.Setenv("TROUPE_TOKEN", token[1])
	ask := func(method, path, body string, into any) {
		t.Helper()
		status, got, err := sendTo(method, base+path, token[1], body)
		if err != nil || status >= 300 || json.Unmarshal([]byte(got), into) != nil {
			t.Fatalf("%s %s: %d, %v: %s", method, path, status, err, got)
		}
	}
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(hang); !is(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s does not happen", what)
			}
		}
	}
	for _, row := range []struct {
		name, actions string
		failed        bool
	}{
		{"clean", `[{"open":"http://demo.troupe.test/"}]`, false},
		{"tolerated", `[{"open":"http://demo.troupe.test/"},{"click":"#nope","options":{"timeout":1,"continueOnError":true}}]`, false},
		{"not tolerated", `[{"open":"http://demo.troupe.test/"},{"click":"#nope","options":{"timeout":1}},{"wait":1}]`, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			status, code, attempts, exit := "complete", "", 1, 0
			if row.failed {
				status, code, attempts, exit = "failed", "element_not_found", 2, exitFailed
			}

			// The queue: attempts, the poll, lists, notices.
			var started struct{ TaskID string }
			ask("POST", "/v1/", fmt.Sprintf(`{"queue":{"attempts":2,"retryOn":["element_not_found"],"backoff":1},"notify":[{"url":%q,"events":["end"]}],"actions":%s}`, hook.URL, row.actions), &started)
			var polled struct {
				Success bool
				Status  string
			}
			until("the end of the task", func() bool {
				ask("GET", "/v1/get-result?wait=1000&taskId="+started.TaskID, "", &polled)
				return polled.Status != "pending"
			})
			if !polled.Success || polled.Status != "complete" {
				t.Errorf("the poll says %+v", polled)
			}
			type listed struct {
				TaskID, Status, Code string
				Attempts             int
			}
			list := func(which string) (found []listed) {
				var all struct{ Tasks []listed }
				ask("GET", "/v1/tasks?status="+which+"&limit=100", "", &all)
				for _, one := range all.Tasks {
					if one.TaskID == started.TaskID {
						found = append(found, one)
					}
				}
				return found
			}
			until("the list of ended tasks", func() bool { return len(list("ended")) == 1 })
			if got := list("ended")[0]; got.Status != status || got.Code != code || got.Attempts != attempts {
				t.Errorf("the list of ended tasks has %+v, want %s %s after %d attempts", got, status, code, attempts)
			}
			if dead := list("dead"); (len(dead) == 1) != row.failed {
				t.Errorf("%+v are dead", dead)
			}
			until("the notice", func() bool { mu.Lock(); defer mu.Unlock(); return len(told[started.TaskID]) > 0 })
			if mu.Lock(); !reflect.DeepEqual(told[started.TaskID], []string{"task." + status}) {
				t.Errorf("the receiver was told %q", told[started.TaskID])
			}
			mu.Unlock()
			// A batch.
			var made struct {
				Batch struct {
					BatchID, Status  string
					Complete, Failed int
				}
			}
			ask("POST", "/v1/batches", `{"items":[{"n":1},{"n":2},{"n":3}],"task":{"actions":`+row.actions+`}}`, &made)
			until("the end of the batch", func() bool {
				ask("GET", "/v1/batches/"+made.Batch.BatchID, "", &made)
				return made.Batch.Status == "ended"
			})
			if b := made.Batch; b.Failed+b.Complete != 3 || (b.Failed == 3) != row.failed || (b.Complete == 3) == row.failed {
				t.Errorf("the batch is %+v", b)
			}

			// A schedule.
			var sched struct {
				Schedule struct {
					ScheduleID string
					Runs       []struct{ Status, Code string }
				}
			}
			ask("POST", "/v1/schedules", `{"cron":"0 0 1 1 *","task":{"actions":`+row.actions+`}}`, &sched)
			id := sched.Schedule.ScheduleID
			ask("POST", "/v1/schedules/"+id+"/run", "{}", &sched)
			until("the end of the run", func() bool {
				ask("GET", "/v1/schedules/"+id, "", &sched)
				return len(sched.Schedule.Runs) == 1 && sched.Schedule.Runs[0].Status != "queued"
			})
			if r := sched.Schedule.Runs[0]; r.Status != status || r.Code != code {
				t.Errorf("the run of the schedule is %+v", r)
			}

			// The command line.
			dir := t.TempDir()
			write := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			task, items := write("task.json", `{"actions":`+row.actions+`}`), write("items.ndjson", `{"n":1}`+"\n")
			if got, stdout, stderr := play(t, "", "batch", "run", task, items, "--out", filepath.Join(dir, "out.ndjson"), "--url", base); got != exit {
				t.Errorf("batch run ends with %d: %s%s", got, stdout, stderr)
			}
		})
	}
}
