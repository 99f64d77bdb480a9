package outside_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/actors"
	"troupe/testkit/need"
)

// TestSessionsGoOnAtADrain: while a node is drained, or stops, and others of its tasks
// run for long, its sessions answer there. After the stop they answer at another node,
// with all that was saved. No request is refused.
func TestSessionsGoOnAtADrain(t *testing.T) {
	need.All(t)
	t.Parallel()
	g := newTestCluster(t, 1, 2, 1)
	m := g.nodes[1]
	const long = 5 * time.Second
	for i := range 2 * *rounds {
		how := []string{"drain", "stop"}[i%2]
		if m.dead {
			g.start(m)
			g.allKnow(g.workers())
		}
		l := g.signsIn(m)
		running := make(chan nodeAnswer, 1)
		task, n := g.site.opens()
		go func() {
			running <- g.play(m, fmt.Sprintf(`{"workerId":%q,%s,{"wait":%d},{"getText":"h1"}]}`, actors.WorkerID(m.name, 2), task, long.Milliseconds()))
		}()
		g.shows(n)
		began := time.Now()
		var drained sync.WaitGroup
		if how == "drain" {
			drained.Go(func() { g.drain(m) })
		} else {
			g.signal(m, syscall.SIGTERM)
		}
		asked, refused, slowest := 0, 0, time.Duration(0)
		for time.Since(began) < long+2*time.Second { // also while it changes hands
			at := g.nodes[asked%2*2] // not the one that goes
			x := g.play(at, fmt.Sprintf(`{"session":{"id":%q},"queueTimeout":10000,"actions":[%s]}`, l.id, looks))
			asked++
			slowest = max(slowest, x.took)
			if x.status != 200 || fmt.Sprint(x.Data) != "ada at /home, 3 apples" {
				if refused++; refused < 3 {
					t.Logf("%s: %v", how, x)
				}
			}
			time.Sleep(100 * time.Millisecond) // as a client that does something in between
		}
		t.Logf("%s: %d requests of the session, %d refused, the slowest took %v", how, asked, refused, slowest.Round(time.Millisecond))
		if refused > 0 {
			t.Errorf("%s: %d of %d requests of the session are refused", how, refused, asked)
		}
		if slowest > afterLease {
			t.Errorf("%s: a request took %v", how, slowest)
		}
		if x := <-running; x.status != 200 {
			t.Errorf("%s: the task that ran is %v", how, x)
		}
		drained.Wait()
		if how == "drain" {
			operatorCLI{t, m.data}.says("resume")
		} else {
			m.dead = true
			if err := m.end(t, hang); err != nil {
				t.Error(err)
			}
		}
		g.good(g.play(g.nodes[0], fmt.Sprintf(`{"session":{"id":%q,"close":true}}`, l.id)))
	}
}
