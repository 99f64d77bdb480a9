package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors"
	"troupe/testkit/need"
)

// TestEndsDoNotFlip: while the connection of a node is cut and healed again and again,
// what a client was told to be the end of an asynchronous task stays so, at every node.
// No request is answered with a failure of the service.
func TestEndsDoNotFlip(t *testing.T) {
	need.All(t)
	to := newServicesApart(t, 2, 2, 2)
	for round := range *doubts {
		victim, _ := to.follower(round)
		var mu sync.Mutex
		ends, told, internal := map[string]string{}, 0, 0
		var started []string // on the node that is cut off
		note := func(what string, r reply) {
			mu.Lock()
			defer mu.Unlock()
			if r.status >= 500 && r.status != 503 {
				internal++
				t.Errorf("round %d, %s: %d %s", round+1, what, r.status, r.text)
			}
		}
		end := func(id, at string, r reply) {
			if r.status != 200 || r.Status != "complete" && r.Status != "failed" {
				return
			}
			now := r.Status + " " + r.Code
			mu.Lock()
			defer mu.Unlock()
			if was, known := ends[id]; known && was != now {
				t.Errorf("round %d: the end of %s was %q, and at %s it is %q", round+1, id, was, at, now)
			}
			ends[id] = now
			told++
		}
		stop := to.load(9, func(c, i int) {
			at := to.all[c%3] // one that waits keeps no other waiting
			switch i % 4 {
			case 0:
				worker := actors.WorkerID(victim.cfg.Member.Name, 1+(c+i)%2)
				body, _ := to.task(time.Duration(300+(c*97+i*31)%900)*time.Millisecond, fmt.Sprintf(`"workerId":%q,"async":true,"queueTimeout":2000,`, worker))
				r := to.ask(at, "POST", "/v1/", body)
				note("a start", r)
				if r.status == 200 && r.TaskID != "" {
					mu.Lock()
					started = append(started, r.TaskID)
					mu.Unlock()
				}
			case 1:
				body, _ := to.task(10*time.Millisecond, `"queueTimeout":2000,"session":{"preserve":true},`)
				r := to.ask(at, "POST", "/v1/", body)
				note("a session", r)
				if r.SessionID != "" {
					note("its end", to.ask(to.all[(c+i+1)%3], "POST", "/v1/", fmt.Sprintf(`{"session":{"id":%q,"close":true},"queueTimeout":1000}`, r.SessionID)))
				}
			case 2:
				body, _ := to.task(10*time.Millisecond, `"queueTimeout":1000,`)
				note("a request with a key", to.ask(at, "POST", "/v1/", body, "Idempotency-Key", fmt.Sprintf("f%d-%d-%d", round, c, i)))
			default:
				mu.Lock()
				last := slices.Clone(started[max(0, len(started)-6):])
				mu.Unlock()
				for _, id := range last {
					r := to.get(at, "/v1/get-result?taskId="+id)
					note("a poll", r)
					end(id, at.cfg.Member.Name, r)
				}
			}
		})
		cuts := []time.Duration{2500 * time.Millisecond, 2500 * time.Millisecond, 2500 * time.Millisecond}
		if round%2 == 0 { // as long as its writes wait for a majority, and some more
			cuts = []time.Duration{time.Second, 18 * time.Second}
		}
		for _, d := range cuts {
			time.Sleep(time.Second) // of load
			to.cut(victim)
			time.Sleep(d) // for which it is cut off
			to.heal(victim)
		}
		time.Sleep(time.Second)
		stop()
		soon(t, "the nodes are one cluster", func() bool {
			for _, s := range to.all {
				r := to.get(s, "/v1/workers")
				if strings.Count(r.text, `"state"`) != 6 || strings.Contains(r.text, `"offline"`) || !strings.Contains(to.get(s, "/v1/cluster").text, `"majority":true`) {
					return false
				}
			}
			return true
		})
		mu.Lock()
		all := len(ends)
		var ids []string
		for id := range ends {
			ids = append(ids, id)
		}
		mu.Unlock()
		for _, id := range ids {
			for _, s := range to.all {
				end(id, s.cfg.Member.Name, to.get(s, "/v1/get-result?taskId="+id))
			}
		}
		t.Logf("round %d, %s: %d tasks with an end, told %d times; %d failures of the service", round+1, victim.cfg.Member.Name, all, told, internal)
	}
}

// TestShortCuts: a connection that is cut for so short that nobody counts as down loses
// messages. No task waits for one that was lost longer than it may wait, and none is
// played twice.
func TestShortCuts(t *testing.T) {
	need.All(t)
	to := newServicesApart(t, 2, 2, 2)
	for round := range *doubts {
		victim, _ := to.follower(round)
		took, elsewhere, lost := &timings{}, &timings{}, 0
		var mu sync.Mutex
		stop := to.load(6, func(c, i int) {
			at := to.all[c%3]
			if at == victim {
				at = to.all[(c+1)%3]
			}
			more, into := `"timeout":5000,"queueTimeout":2000,`, elsewhere
			if c < 4 { // for its workers
				more, into = more+fmt.Sprintf(`"workerId":%q,`, actors.WorkerID(victim.cfg.Member.Name, 1+c%2)), took
			}
			body, _ := to.task(20*time.Millisecond, more)
			r := to.ask(at, "POST", "/v1/", body)
			if into.add(r.took); r.Code == "worker_lost" {
				mu.Lock()
				lost++
				mu.Unlock()
			}
		})
		for i := range 6 {
			time.Sleep(700 * time.Millisecond) // of load
			to.cut(victim)
			time.Sleep(time.Duration(900+150*i) * time.Millisecond) // for which it is cut off
			to.heal(victim)
		}
		stop()
		t.Logf("round %d, %s: tasks for its workers %v, %d lost; others %v", round+1, victim.cfg.Member.Name, took, lost, elsewhere)
		if slowest := max(took.all[len(took.all)-1], elsewhere.all[len(elsewhere.all)-1]); slowest > 7*time.Second+busy {
			t.Errorf("round %d: a task took %v, longer than it may wait and 5 s", round+1, slowest)
		}
	}
	to.once()
}
