package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/cluster"
	"troupe/engine"
	"troupe/testkit"
)

// TestTasksGoWhereWorkersAreFree: local ones first, then the node with the most,
// then whichever frees first.
func TestTasksGoWhereWorkersAreFree(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 1, 1, 2)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	long := testkit.Script{Takes: 10 * time.Minute} // until somebody ends it
	var all []*going
	for i, want := range []*testNode{n1, n3, n2, n3} {
		g := to.send(n1, anna, plain, long)
		all = append(all, g)
		to.runs(want, g)
		if i == 1 { // then both have one, and the first by name gets the next
			to.heard(n1)
		}
	}
	if x := to.answer(to.send(n1, anna, plain, long)); x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable || x.Refusal.ForwardTo != nil {
		t.Errorf("the fifth got %+v", x)
	}

	waiting := to.send(n1, anna, `{"actions":[{"wait":1}],"queueTimeout":15000}`, testkit.Script{})
	to.until("it waits", func() bool { return n1.Node.Status().Waiting == 1 })
	all[2].leave() // the client of the task on n2 goes away
	if h := to.played(waiting); h != n2 {
		t.Errorf("who waited was played by %s, and n2 was free first", h.name)
	}
	for _, g := range all {
		g.leave()
	}
	for _, g := range all {
		if x := to.answer(g); x.Outcome.End != engine.EndCancelled {
			t.Errorf("the answer to who left: %+v", x.Outcome)
		}
	}
}

// TestNamesLeadToTheirNodes: a worker or a session is reached from anywhere, at
// once after it was opened.
func TestNamesLeadToTheirNodes(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 1, 1, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	named := fmt.Sprintf(`{"workerId":%q,"session":{"preserve":true},"actions":[{"wait":1}]}`, actors.WorkerID("n2", 1))
	x := to.answer(to.send(n1, anna, named, testkit.Script{}))
	if x.Refusal != nil || x.SessionID == "" || to.nodeOf(x.WorkerID) != n2 {
		t.Fatalf("the worker of n2, asked for at n1, answers %+v", x)
	}
	goOn := fmt.Sprintf(`{"session":{"id":%q},"actions":[{"wait":1}]}`, x.SessionID)
	for _, h := range []*testNode{n3, n1, n2} { // n3 cannot have heard of it
		if at := to.played(to.send(h, anna, goOn, testkit.Script{})); at != n2 {
			t.Errorf("from %s the session leads to %s", h.name, at.name)
		}
	}
	if x := to.answer(to.send(n3, bert, goOn, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeSessionMismatch {
		t.Errorf("another account's session answers %+v", x)
	}
	shut := fmt.Sprintf(`{"session":{"id":%q,"close":true},"actions":[{"wait":1}]}`, x.SessionID)
	if at := to.played(to.send(n1, anna, shut, testkit.Script{})); at != n2 {
		t.Errorf("closed on %s", at.name)
	}
	n2.Until(actors.WorkerID("n2", 1), api.Online)
	if x := to.answer(to.send(n3, anna, goOn, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeSessionMismatch {
		t.Errorf("a session that is over answers %+v", x)
	}
}

// TestAnyNodeTellsOfATask: start, poll, follow and cancel from different nodes.
func TestAnyNodeTellsOfATask(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1, 0)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	start := func(s testkit.Script) string {
		t.Helper()
		m := to.scripted(&api.Execute{Account: anna, Task: parse(t, `{"async":true,"queueTimeout":15000,"actions":[{"wait":1}]}`)}, s)
		freed := 0
		x, err := n1.Router.Start(ctx, m, func() { freed++ })
		if err != nil || x.Refusal != nil || to.nodeOf(x.WorkerID) != n2 {
			t.Fatalf("started: %+v, %v", x, err)
		}
		if freed != 1 { // the other node has them
			t.Errorf("the task's files were freed %d times", freed)
		}
		return x.TaskID
	}
	id := start(testkit.Script{Takes: time.Second, Steps: 3})
	for _, h := range []*testNode{n1, n3} {
		f, err := api.Ask(ctx, h.Router, &api.Follow{TaskID: id, Account: anna, Wait: 10 * time.Second})
		if err != nil || f.Refusal != nil || len(f.Steps) == 0 {
			t.Fatalf("followed from %s: %+v, %v", h.name, f, err)
		}
		p, err := api.Ask(ctx, h.Router, &api.Poll{TaskID: id, Account: anna, Wait: 10 * time.Second})
		if err != nil || p.Status != api.TaskComplete || p.Executed.Outcome == nil || len(p.Executed.Outcome.Data) == 0 {
			t.Fatalf("polled from %s: %+v, %v", h.name, p, err)
		}
		if p, err = api.Ask(ctx, h.Router, &api.Poll{TaskID: id, Account: bert}); err != nil || p.Refusal == nil || p.Refusal.Code != engine.CodeTaskNotFound {
			t.Errorf("another account is told from %s: %+v, %v", h.name, p, err)
		}
	}
	long := start(testkit.Script{Takes: time.Minute})
	if x, err := api.Ask(ctx, n3.Router, &api.Cancel{TaskID: long, Account: bert, Cause: api.CauseAsked}); err != nil || x.Found {
		t.Errorf("another account's cancellation: %+v, %v", x, err)
	}
	if x, err := api.Ask(ctx, n3.Router, &api.Cancel{TaskID: long, Account: anna, Cause: api.CauseAsked}); err != nil || !x.Found {
		t.Errorf("cancelled: %+v, %v", x, err)
	}
	if p, err := api.Ask(ctx, n1.Router, &api.Poll{TaskID: long, Account: anna, Wait: 10 * time.Second}); err != nil || p.Status != api.TaskFailed || p.Executed.Outcome.End != engine.EndCancelled {
		t.Errorf("the cancelled task: %+v, %v", p, err)
	}

	// A task that is waited for, on its way at another node, ends the same.
	to.until("n2 has ended it", n2.busy(0))
	g := to.send(n1, anna, patient, testkit.Script{Takes: time.Minute})
	to.runs(n2, g)
	if x, err := api.Ask(ctx, n1.Router, &api.Cancel{TaskID: g.id, Account: anna, Cause: api.CauseAsked}); err != nil || !x.Found {
		t.Errorf("cancelled: %+v, %v", x, err)
	}
	if x := to.answer(g); x.Outcome == nil || x.Outcome.End != engine.EndCancelled {
		t.Errorf("its answer: %+v", x)
	}
}

// TestCancelledAsItBegins: a task that is cancelled while its worker at another node
// asks whether it may begin, or has not heard yet that it may, has not begun, and its
// client is told so.
func TestCancelledAsItBegins(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	for _, said := range []bool{false, true} {
		clean := make(chan struct{})
		n2.Engine.OnReset(actors.WorkerID("n2", 1), testkit.Reset{Until: clean})
		to.played(to.send(n1, anna, patient, testkit.Script{}))
		played := len(n2.Engine.Plays())
		g := to.send(n1, anna, patient, testkit.Script{Takes: time.Minute})
		to.until("n2 has it", func() bool { return cluster.Hosts(n2.Router, g.id) })
		release := cluster.CancelUnanswered(n1.Router, g.id, said, func() { // once it is clean, and asks: before that it would be cancelled otherwise
			close(clean)
			to.until("n2 asks n1", func() bool { return cluster.Asked(n1.Router) == 1 })
		})
		to.until("n2 has dropped it", n2.busy(0))
		release()
		if x := to.answer(g); x.Refusal == nil || x.Refusal.Code != engine.CodeCancelled {
			t.Errorf("its answer: %+v", x)
		}
		if n := len(n2.Engine.Plays()); n != played {
			t.Errorf("n2 has played %d tasks, want %d", n, played)
		}
	}
}

// TestAnAccountIsRemovedEverywhere: with its tasks and sessions on all nodes.
func TestAnAccountIsRemovedEverywhere(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 1, 1, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	on2 := fmt.Sprintf(`{"workerId":%q,"actions":[{"wait":1}]}`, actors.WorkerID("n2", 1))
	on3 := fmt.Sprintf(`{"workerId":%q,"session":{"preserve":true},"actions":[{"wait":1}]}`, actors.WorkerID("n3", 1))
	running := to.send(n1, anna, on2, testkit.Script{Takes: time.Minute})
	to.runs(n2, running)
	to.played(to.send(n1, anna, on3, testkit.Script{}))
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	n, err := api.Ask(ctx, n1.Router, &api.RemoveAccount{Account: anna.ID})
	if err != nil || n.Tasks != 1 || n.Sessions != 1 {
		t.Fatalf("removed: %+v, %v", n, err)
	}
	if x := to.answer(running); x.Outcome == nil || x.Outcome.End != engine.EndCancelled {
		t.Errorf("its task: %+v", x)
	}
	for _, h := range to.nodes {
		if x := to.answer(to.send(h, anna, plain, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeUnauthorized {
			t.Errorf("%s takes its tasks: %+v", h.name, x)
		}
		to.until("nothing of it is on "+h.name, func() bool { return h.Node.Status().Online == 1 })
	}
}

// TestDrainingNodesOfferNothing: their workers stay where they are.
func TestDrainingNodesOfferNothing(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	if h := to.played(to.send(n1, anna, plain, testkit.Script{})); h != n2 {
		t.Errorf("played on %s", h.name)
	}
	if !n1.Router.Status().Ready() {
		t.Error("a node without workers is not ready beside one that has some")
	}
	named := fmt.Sprintf(`{"workerId":%q,"actions":[{"wait":1}]}`, actors.WorkerID("n2", 1))
	n2.paused.Store(true)
	if x := to.answer(to.send(n1, anna, named, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeDraining {
		t.Errorf("a paused node answers %+v", x)
	}
	if x := to.answer(to.send(n1, anna, plain, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable {
		t.Errorf("beside a paused node: %+v", x)
	}
	n2.paused.Store(false)
	to.until("it takes tasks again", func() bool { return n1.Router.Status().Ready() })
	n2.Drain(time.Second)
	if x := to.answer(to.send(n1, anna, plain, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable {
		t.Errorf("got %+v", x)
	}
	to.until("it is known", func() bool { return !n1.Router.Status().Ready() })
}

// TestADrainedNodeSendsTasksOn: whoever comes to it is answered by the others, and
// its own workers get nothing.
func TestADrainedNodeSendsTasksOn(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 1, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	x := to.answer(to.send(n1, anna, fmt.Sprintf(`{"workerId":%q,"session":{"preserve":true},"actions":[{"wait":1}]}`, actors.WorkerID("n1", 1)), testkit.Script{}))
	if x.SessionID == "" {
		t.Fatalf("no session: %+v", x)
	}
	shut := fmt.Sprintf(`{"session":{"id":%q,"close":true}}`, x.SessionID)
	n1.paused.Store(true)
	to.until("it is known", func() bool { return n2.Router.Status().PeerWorkers == 0 })
	away := func(body, key string, s testkit.Script) *going {
		m := &api.Execute{Account: anna, Task: parse(t, body), RemoteOnly: true}
		if key != "" {
			m.Idempotency = api.Idempotency{Key: key, Digest: []byte("same")}
		}
		return to.sendTask(n1, m, s)
	}
	if x := to.answer(away(shut, "", testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeDraining {
		t.Errorf("a session of the node: %+v", x)
	}
	n1.paused.Store(false)
	to.played(to.send(n2, anna, shut, testkit.Script{}))
	n1.Until(actors.WorkerID("n1", 1), api.Online)
	n1.paused.Store(true)
	to.until("it is known", func() bool { return n2.Router.Status().PeerWorkers == 0 })

	named := func(h *testNode) string {
		return fmt.Sprintf(`{"workerId":%q,"queueTimeout":5000,"actions":[{"wait":1}]}`, actors.WorkerID(h.name, 1))
	}
	first := away(plain, "", testkit.Script{Takes: time.Minute})
	to.runs(n2, first)
	second := away(patient, "", testkit.Script{})
	to.until("it waits", func() bool { return n1.Node.Status().Waiting == 1 })
	first.leave()
	for what, g := range map[string]*going{
		"who waited":               second,
		"who names a worker of n2": away(named(n2), "", testkit.Script{}),
		"who has a key":            away(`{"queueTimeout":5000,"actions":[{"wait":1}]}`, "the key", testkit.Script{}),
	} {
		if h := to.played(g); h != n2 {
			t.Errorf("%s was played by %s", what, h.name)
		}
	}
	if x := to.answer(away(named(n1), "", testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeDraining {
		t.Errorf("a task for a worker of the node: %+v", x)
	}
}

// TestALeavingNodeSaysHowFarATaskIs: whoever waits at it for a task of another one is
// not kept, and the task is not taken for lost.
func TestALeavingNodeSaysHowFarATaskIs(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, 0, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	m := to.scripted(&api.Execute{Account: anna, Task: parse(t, `{"async":true,"actions":[{"wait":1}]}`)}, testkit.Script{Takes: time.Minute})
	if x, err := n1.Router.Start(ctx, m, nil); err != nil || x.Refusal != nil {
		t.Fatalf("started: %+v, %v", x, err)
	}
	poll := &api.Poll{TaskID: m.TaskID, Account: anna}
	long := *poll
	long.Wait = time.Minute
	type told struct {
		p   *api.Polled
		err error
	}
	waits := make(chan told, 1)
	go func() {
		p, err := api.Ask(ctx, n1.Router, &long)
		waits <- told{p, err}
	}()
	to.until("it waits", func() bool { return cluster.Waits(n1.Router) == 1 })
	n1.Router.Close()
	if x := <-waits; x.err != nil || x.p.Refusal != nil || x.p.Status != api.TaskPending {
		t.Errorf("who waited is told %+v, %v", x.p, x.err)
	}
	if p, err := api.Ask(ctx, n1.Router, poll); !errors.Is(err, engine.ErrDraining) {
		t.Errorf("who comes then is told %+v, %v", p, err)
	}
	if p, err := api.Ask(ctx, n2.Router, poll); err != nil || p.Status != api.TaskPending {
		t.Errorf("at its node the task is %+v, %v", p, err)
	}
}

// TestKeysMeet: requests with one key are played once, wherever they come in.
func TestKeysMeet(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 1, 1, 1)
	var wg sync.WaitGroup
	answers := make([]*api.Executed, 9)
	ids := make([]string, len(answers))
	for i := range answers {
		m := to.scripted(&api.Execute{Account: anna, Task: parse(t, plain)}, testkit.Script{Takes: 200 * time.Millisecond})
		m.Idempotency = api.Idempotency{Key: "the key", Digest: []byte("same")}
		ids[i] = m.TaskID
		h := to.nodes[i%3]
		wg.Go(func() {
			x, err := h.Router.Execute(context.Background(), m)
			if err != nil {
				t.Error(err)
			}
			answers[i] = x
		})
	}
	wg.Wait()
	plays := 0
	for i, id := range ids {
		plays += to.plays(id)
		if x := answers[i]; x == nil || x.Outcome == nil || x.TaskID != answers[0].TaskID {
			t.Errorf("answer %d: %+v", i, x)
		}
	}
	if plays != 1 {
		t.Errorf("played %d times", plays)
	}
}
