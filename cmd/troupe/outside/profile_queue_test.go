package outside_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/testkit/need"
)

// TestQueuedProfileOnTwoNodes: twenty tasks at once use one profile on two nodes (and an
// arbiter), from the queue and from a schedule. One of the nodes is killed while
// it plays one of them. All end, each goes on where another has stopped, and nothing is lost.
func TestQueuedProfileOnTwoNodes(t *testing.T) {
	need.All(t)
	t.Parallel()
	g := newTestCluster(t, 2, 2, 0)
	at := g.nodes[2]
	site := shop(t).URL
	task := fmt.Sprintf(`"profile":"shop-ada","timeout":60000,"queue":{"attempts":3,"backoff":0},"actions":[{"open":%q},{"wait":300},{"evaluate":%s}]`, site, quoted(countsVisits))
	var ids []string
	send := func(path, body string, status int, into any) {
		t.Helper()
		x := g.ask(at, "POST", path, body)
		if x.err != nil || x.status != status || json.Unmarshal([]byte(x.body), into) != nil {
			t.Fatalf("%s: %v", path, x)
		}
	}
	for range 19 {
		var one struct{ TaskID string }
		send("/v1/", "{"+task+"}", 202, &one)
		ids = append(ids, one.TaskID)
	}
	var s struct {
		Schedule struct {
			ScheduleID string
			Runs       []struct{ TaskID string }
		}
	}
	send("/v1/schedules", fmt.Sprintf(`{"every":3600000,"task":{%s}}`, task), 201, &s)
	send("/v1/schedules/"+s.Schedule.ScheduleID+"/run", `{}`, 200, &s)
	g.until("the schedule has begun its task", func() bool {
		_ = json.Unmarshal([]byte(g.ask(at, "GET", "/v1/schedules/"+s.Schedule.ScheduleID, "").body), &s)
		return len(s.Schedule.Runs) > 0 && s.Schedule.Runs[0].TaskID != ""
	})
	ids = append(ids, s.Schedule.Runs[0].TaskID)

	var victim *member
	g.until("three tasks have saved the profile, and the next one runs", func() bool {
		saved := g.saved(at)
		if len(saved.Versions) < 3 {
			return false
		}
		var all struct {
			Workers []struct{ WorkerID, TaskID string }
		}
		_ = json.Unmarshal([]byte(g.ask(at, "GET", "/v1/workers", "").body), &all)
		for _, w := range all.Workers {
			if w.TaskID == "" || strings.Contains(fmt.Sprint(saved.Versions), w.TaskID) { // it has saved already
				continue
			}
			for _, m := range g.nodes[:2] {
				if w.WorkerID == actors.WorkerID(m.name, 1) || w.WorkerID == actors.WorkerID(m.name, 2) {
					victim = m
					return true
				}
			}
		}
		return false
	})
	g.kill(victim)
	began := time.Now()

	var data []string
	for _, id := range ids {
		var x nodeAnswer
		g.until(id+" has ended", func() bool {
			x = g.poll(at, id, 20*time.Second)
			return x.Status == "complete" || x.Status == "failed"
		})
		if text, _ := x.Data.(string); x.Status != "complete" {
			t.Errorf("%s: %v", id, x)
		} else {
			data = append(data, text)
		}
	}
	t.Logf("%s was killed: %s until all have ended, the profile was saved %d times", victim.name, time.Since(began).Round(time.Second), g.saved(at).Version)
	slices.Sort(data)
	if len(slices.Compact(slices.Clone(data))) != 20 {
		t.Errorf("tasks went on from the same state: %v", data)
	}
	n := g.saved(at).Version // one more, where the task was killed after it had saved
	if want := fmt.Sprintf("%d,%d,%[1]d", n+1, n+1); n < 20 || n > 21 {
		t.Errorf("the profile was saved %d times", n)
	} else if x := g.play(at, visit(`{"name":"shop-ada","readonly":true}`, site)); x.Data != want {
		t.Errorf("the profile has %v, want %s", x, want)
	}
}

// savedProfile is what is told of a profile.
type savedProfile struct {
	Version  int
	Versions []struct{ TaskID string }
}

// saved is the account's only profile.
func (g *testCluster) saved(at *member) savedProfile {
	var all struct{ Profiles []savedProfile }
	if _ = json.Unmarshal([]byte(g.ask(at, "GET", "/v1/profiles", "").body), &all); len(all.Profiles) == 0 {
		return savedProfile{}
	}
	return all.Profiles[0]
}
