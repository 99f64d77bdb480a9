package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

func (to *testCluster) enqueueWith(h *testNode, a api.Account, profile, options string) string {
	to.t.Helper()
	body := fmt.Sprintf(`{"actions":[{"wait":1}],"timeout":60000,"profile":%s,"queue":%s}`, profile, options)
	x, err := h.Router.Start(context.Background(), &api.Execute{Account: a, Task: parse(to.t, body), Asked: time.Now()}, nil)
	if err != nil || x.Refusal != nil || x.Queued == nil {
		to.t.Fatalf("at %s: %+v, %v", h.name, x, err)
	}
	return x.TaskID
}

// inVersions fails the test unless each version of a profile has what the one before has,
// and one task more. It returns the tasks of the newest one.
func (to *testCluster) inVersions(account, name string) (tasks []string) {
	to.t.Helper()
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		to.t.Fatal(err)
	}
	profiles := persistence.NewProfiles(to.store, seal)
	of, err := profiles.Get(context.Background(), account, name)
	if err != nil {
		to.t.Fatal(err)
	}
	var before []string
	for i, v := range of.Versions {
		state, _, err := profiles.State(context.Background(), account, name, v.Version)
		if err == nil {
			tasks, err = testkit.TasksOf(state)
		}
		if err != nil || len(tasks) != v.Version || tasks[len(tasks)-1] != v.By || i > 0 && !slices.Equal(tasks[:len(tasks)-1], before) {
			to.t.Errorf("version %d of %s is saved by %s, and has %d tasks: %v", v.Version, name, v.By, len(tasks), err)
		}
		before = tasks
	}
	return tasks
}

// TestQueuedProfileOfNodes: twenty tasks of the queue use one profile on two nodes, beside
// tasks without one and requests: each saves it once, one at a time, in their order.
func TestQueuedProfileOfNodes(t *testing.T) {
	t.Parallel()
	v := &testkit.Visits{}
	to := &testCluster{t: t, store: persistence.NewMemory(), lease: clusterLease, goes: func(testkit.Call) testkit.Script { return v.Script(5 * time.Millisecond) }}
	to.grow(2, 2)
	to.ordered()
	var ids, others []string
	for i := range 20 {
		ids = append(ids, to.enqueueWith(to.nodes[i%2], anna, `"p"`, `true`))
		others = append(others, to.enqueue(to.nodes[i%2], anna, `true`))
	}
	began := time.Now()
	for _, id := range others {
		if end := to.ends(to.nodes[0], anna, id); end != engine.EndCompleted {
			t.Errorf("%s is %s", id, end)
		}
	}
	t.Logf("twenty tasks beside those with a profile took %s", time.Since(began))
	for i, id := range ids {
		if i == 10 { // from here on at the other node, with what it has of free workers
			for _, h := range to.nodes {
				h.Node.HoldQueue(slices.Contains(plays(h), ids[0]))
			}
		}
		if end := to.ends(to.nodes[(i+1)%2], anna, id); end != engine.EndCompleted || to.plays(id) != 1 {
			t.Errorf("%s is %s, and was played %d times", id, end, to.plays(id))
		}
	}
	if saved := to.inVersions(anna.ID, "p"); !slices.Equal(saved, ids) {
		t.Errorf("the profile is saved by\n%v, want\n%v", saved, ids)
	}
	for _, h := range to.nodes {
		if n := len(plays(h)); n == 0 {
			t.Errorf("%s has played nothing", h.name)
		}
	}
	if v.Worst() != 1 {
		t.Errorf("%d tasks could save the profile at once", v.Worst())
	}
}

func plays(h *testNode) (ids []string) {
	for _, p := range h.Engine.Plays() {
		ids = append(ids, p.Task)
	}
	return ids
}

// TestQueuedProfileOfALostNode: a node is lost while a task there has the profile. The
// profile is free again, the tasks that wait go on at the others, and what the lost node
// still does is not saved.
func TestQueuedProfileOfALostNode(t *testing.T) {
	need.All(t)
	t.Parallel()
	v := &testkit.Visits{}
	held := make(chan struct{})
	var attempts atomic.Int32
	to := &testCluster{t: t, store: persistence.NewMemory(), lease: clusterLease, goes: func(c testkit.Call) testkit.Script {
		if c.Task.Queue.Priority == 9 && attempts.Add(1) == 1 {
			return testkit.Script{Do: func(_ context.Context, c testkit.Call) *engine.Outcome {
				<-held // however often it is told to end: as one of a process that stands still
				bound, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				if err := c.Env.Profile.Keep(bound, []byte(`{"cookies":[],"tasks":["lost"]}`), nil); err == nil {
					t.Error("the lost node has saved the profile")
				}
				return &engine.Outcome{End: engine.EndInterrupted}
			}}
		}
		return v.Script(5 * time.Millisecond)
	}}
	to.grow(1, 1, 1)
	at := to.ordered()
	victim := to.other(at)
	for _, h := range to.nodes {
		h.Node.HoldQueue(h != victim)
	}
	lost := to.enqueueWith(at, anna, `"p"`, `{"priority":9,"attempts":2,"backoff":0}`)
	to.until("the task has the profile", func() bool { return victim.Engine.Playing(lost) })
	var ids []string
	for i := range 12 {
		ids = append(ids, to.enqueueWith(to.nodes[i%3], anna, `"p"`, fmt.Sprintf(`{"priority":%d}`, i%3)))
	}
	other := to.enqueueWith(at, anna, `"q"`, `true`)
	to.cutOff(victim, true)
	for _, h := range to.nodes {
		h.Node.HoldQueue(false)
	}
	began := time.Now()
	if end := to.ends(at, anna, other); end != engine.EndCompleted {
		t.Errorf("the task with another profile is %s", end)
	}
	for _, id := range append(ids, lost) {
		if end := to.ends(at, anna, id); end != engine.EndCompleted {
			t.Errorf("%s is %s", id, end)
		}
	}
	t.Logf("the profile was free again, and thirteen tasks have ended, after %s", time.Since(began))
	to.cutOff(victim, false)
	close(held)
	to.until("the lost node's task is over", func() bool { return !victim.Engine.Playing(lost) })
	saved := to.inVersions(anna.ID, "p")
	slices.Sort(saved)
	if want := append(ids, lost); len(saved) != len(want) {
		t.Errorf("the profile is saved by %v, want %v", saved, want)
	}
	for _, id := range ids {
		if n := to.plays(id); n != 1 || !slices.Contains(saved, id) {
			t.Errorf("%s was played %d times, and the profile is saved by %v", id, n, saved)
		}
	}
	if v.Worst() != 1 {
		t.Errorf("%d tasks could save the profile at once", v.Worst())
	}
}
