package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

func forwardable(account api.Account, wait time.Duration) *api.Execute {
	return &api.Execute{Account: account, Task: testkit.Task(testkit.Waiting(wait)), Forwardable: true}
}

// sentTo is where an answer sends its task; empty: nowhere.
func sentTo(x *api.Executed) string {
	if x.Refusal == nil || x.Refusal.ForwardTo == nil {
		return ""
	}
	return x.Refusal.ForwardTo.Node
}

func TestForwardableTasksPreferTheirNode(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		anna := testkit.Pro("anna")
		k.Node.PeerReports(&api.PeerCapacity{Node: "n2", Free: 1})
		k.Node.PeerReports(&api.PeerCapacity{Node: "n3", Free: 3})
		k.Node.PeerReports(&api.PeerCapacity{Node: "n4", Own: map[string]int{"bert": 9}})
		first := k.Send(forwardable(anna, 0), testkit.Script{Takes: 20 * time.Second})
		k.Until("w1", api.Busy)
		if x := k.Send(forwardable(anna, 0), testkit.Script{}).Answer(); sentTo(x) != "n3" {
			t.Errorf("the second task goes to %q (%v), want the node with the most", sentTo(x), x.Refusal)
		}
		if x := k.Send(&api.Execute{Account: anna, Task: testkit.Task()}, testkit.Script{}).Answer(); sentTo(x) != "" {
			t.Errorf("a task that may not be forwarded goes to %q", sentTo(x))
		}
		named := forwardable(anna, 0)
		named.Task.WorkerID = "w1"
		if x := k.Send(named, testkit.Script{}).Answer(); x.Refusal.Code != engine.CodeWorkerBusy || sentTo(x) != "" {
			t.Errorf("a task that names its worker gets %v", x.Refusal)
		}
		k.WantEnd(first, engine.EndCompleted)
	})
}

// TestForwardableTasksKeepTheirPlace: whoever waits takes what frees first, here or
// elsewhere, and loses nothing by having tried.
func TestForwardableTasksKeepTheirPlace(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		anna := testkit.Pro("anna")
		blocker := k.Send(forwardable(anna, 0), testkit.Script{Takes: 20 * time.Second})
		k.Until("w1", api.Busy)
		began := time.Now()
		early := k.Send(forwardable(anna, 90*time.Second), testkit.Script{Takes: 20 * time.Second})
		synctest.Wait()
		late := k.Send(forwardable(anna, 30*time.Second), testkit.Script{Takes: 20 * time.Second})
		synctest.Wait()
		if n := k.Node.Status().Waiting; n != 2 {
			t.Fatalf("%d wait, want 2", n)
		}

		k.Node.PeerReports(&api.PeerCapacity{Node: "n2", Free: 1})
		x := early.Answer()
		if sentTo(x) != "n2" || late.Answered() {
			t.Fatalf("the first is sent to %q, the second has an answer: %v", sentTo(x), late.Answered())
		}
		back := forwardable(anna, 90*time.Second)
		back.TaskID, back.Place = early.ID, x.Refusal.ForwardTo.Place
		back.Place.Refused = "n2"
		again := k.Send(back, testkit.Script{Takes: 20 * time.Second})
		k.WantEnd(blocker, engine.EndCompleted)
		k.WantEnd(again, engine.EndCompleted)
		if took := time.Since(began); took < 39*time.Second || took > 41*time.Second {
			t.Errorf("the one that came back ended after %v, want twice 20 s: it was before the other", took)
		}
		if x := late.Answer(); x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable {
			t.Errorf("the second got %+v", x)
		}

		// A forwarded task waits on its own node.
		k.WantState("w1", api.Online)
		last := k.Send(forwardable(anna, 0), testkit.Script{Takes: 20 * time.Second})
		k.WantState("w1", api.Busy)
		forwarded := forwardable(anna, time.Minute)
		forwarded.Forwarded, forwarded.Forwardable = true, false
		at := time.Now()
		if x := k.Send(forwarded, testkit.Script{}).Answer(); x.Refusal == nil || time.Since(at) > time.Second {
			t.Errorf("a forwarded task got %+v after %v", x, time.Since(at))
		}
		k.WantEnd(last, engine.EndCompleted)
	})
}

// TestSessionsElsewhereCount: what an account holds on other nodes counts.
func TestSessionsElsewhereCount(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 4}, func(t *testing.T, k *testkit.Kit) {
		anna := testkit.Pro("anna")
		most := engine.DefaultLimits()[engine.Pro].Reserved
		k.Node.PeerReports(&api.PeerCapacity{Node: "n2", Held: map[string]int{"anna": most}})
		if x := k.Do(anna, testkit.Task(testkit.Preserve()), testkit.Script{}); x.Refusal == nil || x.Refusal.Code != engine.CodeSessionLimit {
			t.Errorf("got %+v", x)
		}
		k.Node.PeerReports(&api.PeerCapacity{Node: "n2"})
		if x := k.Do(anna, testkit.Task(testkit.Preserve()), testkit.Script{}); x.Refusal != nil {
			t.Errorf("refused: %v", x.Refusal)
		}
	})
}

// TestADrainingNodeSendsTasksAway: what comes to it, and what waits, goes to workers
// of others, and to none of its own.
func TestADrainingNodeSendsTasksAway(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		anna := testkit.Pro("anna")
		k.Node.PeerReports(&api.PeerCapacity{Node: "n2", Free: 1, Usable: 2})
		away := func(wait time.Duration) *api.Execute {
			x := forwardable(anna, wait)
			x.RemoteOnly = true
			return x
		}
		if x := k.Send(away(0), testkit.Script{}).Answer(); sentTo(x) != "n2" {
			t.Errorf("beside a worker of its own the task goes to %q (%v)", sentTo(x), x.Refusal)
		}
		if x := k.Send(away(0), testkit.Script{}).Answer(); x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable || sentTo(x) != "" {
			t.Errorf("where no other node has a free worker: %+v", x)
		}
		waits := k.Send(away(time.Minute), testkit.Script{})
		k.UntilWaiting(1)
		k.Node.PeerReports(&api.PeerCapacity{Node: "n2", Free: 1, Usable: 2})
		if x := waits.Answer(); sentTo(x) != "n2" {
			t.Errorf("who waited goes to %q (%v)", sentTo(x), x.Refusal)
		}
		own := k.Send(forwardable(anna, 0), testkit.Script{Takes: 5 * time.Second})
		k.Until("w1", api.Busy)
		if x := k.Send(away(10*time.Second), testkit.Script{}).Answer(); x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable {
			t.Errorf("beside a worker that frees here: %+v", x)
		}
		k.WantEnd(own, engine.EndCompleted)
		named := away(time.Minute)
		named.Task.WorkerID = "w1"
		if x := k.Send(named, testkit.Script{}).Answer(); x.Refusal == nil || x.Refusal.Code != engine.CodeDraining {
			t.Errorf("a task for its own worker: %+v", x)
		}

		// The node ends: what may go elsewhere waits on, and what answers later does
		// not.
		running := k.Send(forwardable(anna, 0), testkit.Script{Takes: 20 * time.Second})
		k.Until("w1", api.Busy)
		late, fixed := forwardable(anna, 10*time.Second), forwardable(anna, time.Minute)
		fixed.Forwardable = false
		goes := k.Send(forwardable(anna, time.Minute), testkit.Script{})
		k.UntilWaiting(1)
		stays, impatient := k.Send(fixed, testkit.Script{}), k.Send(late, testkit.Script{})
		patient := k.Send(forwardable(anna, 100*time.Second), testkit.Script{})
		k.UntilWaiting(4)
		began := time.Now()
		done := make(chan *api.Drained, 1)
		go func() { done <- k.Drain(time.Minute) }()
		if x := stays.Answer(); x.Refusal == nil || x.Refusal.Code != engine.CodeDraining {
			t.Errorf("what may not be forwarded: %+v", x)
		}
		k.Node.PeerReports(&api.PeerCapacity{Node: "n2", Free: 1, Usable: 2})
		if x := goes.Answer(); sentTo(x) != "n2" {
			t.Errorf("who waits at the end goes to %q (%v)", sentTo(x), x.Refusal)
		}
		if x := impatient.Answer(); x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable {
			t.Errorf("whose time is over: %+v", x)
		}
		k.WantEnd(running, engine.EndCompleted)
		if d := <-done; d.Interrupted != 0 {
			t.Errorf("interrupted: %+v", d)
		}
		if x := patient.Answer(); x.Refusal == nil || x.Refusal.Code != engine.CodeDraining || time.Since(began) != time.Minute {
			t.Errorf("when the grace is over, after %v: %+v", time.Since(began), x)
		}
		k.Node.PeerReports(&api.PeerCapacity{Node: "n2"}) // it is down
		if x := k.Send(away(time.Minute), testkit.Script{}).Answer(); x.Refusal == nil || x.Refusal.Code != engine.CodeDraining {
			t.Errorf("where nobody else is there: %+v", x)
		}
	})
}

// TestAStartedTaskIsBackAtOnce: one that answers later, and that another node had no
// worker for after all.
func TestAStartedTaskIsBackAtOnce(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		anna := testkit.Pro("anna")
		blocker := k.Send(forwardable(anna, 0), testkit.Script{Takes: time.Second})
		k.Until("w1", api.Busy)
		m := forwardable(anna, time.Minute)
		m.TaskID, m.Task.Async = "task_back", true
		for range 200 {
			k.Node.PeerReports(&api.PeerCapacity{Node: "n2", Free: 1})
			x, err := k.Node.Start(context.Background(), m, nil)
			if err != nil || x.Refusal == nil || x.Refusal.ForwardTo == nil {
				t.Fatalf("started: %+v, %v", x, err)
			}
		}
		k.Node.PeerReports(&api.PeerCapacity{Node: "n2"})
		if x, err := k.Node.Start(context.Background(), m, nil); err != nil || x.Refusal != nil {
			t.Errorf("back at its node: %+v, %v", x, err)
		}
		k.WantEnd(blocker, engine.EndCompleted)
	})
}
