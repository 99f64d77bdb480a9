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
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"troupe/testkit/need"
)

// TestFailuresLookLikeFailures: a list that ran to its end with a failed action has failed
// for all that counts, repeats, tells or lists ends, unless the list tolerates the failure.
// The poll says "complete" of both.
//
// Promise: A list that ran to its end with a failure that it does not tolerate counts as
// failed everywhere but in the poll (docs/reliability.md#what-counts-as-failed).
func TestFailuresLookLikeFailures(t *testing.T) {
	c, base := serve(t, t.TempDir(), "--workers=2", "--allow-cidr=127.0.0.1/32", "--metrics-listen=127.0.0.1:0")
	token := tokenLine.FindStringSubmatch(c.out.String())
	if token == nil {
		t.Fatalf("no token is printed: %s", c.out.String())
	}
	failuresLookLikeFailures(t, token[1], []string{base}, []string{c.metricsAddress(t)})
}

// TestFailuresOfNodesLookLikeFailures: the same where several nodes have one queue, with
// every question at another node.
func TestFailuresOfNodesLookLikeFailures(t *testing.T) {
	need.All(t)
	t.Parallel()
	g := newTestCluster(t, 1, 1, 1)
	var bases, metrics []string
	for _, m := range g.nodes {
		bases, metrics = append(bases, m.base), append(metrics, m.metrics)
	}
	failuresLookLikeFailures(t, g.token, bases, metrics)
	g.end()
}

// counted adds up what nodes count of tasks with a status.
func counted(t *testing.T, metrics []string, status string) (n float64) {
	t.Helper()
	for _, at := range metrics {
		code, page := fetch(t, "http://"+at+"/metrics", "")
		if code != 200 {
			t.Fatalf("%s tells no metrics: %d", at, code)
		}
		for _, found := range regexp.MustCompile(`(?m)^troupe_tasks_total\{[^}]*status="`+status+`"[^}]*\} (\S+)$`).FindAllStringSubmatch(page, -1) {
			v, err := strconv.ParseFloat(found[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			n += v
		}
	}
	return n
}

// failuresLookLikeFailures tries lists with and without failures at nodes that have one
// queue. Each question goes to the next of them.
func failuresLookLikeFailures(t *testing.T, token string, bases, metrics []string) {
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
	t.Cleanup(hook.Close)
	asked := 0
	at := func() string {
		asked++
		return bases[asked%len(bases)]
	}
	ask := func(method, path, body string, into any) {
		t.Helper()
		status, got, err := sendTo(method, at()+path, token, body)
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

			completed, failed := counted(t, metrics, "completed"), counted(t, metrics, "failed")

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
			cli := []string{"batch", "run", task, items, "--out", filepath.Join(dir, "out.ndjson"), "--url", at()}
			if got, stdout, stderr := playWith(t, []string{"TROUPE_TOKEN=" + token}, "", cli...); got != exit {
				t.Errorf("batch run ends with %d: %s%s", got, stdout, stderr)
			}

			// The numbers: each attempt is a task that ran.
			ran := float64(attempts + 3 + 1 + 1)
			until("the count of the last task", func() bool {
				return counted(t, metrics, "completed")+counted(t, metrics, "failed")-completed-failed >= ran
			})
			completed, failed = counted(t, metrics, "completed")-completed, counted(t, metrics, "failed")-failed
			if want := map[bool]float64{true: ran}[row.failed]; failed != want || completed != ran-want {
				t.Errorf("%v tasks count as failed and %v as completed, of %v", failed, completed, ran)
			}
		})
	}
}
