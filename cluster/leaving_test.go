package cluster_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// TestOnItsWayToANodeThatLeaves: what a node that leaves has not received goes on
// elsewhere, whatever it is: the node's last message says what it had begun.
func TestOnItsWayToANodeThatLeaves(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, time.Hour, 1, 0, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	x := to.reserve(n1)
	n1.wire.losing(func(subject string, _ []byte) bool { return subject == "troupe.node.n1.ask" })
	onItsWay := to.send(n2, anna, goOn(x.SessionID), testkit.Script{})
	to.until("it is lost on its way", func() bool { return n1.wire.count() > 0 })
	n1.Node.Stop()
	n1.Router.Close()
	y := to.answer(onItsWay)
	if y.Refusal != nil || y.Outcome.End != engine.EndCompleted || !y.Outcome.Restored || to.nodeOf(y.WorkerID) != n3 {
		t.Errorf("%+v, refused: %v", y.Outcome, y.Refusal)
	}
	if n := to.plays(onItsWay.id); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// TestAnswersOfANodeThatLeaves: what it had begun is answered with its end, and never runs
// again, also if the answer is lost.
func TestAnswersOfANodeThatLeaves(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{true, false} {
		to := newLeasedCluster(t, time.Hour, 1, 0, 1)
		n1, n2 := to.nodes[0], to.nodes[1]
		x := to.reserve(n1)
		running := to.send(n2, anna, goOn(x.SessionID), testkit.Script{Takes: time.Minute})
		to.runs(n1, running)
		if !answered {
			n2.wire.losing(func(subject string, _ []byte) bool { return strings.HasPrefix(subject, "_INBOX") })
		}
		n1.Router.Close()
		want := engine.EndInterrupted
		if !answered {
			want = engine.EndLost
		}
		if y := to.answer(running); y.Refusal != nil || y.Outcome.End != want {
			t.Errorf("answered %v: %+v, refused: %v", answered, y.Outcome, y.Refusal)
		}
		if n := to.plays(running.id); n != 1 {
			t.Errorf("answered %v: it ran %d times", answered, n)
		}
	}
}

// TestStartsOnTheirWayToANodeThatLeaves: asynchronous tasks too.
func TestStartsOnTheirWayToANodeThatLeaves(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, time.Hour, 1, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	x := to.reserve(n1)
	m := to.scripted(&api.Execute{Account: anna, Task: parse(t, `{"async":true,`+goOn(x.SessionID)[1:])}, testkit.Script{})
	n1.wire.losing(func(subject string, message []byte) bool {
		return subject == "troupe.node.n1.ask" && bytes.Contains(message, []byte(m.TaskID))
	})
	started := make(chan *api.Started, 1)
	go func() {
		s, err := n2.Router.Start(t.Context(), m, nil)
		if err != nil {
			t.Error(err)
		}
		started <- s
	}()
	to.until("it is lost on its way", func() bool { return n1.wire.count() > 0 })
	n1.Node.Stop()
	n1.Router.Close()
	if s := <-started; s == nil || s.Refusal != nil {
		t.Fatalf("%+v", s)
	}
	to.until("it runs once, elsewhere", func() bool { return to.plays(m.TaskID) == 1 })
}
