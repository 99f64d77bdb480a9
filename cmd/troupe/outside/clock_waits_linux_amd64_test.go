package outside_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"troupe/testkit/need"
)

var clockWaits = flag.Duration("clock-waits", 70*time.Second, "how long TestClockWaits sets the clock of a service with schedules")

// TestClockWaits sets the clock of a running service forward and back while schedules, delayed
// tasks and further attempts wait. Each time has one run, and nothing begins more than 15 s
// late, by the time that passes.
func TestClockWaits(t *testing.T) {
	need.Browser(t)
	need.Time(t)
	if !need.AllAsked() && !need.Named() {
		t.Skip("it takes a minute: make test-all runs it, and -clock-waits 10m for ten")
	}
	t.Parallel()
	long := *clockWaits
	const late, every = 15 * time.Second, 10 * time.Second
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := operatorCLI{t, filepath.Join(dir, "data")}
	c, base := serve(t, d.data, "--workers=2", "--allow-private")
	token := d.says("token", "create", "--account=ada", "--plan=pro")
	make := func(path, body string, into any) {
		t.Helper()
		status, text, err := postTo(base+path, token, body)
		if err == nil {
			err = json.Unmarshal([]byte(text), into)
		}
		if err != nil || status/100 != 2 {
			t.Fatalf("POST %s: %d, %v: %s", path, status, err, text)
		}
	}
	type one struct {
		ScheduleID string
		Runs       []struct{ PlannedAt, TaskID, Status string }
	}
	var made struct{ Schedule one }
	make("/v1/schedules", fmt.Sprintf(`{"every":%d,"missed":"skip","task":{"actions":[{"wait":1}]}}`, every.Milliseconds()), &made)
	path := "/v1/schedules/" + made.Schedule.ScheduleID + "?runs=100"
	var minutely struct{ Schedule one }
	make("/v1/schedules", `{"cron":"* * * * *","missed":"once","task":{"actions":[{"wait":1}]}}`, &minutely)

	clock := wallClockOf(t, c.Process.Pid)
	r := rand.New(rand.NewPCG(45, 1))
	began, lastRun := time.Now(), time.Now()
	tasks, planned := map[string]string{}, map[string]string{} // what each task was planned for, and the other way round
	see := func(path string) (fresh int) {
		status, text := get(t, base, token, path)
		var a struct{ Schedule one }
		if err := json.Unmarshal([]byte(text), &a); err != nil || status != 200 {
			t.Fatalf("GET %s: %d, %v: %s", path, status, err, text)
		}
		for _, run := range a.Schedule.Runs {
			key := path + " " + run.PlannedAt
			if run.TaskID == "" || tasks[run.TaskID] == key {
				continue
			}
			if tasks[run.TaskID] != "" || planned[key] != "" {
				t.Errorf("%s has the tasks %s and %s", key, planned[key], run.TaskID)
			}
			tasks[run.TaskID], planned[key] = key, run.TaskID
			fresh++
		}
		return fresh
	}
	type delayed struct {
		id  string
		due time.Time
	}
	var waits []delayed
	var begun, most time.Duration
	crons, steps := 0, 0
	for next := began.Add(5 * time.Second); time.Since(began) < long; time.Sleep(250 * time.Millisecond) {
		now := time.Now()
		if see(path) > 0 {
			most, lastRun = max(most, now.Sub(lastRun)), now
		} else if gap := now.Sub(lastRun); gap > every+late {
			t.Fatalf("nothing ran for %s", gap)
		}
		crons += see("/v1/schedules/" + minutely.Schedule.ScheduleID + "?runs=100")
		for i := 0; i < len(waits); i++ {
			w := waits[i]
			if status, text := get(t, base, token, "/v1/get-result?taskId="+w.id); status == 200 && read(t, text).Data == "ran" {
				begun = max(begun, now.Sub(w.due))
				waits = slices.Delete(waits, i, i+1)
				i--
			} else if now.Sub(w.due) > late {
				t.Fatalf("a delayed task has not ended %s after it was due: %d %s", now.Sub(w.due), status, text)
			}
		}
		if now.After(next) {
			ahead := []time.Duration{0, 40 * time.Second, time.Hour, -time.Hour, 26 * time.Hour, -3 * 24 * time.Hour, 60 * 24 * time.Hour, -20 * time.Second}[r.IntN(8)]
			var task struct{ TaskID string }
			make("/v1/", `{"queue":{"startAfter":6000},"actions":[{"evaluate":"return 'ran'"}]}`, &task)
			waits = append(waits, delayed{task.TaskID, time.Now().Add(6 * time.Second)})
			clock.set(ahead)
			steps++
			next = now.Add(time.Duration(8+r.IntN(20)) * time.Second)
		}
	}
	if steps < 2 || len(tasks) == 0 {
		t.Errorf("%d steps, %d runs", steps, len(tasks))
	}
	t.Logf("%d steps in %s: %d runs of the interval and %d of the cron line, each once; the longest time between two of every %s was %s; delayed tasks ended up to %s after they were due",
		steps, time.Since(began).Round(time.Second), len(tasks)-crons, crons, every, most.Round(time.Millisecond), begun.Round(time.Millisecond))
}
