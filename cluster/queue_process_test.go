package cluster_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"troupe/testkit/need"
)

var (
	queueKills   = flag.Int("queue-kills", 3, "how often TestQueueThroughKills kills a node")
	queueFreezes = flag.Int("queue-freezes", 1, "how often it freezes one")
	queueTasks   = flag.Int("queue-tasks", 500, "how many tasks it queues")
)

// queuedTask is a task of the queue with a name of its own.
func (to *services) queuedTask(takes time.Duration, options string) (body, name string) {
	return to.task(takes, `"queue":`+options+`,`)
}

// polled is how a task stands by a node: "pending", how it has ended, or nothing where the
// node cannot say.
func (to *services) polled(s *service, id string, wait time.Duration) string {
	r := to.get(s, fmt.Sprintf("/v1/get-result?taskId=%s&wait=%d", id, wait.Milliseconds()))
	var p struct{ Status, Code string }
	_ = json.Unmarshal([]byte(r.text), &p)
	if r.status != 200 || p.Status == "" {
		return ""
	}
	return p.Status + " " + p.Code
}

// back waits until every node knows that all workers have browsers, also busy ones.
func (to *services) back() {
	to.t.Helper()
	soon(to.t, "every node knows all workers", func() bool {
		for _, s := range to.all {
			r := to.get(s, "/v1/workers")
			if r.status != 200 || strings.Count(r.text, `"workerId"`) < 6 || strings.Contains(r.text, `"offline"`) {
				return false
			}
		}
		return true
	})
}

// playsOf are the lines about a named task in the file of the plays.
func (to *services) playsOf(name string) (all []string) {
	b, _ := os.ReadFile(to.plays)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == name {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

// TestQueueThroughKills: three nodes in processes work off a queue while one after the
// other is killed or frozen, each in turn, the one that orders the queue too. No
// acknowledged task is lost, each ends once and for every node alike, and one with a single
// attempt is played once, unless it was being played at a kill.
//
// Promise: A queued task never runs on two nodes at once, whichever nodes are killed or
// frozen (docs/queue.md#in-a-cluster).
func TestQueueThroughKills(t *testing.T) {
	need.All(t)
	to := newServices(t, 2, 2, 2)
	var mu sync.Mutex
	names, most := map[string]string{}, map[string]int{} // by task
	var refused, left atomic.Int64
	left.Store(int64(*queueTasks))
	began := time.Now()
	stop := to.load(6, func(client, i int) {
		if left.Add(-1) < 0 {
			time.Sleep(10 * time.Millisecond)
			return
		}
		attempts := 1 + 2*((client+i)%2)
		body, name := to.queuedTask(200*time.Millisecond, fmt.Sprintf(`{"attempts":%d,"backoff":100}`, attempts))
		for try := 0; ; try++ { // with a key: an answer that was lost is asked for again
			r := to.ask(to.all[(client+i+try)%3], "POST", "/v1/", body, "Idempotency-Key", name)
			if r.status == 202 {
				mu.Lock()
				names[r.TaskID], most[r.TaskID] = name, attempts
				mu.Unlock()
				return
			}
			if r.status != 0 && r.status != 503 {
				t.Errorf("%s: %d %s", name, r.status, r.text)
				return
			}
			if refused.Add(1); try > 300 {
				t.Errorf("%s is not taken: %d %s", name, r.status, r.text)
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
	})
	kills, freezes := *queueKills, *queueFreezes
	for round := 0; kills+freezes > 0; round++ {
		time.Sleep(time.Duration(500+rand.IntN(2000)) * time.Millisecond)
		s := to.all[round%3]
		if kills > 0 && (freezes == 0 || round%4 != 3) {
			kills--
			s.kill()
			time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
			s.start()
			s.ready()
			to.back()
			continue
		}
		freezes--
		s.signal(syscall.SIGSTOP)
		time.Sleep(sessionLease + 2*time.Second)
		s.signal(syscall.SIGCONT)
		to.back()
	}
	for left.Load() > 0 {
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	queued := time.Since(began)
	ends := map[string]string{}
	for id := range names {
		soon(t, id+" has ended", func() bool {
			ends[id] = to.polled(to.all[0], id, 10*time.Second)
			return ends[id] != "" && ends[id] != "pending "
		})
	}
	took := time.Since(began)
	plays, count, again := to.played(), map[string]int{}, 0
	for id, name := range names {
		end := ends[id]
		count[end]++
		for _, s := range to.all {
			if other := to.polled(s, id, 0); other != end {
				t.Errorf("%s is %q at one node and %q at %s", id, end, other, s.cfg.Member.Name)
			}
		}
		switch n := plays[name]; {
		case n > most[id]:
			t.Errorf("%s was played %d times, of %d attempts (%s): %s", id, n, most[id], end, to.playsOf(name))
		case n == 0 && end == "complete ":
			t.Errorf("%s was not played, and is %s", id, end)
		case n > 1:
			again++
		}
	}
	t.Logf("%d tasks queued in %v and ended after %v; %d began again, %d requests were refused meanwhile; %v", len(names), queued.Round(time.Second), took.Round(time.Second), again, refused.Load(), count)
	if len(names) != *queueTasks {
		t.Errorf("%d tasks were taken, of %d", len(names), *queueTasks)
	}
	listed := map[string]int{}
	for cursor := ""; ; {
		var l struct {
			Tasks []struct{ TaskID string }
			Next  string
		}
		r := to.get(to.all[1], "/v1/tasks?status=ended&limit=100&cursor="+cursor)
		if err := json.Unmarshal([]byte(r.text), &l); err != nil || r.status != 200 {
			t.Fatalf("%d %s", r.status, r.text)
		}
		for _, e := range l.Tasks {
			listed[e.TaskID]++
		}
		if cursor = l.Next; cursor == "" {
			break
		}
	}
	for id := range names {
		if listed[id] != 1 {
			t.Errorf("%s (%s) is %d times in the list of ended tasks", id, ends[id], listed[id])
		}
	}
}
