package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// keyed is a task with a key of its own.
func (to *testCluster) keyed(body, key string) *api.Execute {
	return &api.Execute{Account: anna, Task: parse(to.t, body), Idempotency: api.Idempotency{Key: key, Digest: []byte(body)}}
}

// playsAt sends requests with keys to a node until one is played on a certain node, and
// returns that one.
func (to *testCluster) playsAt(from, at *testNode, s testkit.Script) *going {
	to.t.Helper()
	for i := range 50 {
		g := to.sendTask(from, to.keyed(patient, fmt.Sprintf("key %d", i)), s)
		to.until("it runs somewhere", func() bool {
			for _, h := range to.nodes {
				if h.Engine.Playing(g.id) {
					return true
				}
			}
			return false
		})
		if at.Engine.Playing(g.id) {
			return g
		}
		to.cancel(from, g)
		to.answer(g)
		for _, h := range to.nodes {
			to.until("it has ended", h.busy(0))
		}
		to.heard(from)
	}
	to.t.Fatalf("no request with a key is played on %s", at.name)
	return nil
}

func (to *testCluster) cancel(from *testNode, g *going) {
	to.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if x, err := api.Ask(ctx, from.Router, &api.Cancel{TaskID: g.id, Account: anna, Cause: api.CauseAsked}); err != nil || !x.Found {
		to.t.Fatalf("cancelled: %+v, %v", x, err)
	}
}

// TestKeysOfABusyNode: where the workers of the node that keys name are taken, a request
// is played on another one. Repetitions from any node get its answer, and whoever
// cancels it ends it there.
func TestKeysOfABusyNode(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, time.Hour, 0, 1, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	session := to.reserve(n2).SessionID
	for i := range 8 { // about half of them belong to n2
		key := fmt.Sprintf("a key %d", i)
		g := to.sendTask(n1, to.keyed(patient, key), testkit.Script{})
		if at := to.played(g); at != n3 {
			t.Fatalf("played on %s", at.name)
		}
		for _, h := range to.nodes {
			again := to.sendTask(h, to.keyed(patient, key), testkit.Script{})
			if x := to.answer(again); x.TaskID != g.id || to.plays(again.id) > 0 {
				t.Errorf("repeated at %s: %+v", h.name, x)
			}
		}
		long := to.sendTask(n1, to.keyed(patient, key+", long"), testkit.Script{Takes: time.Minute})
		to.runs(n3, long)
		to.cancel(n1, long)
		if x := to.answer(long); x.Outcome == nil || x.Outcome.End != engine.EndCancelled || long.took > soonEnough {
			t.Errorf("cancelled after %v: %+v", long.took, x)
		}
		to.until("its worker is free", n3.busy(0))
	}
	to.answer(to.send(n1, anna, fmt.Sprintf(`{"session":{"id":%q,"close":true}}`, session), testkit.Script{}))
}

// TestAKeyWhoseNodeIsLost: what had not begun is played elsewhere. What had begun is
// lost, for every node and for good, also for its own when that is back.
func TestAKeyWhoseNodeIsLost(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, time.Hour, 0, 1, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	begun := to.playsAt(n1, n2, testkit.Script{Takes: 4 * time.Second})
	key := ""
	for i := range 50 {
		if k := fmt.Sprintf("key %d", i); to.isKey(k, begun.id) {
			key = k
		}
	}
	n2.Engine.OnReset(actors.WorkerID("n2", 1), testkit.Reset{Takes: time.Minute})
	to.dies(n2)
	first := to.answer(begun)
	if first.Outcome == nil || first.Outcome.End != engine.EndLost || first.TaskID != begun.id {
		t.Fatalf("what had begun: %+v", first)
	}
	t.Logf("what had begun is answered after %v", begun.took)
	for _, h := range []*testNode{n1, n3, n2} { // n2 sees nobody, plays it to its end, and has the store
		again := to.sendTask(h, to.keyed(patient, key), testkit.Script{})
		if x := to.answer(again); x.TaskID != begun.id || x.Outcome == nil || x.Outcome.End != engine.EndLost {
			t.Errorf("at %s: %+v", h.name, x)
		}
		t.Logf("at %s answered after %v", h.name, again.took)
	}
	for i := range 4 {
		g := to.sendTask(n1, to.keyed(patient, fmt.Sprintf("a later key %d", i)), testkit.Script{})
		if at := to.played(g); at != n3 {
			t.Errorf("a later key is played on %s", at.name)
		}
		t.Logf("a later key is answered after %v", g.took)
	}
}

// isKey reports whether the record of a key has a task.
func (to *testCluster) isKey(key, task string) bool {
	k, err := to.nodes[0].Node.GiveUpKey(context.Background(), to.keyed(patient, key), "nobody")
	return err == nil && k != nil && k.TaskID == task
}
