package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/cluster"
	"troupe/engine"
	"troupe/testkit"
)

// TestABusyNodeIsNotALostOne: a node that does as much for others as it can says so.
// What it has goes on, and nobody is told that it is lost.
func TestABusyNodeIsNotALostOne(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, clusterLease, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	m := to.scripted(&api.Execute{Account: anna, Task: parse(t, `{"async":true,"queueTimeout":15000,"actions":[{"wait":1}]}`)}, testkit.Script{Takes: time.Minute})
	started, err := n1.Router.Start(ctx, m, nil)
	if err != nil || started.Refusal != nil {
		t.Fatalf("started: %+v, %v", started, err)
	}
	to.until("it runs", func() bool { return n2.Engine.Playing(m.TaskID) })

	calm := cluster.Busy(n2.Router)
	poll := &api.Poll{TaskID: m.TaskID, Account: anna}
	var no *api.Refusal
	if p, err := api.Ask(ctx, n1.Router, poll); !errors.As(err, &no) || no.Code != engine.CodeNoQuorum || no.RetryAfter <= 0 {
		t.Errorf("a poll while its node is busy: %+v, %v", p, err)
	}
	if x, err := api.Ask(ctx, n1.Router, &api.Cancel{TaskID: m.TaskID, Account: anna, Cause: api.CauseAsked}); !errors.As(err, &no) {
		t.Errorf("a cancellation while its node is busy: %+v, %v", x, err)
	}
	named := fmt.Sprintf(`{"workerId":%q,"actions":[{"wait":1}]}`, actors.WorkerID("n2", 1))
	if x := to.answer(to.send(n1, anna, named, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeWorkerOffline || x.Refusal.RetryAfter <= 0 {
		t.Errorf("a task for its worker: %+v", x)
	}
	if r, err := api.Ask(ctx, n1.Router, &api.RemoveAccount{Account: bert.ID}); err == nil {
		t.Errorf("the removal of an account, of which the node has not heard: %+v", r)
	}
	calm()

	if p, err := api.Ask(ctx, n1.Router, poll); err != nil || p.Status != api.TaskPending {
		t.Errorf("a poll afterwards: %+v, %v", p, err)
	}
	if x, err := api.Ask(ctx, n1.Router, &api.Cancel{TaskID: m.TaskID, Account: anna, Cause: api.CauseAsked}); err != nil || !x.Found {
		t.Errorf("a cancellation afterwards: %+v, %v", x, err)
	}
	poll.Wait = hang
	if p, err := api.Ask(ctx, n1.Router, poll); err != nil || p.Status != api.TaskFailed || p.Executed.Outcome.End != engine.EndCancelled {
		t.Errorf("how it ended: %+v, %v", p, err)
	}
}

// TestATaskThatCannotBeForwardedIsPlayedElsewhere: the files of its task cannot be written
// where a worker is free, and so nothing of it has begun there.
func TestATaskThatCannotBeForwardedIsPlayedElsewhere(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 2, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	if err := os.RemoveAll(n2.uploads); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	body := `{%s"queueTimeout":15000,"actions":[{"uploadFile":["input","$file:0"]}]}`
	task := func(more string) *api.Execute {
		up := engine.Upload{Name: "a.txt", Type: "text/plain", Path: file, Size: 5}
		return &api.Execute{Account: anna, Task: parse(t, fmt.Sprintf(body, more), up)}
	}
	if at := to.played(to.sendTask(n1, task(""), testkit.Script{})); at != n3 {
		t.Errorf("it was played on %s", at.name)
	}
	named := fmt.Sprintf(`"workerId":%q,`, actors.WorkerID("n2", 1))
	if x := to.answer(to.sendTask(n1, task(named), testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeWorkerOffline {
		t.Errorf("a task for its worker: %+v", x)
	}
	if lost := n1.Router.Counters().Lost; lost != 0 {
		t.Errorf("%d tasks are counted as lost", lost)
	}
}

// TestCancelledWithoutAnAnswer: a task that was told to end, and of which its node
// then has no answer, is answered as one of which nobody knows how far it was.
func TestCancelledWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	session := to.reserve(n2).SessionID
	g := to.send(n1, anna, goOn(session), testkit.Script{Do: func(ctx context.Context, _ testkit.Call) *engine.Outcome {
		<-ctx.Done()
		broken := json.RawMessage("{") // which no message can hold
		return &engine.Outcome{End: engine.EndCancelled, Failures: []engine.Failure{{Action: broken}}}
	}})
	to.runs(n2, g)
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if x, err := api.Ask(ctx, n1.Router, &api.Cancel{TaskID: g.id, Account: anna, Cause: api.CauseAsked}); err != nil || !x.Found {
		t.Fatalf("cancelled: %+v, %v", x, err)
	}
	if x := to.answer(g); x.Outcome == nil || x.Outcome.End != engine.EndLost {
		t.Errorf("its answer: %+v", x)
	}
}
