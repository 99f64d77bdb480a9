package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/cluster"
	"troupe/engine"
	"troupe/testkit"
	"troupe/testkit/need"
)

// losesOrders loses so many tasks that are sent to a node, but nothing else.
func losesOrders(h *testNode, most int) {
	n := 0
	h.wire.losing(func(_ string, m []byte) bool {
		if len(m) < 2 || m[1] != cluster.KindExecute || n == most {
			return false
		}
		n++
		return true
	})
}

// soonEnough is long for a task that waits for nothing, and short beside what a task
// may take.
const soonEnough = 5 * time.Second

// TestALostOrderIsSentAgain: once, whatever it is for, and it is played once.
func TestALostOrderIsSentAgain(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, clusterLease, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	session := to.reserve(n2).SessionID
	for name, body := range map[string]string{
		"a task of a session": goOn(session),
		"with its worker":     fmt.Sprintf(`{"workerId":%q,"session":{"id":%q},"actions":[{"wait":1}]}`, actors.WorkerID("n2", 1), session),
	} {
		losesOrders(n2, 1)
		g := to.send(n1, anna, body, testkit.Script{})
		if x := to.answer(g); x.Refusal != nil || x.Outcome.End != engine.EndCompleted {
			t.Errorf("%s: %+v, %v", name, x.Outcome, x.Refusal)
		}
		if n := n2.wire.count(); n != 1 || to.plays(g.id) != 1 || g.took > soonEnough {
			t.Errorf("%s: %d lost, played %d times, answered after %v", name, n, to.plays(g.id), g.took)
		}
		t.Logf("%s: answered after %v", name, g.took.Round(time.Millisecond))
	}
	n2.wire.losing(nil)
	to.answer(to.send(n1, anna, fmt.Sprintf(`{"session":{"id":%q,"close":true}}`, session), testkit.Script{}))
	to.until("its worker is free", n2.busy(0))
	losesOrders(n2, 1)
	g := to.send(n1, anna, patient, testkit.Script{})
	if at := to.played(g); at != n2 || n2.wire.count() != 1 || g.took > soonEnough {
		t.Errorf("a task for any worker: on %s after %v, %d lost", at.name, g.took, n2.wire.count())
	}
	if lost := n1.Router.Counters().Lost; lost != 0 {
		t.Errorf("%d tasks are counted as lost", lost)
	}
}

// TestOrdersThatNeverArrive: a task that only that node may play is refused soon, as
// one that has not begun, and any other is played elsewhere.
func TestOrdersThatNeverArrive(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 2, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	losesOrders(n2, -1)
	named := to.send(n1, anna, fmt.Sprintf(`{"workerId":%q,"actions":[{"wait":1}]}`, actors.WorkerID("n2", 1)), testkit.Script{})
	if x := to.answer(named); x.Refusal == nil || x.Refusal.Code != engine.CodeWorkerOffline || x.Refusal.RetryAfter <= 0 || named.took > soonEnough {
		t.Errorf("for its worker, after %v: %+v", named.took, x)
	}
	g := to.send(n1, anna, patient, testkit.Script{})
	if at := to.played(g); at != n3 || g.took > soonEnough {
		t.Errorf("for any worker: on %s after %v", at.name, g.took)
	}
	if len(n2.Engine.Plays()) > 0 || n1.Router.Counters().Lost != 0 {
		t.Errorf("it has played %v, and %d are counted as lost", n2.Engine.Plays(), n1.Router.Counters().Lost)
	}
}

// TestALostAnswerIsGivenAgain: and the task is not played again for it.
func TestALostAnswerIsGivenAgain(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	first := true
	n1.wire.losing(func(subject string, m []byte) bool {
		was := first && strings.HasPrefix(subject, "_INBOX.") && len(m) > 1 && m[1] == cluster.KindExecuted
		first = first && !was
		return was
	})
	g := to.send(n1, anna, patient, testkit.Script{})
	if at := to.played(g); at != n2 || to.plays(g.id) != 1 || n1.wire.count() != 1 || g.took > soonEnough {
		t.Errorf("on %s after %v, played %d times, %d lost", at.name, g.took, to.plays(g.id), n1.wire.count())
	}
	t.Logf("answered after %v", g.took)
}

// TestAnAnswerIsFetchedAgain: one that came, and of which a piece was lost on its way, is given
// again, and the task does not run again.
func TestAnAnswerIsFetchedAgain(t *testing.T) {
	need.Time(t)
	t.Parallel()
	to := newLeasedCluster(t, clusterLease, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	data := []byte(`"` + strings.Repeat("x", 2<<20) + `"`)
	var once atomic.Bool
	n2.wire.losing(func(subject string, _ []byte) bool {
		return subject == "troupe.node.n2.piece" && once.CompareAndSwap(false, true)
	})
	g := to.send(n1, anna, patient, testkit.Script{Do: func(context.Context, testkit.Call) *engine.Outcome {
		return &engine.Outcome{End: engine.EndCompleted, Data: data}
	}})
	if x := to.answer(g); x.Refusal != nil || !bytes.Equal(x.Outcome.Data, data) {
		t.Errorf("it ends as %s, refused: %v", x.Outcome.End, x.Refusal)
	}
	if n := n2.wire.count(); n != 1 || to.plays(g.id) != 1 {
		t.Errorf("%d pieces were lost, and it ran %d times", n, to.plays(g.id))
	}
}
