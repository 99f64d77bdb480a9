package outside_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

// TestDrainOfTheLeaderEnds: the node that orders the queue is drained with --wait while tasks
// of the queue wait everywhere and a session holds its only worker, for which one of them and
// a request waited. The command ends long before the queue is empty, and the other nodes play
// what waits.
//
// Promise: `troupe drain --wait` ends while the queue is full, also at the node that orders it
// (docs/operations.md#drain-and-resume).
func TestDrainOfTheLeaderEnds(t *testing.T) {
	need.All(t)
	t.Parallel()
	g := newTestCluster(t, 1, 1, 1)
	leads := g.leader()
	var waits []string
	queue := func(n, takes int) {
		for i := range n {
			x := g.play(g.nodes[i%3], fmt.Sprintf(`{"queue":true,"actions":[{"wait":%d}]}`, takes))
			if x.status != 202 {
				t.Fatal(x)
			}
			waits = append(waits, x.TaskID)
		}
	}
	opened := g.send(leads, on(leads.name, `"session":{"preserve":true,"timeout":600000},"actions":[{"wait":4000}]`))
	g.until("its only worker plays what is to hold it", func() bool { return g.online(g.nodes[0]) == 2 })
	queue(29, 1500)
	session := g.good(<-opened).SessionID
	request := g.send(leads, `{"queueTimeout":60000,"actions":[{"evaluate":"return 7"}]}`)
	began := time.Now()
	code, out, errs := play(t, "", "drain", "--wait=1m", "--data="+leads.data)
	took := time.Since(began)
	if code != 0 || !strings.Contains(out, "accepts no more") {
		t.Fatalf("the drain after %v: %d %s%s", took, code, out, errs)
	}
	var left struct{ Tasks []struct{ TaskID string } }
	if x := g.ask(g.others(leads)[0], "GET", "/v1/tasks?status=queued&limit=100", ""); json.Unmarshal([]byte(x.body), &left) != nil || len(left.Tasks) == 0 {
		t.Errorf("the drain took %v, and nothing waits any more: %v", took, x)
	}
	t.Logf("the drain took %v, %d tasks waited still", took.Round(time.Millisecond), len(left.Tasks))
	if x := <-request; x.status != 200 || fmt.Sprint(x.Data) != "7" {
		t.Errorf("the request that waited there: %v", x)
	}
	for i, id := range waits {
		if x := g.poll(g.nodes[i%3], id, time.Minute); x.status != 200 || x.Status != "complete" {
			t.Errorf("%s: %v", id, x)
		}
	}
	g.good(g.play(g.nodes[0], fmt.Sprintf(`{"session":{"id":%q,"close":true}}`, session)))
	operatorCLI{t, leads.data}.says("resume")
	g.allKnow(g.workers())
	g.end()
}
