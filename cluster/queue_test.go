package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

// newQueueCluster starts nodes with a queue, and waits until each knows which one orders
// it.
func newQueueCluster(t testing.TB, takes time.Duration, workers ...int) *testCluster {
	t.Helper()
	to := &testCluster{t: t, store: persistence.NewMemory(), lease: clusterLease, goes: func(testkit.Call) testkit.Script {
		return testkit.Script{Takes: takes}
	}}
	to.grow(workers...)
	to.ordered()
	return to
}

// ordered waits until all nodes agree on the one that orders the queue, and returns it.
func (to *testCluster) ordered(without ...*testNode) (at *testNode) {
	to.t.Helper()
	to.until("all nodes know which one orders the queue", func() bool {
		names := map[string]bool{}
		for _, h := range to.nodes {
			if !slices.Contains(without, h) {
				names[h.Node.QueueNode()] = true
			}
		}
		at = nil
		for _, h := range to.nodes {
			if names[h.name] && !slices.Contains(without, h) {
				at = h
			}
		}
		return len(names) == 1 && at != nil
	})
	return at
}

// other is a node that is none of the given ones.
func (to *testCluster) other(than ...*testNode) *testNode {
	i := slices.IndexFunc(to.nodes, func(h *testNode) bool { return !slices.Contains(than, h) })
	return to.nodes[i]
}

func (to *testCluster) poll(h *testNode, a api.Account, id string, wait time.Duration) *api.Polled {
	to.t.Helper()
	p, err := api.Ask(context.Background(), h.Router, &api.Poll{TaskID: id, Account: a, Wait: wait})
	if err != nil {
		to.t.Fatalf("poll %s at %s: %v", id, h.name, err)
	}
	return p
}

// ends waits at a node until a task has ended, and returns how.
func (to *testCluster) ends(h *testNode, a api.Account, id string) engine.End {
	to.t.Helper()
	for end := time.Now().Add(hang); ; {
		p := to.poll(h, a, id, time.Second)
		if p.Refusal == nil && p.Status != api.TaskPending {
			return p.Executed.Outcome.End
		}
		if time.Now().After(end) {
			to.t.Fatalf("%s has not ended at %s: %+v", id, h.name, p)
		}
	}
}

func (to *testCluster) listed(h *testNode, a api.Account, which api.QueueList) (ids []string) {
	to.t.Helper()
	l, err := api.Ask(context.Background(), h.Router, &api.ListQueue{Account: a, List: which, Most: 100})
	if err != nil || l.Refusal != nil {
		to.t.Fatalf("%+v, %v", l, err)
	}
	for _, t := range l.Tasks {
		ids = append(ids, t.ID)
	}
	return ids
}

// TestWaitsInTheQueueOfNodes: the node that plays a task knows since when it was due, and the
// one that orders the queue how long the oldest has waited.
func TestWaitsInTheQueueOfNodes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]time.Time{}
	to := &testCluster{t: t, store: persistence.NewMemory(), lease: clusterLease, goes: func(c testkit.Call) testkit.Script {
		mu.Lock()
		defer mu.Unlock()
		if c.Env.Queued {
			asked[c.Env.TaskID] = c.Env.Asked
		}
		return testkit.Script{}
	}}
	to.grow(1, 1, 1)
	at := to.ordered()
	for _, h := range to.nodes {
		h.Node.HoldQueue(true)
	}
	from := to.other(at)
	began := time.Now()
	soon, later := to.enqueue(from, anna, `true`), to.enqueue(from, anna, `{"startAfter":1500}`)
	within := time.Since(began) + 2*time.Millisecond // places are in whole milliseconds
	to.until("the oldest waits", func() bool { return at.Node.QueueNumbers().Oldest > 300*time.Millisecond })
	for _, h := range to.nodes {
		if n := h.Node.QueueNumbers(); (n.Oldest > 0) != (h == at) {
			t.Errorf("at %s the oldest has waited for %v; %s orders the queue", h.name, n.Oldest, at.name)
		}
	}
	for _, h := range to.nodes {
		h.Node.HoldQueue(false)
	}
	for id, after := range map[string]time.Duration{soon: 0, later: 1500 * time.Millisecond} {
		if end := to.ends(from, anna, id); end != engine.EndCompleted {
			t.Fatalf("%s ended %s", id, end)
		}
		mu.Lock()
		waits := asked[id].Sub(began)
		mu.Unlock()
		if waits < after-2*time.Millisecond || waits > after+within {
			t.Errorf("%s is due %v after its request, want %v to %v", id, waits, after, after+within)
		}
	}
	to.until("none waits", func() bool { return at.Node.QueueNumbers().Oldest == 0 })
}

// TestDrainOfTheNodeThatOrdersTheQueue: what the queue had given to the node that orders it, and
// no worker has, goes to another node when it is drained. Nothing waits there any more.
//
// Promise: `troupe drain --wait` ends when all tasks of the node have ended, also where the
// queue is ordered (docs/operations.md#drain-and-resume).
func TestDrainOfTheNodeThatOrdersTheQueue(t *testing.T) {
	t.Parallel()
	to := &testCluster{t: t, store: persistence.NewMemory(), lease: clusterLease, goes: func(c testkit.Call) testkit.Script {
		if c.Env.Queued {
			return testkit.Script{}
		}
		return testkit.Script{Takes: 2 * time.Second}
	}}
	to.grow(1, 1, 1)
	at := to.ordered()
	for _, h := range to.nodes {
		h.Node.HoldQueue(h != at)
	}
	// Its worker is about to be held by a session, and plays a task until then.
	session := parse(t, `{"actions":[{"wait":1}],"session":{"preserve":true,"timeout":600000}}`)
	opened := make(chan *api.Executed)
	go func() {
		x, err := at.Node.Execute(context.Background(), &api.Execute{Account: anna, Task: session})
		if err != nil {
			t.Error(err)
		}
		opened <- x
	}()
	to.until("its worker plays", func() bool { return at.Node.Status().Busy == 1 })
	id := to.enqueue(to.other(at), anna, `true`)
	to.until("a task of the queue waits for its worker", func() bool { return at.Node.Status().Waiting == 1 })
	if x := <-opened; x == nil || x.SessionID == "" {
		t.Fatalf("%+v", x)
	}
	for _, h := range to.nodes {
		h.Node.HoldQueue(h == at)
	}
	to.until("nothing runs and nothing waits there", func() bool { s := at.Node.Status(); return s.Busy+s.Waiting == 0 })
	if end := to.ends(at, anna, id); end != engine.EndCompleted {
		t.Errorf("the task ended %s", end)
	}
}

// TestQueueOfNodes: tasks are queued, found, listed and cancelled at every node, and every
// node plays them, each once.
func TestQueueOfNodes(t *testing.T) {
	t.Parallel()
	to := newQueueCluster(t, 20*time.Millisecond, 1, 1, 2)
	var ids []string
	to.until("every node has played", func() bool { // one may report later than others that it has room
		for i := range 60 {
			ids = append(ids, to.enqueue(to.nodes[i%3], anna, `true`))
		}
		return !slices.ContainsFunc(to.nodes, func(h *testNode) bool { return len(h.Engine.Plays()) == 0 })
	})
	late := to.enqueue(to.nodes[0], anna, `{"startAfter":3600000,"priority":9}`)
	for _, h := range to.nodes {
		if p := to.poll(h, anna, late, 0); p.Status != api.TaskPending || p.Queued == nil || p.Queued.Position < 1 {
			t.Errorf("at %s: %+v", h.name, p)
		}
		if p := to.poll(h, bert, late, 0); !p.Refusal.NotFound() {
			t.Errorf("another account at %s: %+v", h.name, p)
		}
		if l := to.listed(h, anna, api.ListWaiting); !slices.Contains(l, late) {
			t.Errorf("at %s: %d tasks wait, and not the one that starts later", h.name, len(l))
		}
	}
	for i, id := range ids {
		if end := to.ends(to.nodes[(i+1)%3], anna, id); end != engine.EndCompleted {
			t.Errorf("%s is %s", id, end)
		}
	}
	for _, id := range ids {
		if n := to.plays(id); n != 1 {
			t.Errorf("%s was played %d times", id, n)
		}
	}
	for _, h := range to.nodes {
		if l := to.listed(h, anna, api.ListEnded); len(l) != min(len(ids), 100) {
			t.Errorf("at %s: %d have ended, of %d", h.name, len(l), len(ids))
		}
	}
	c, err := api.Ask(context.Background(), to.other(to.ordered()).Router, &api.Cancel{TaskID: late, Account: anna, Cause: api.CauseAsked})
	if err != nil || !c.Found {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, h := range to.nodes {
		if end := to.ends(h, anna, late); end != engine.EndCancelled {
			t.Errorf("cancelled, and is %s at %s", end, h.name)
		}
	}
	if left, err := to.store.Keys(context.Background(), "queued/", "", 10); err != nil || len(left) > 0 {
		t.Errorf("left in the queue: %v, %v", left, err)
	}
}

// TestRequestsBesideTheQueueOfNodes: the first request without a wait finds a worker at each
// node, though the queue has the workers of all.
func TestRequestsBesideTheQueueOfNodes(t *testing.T) {
	t.Parallel()
	to := newQueueCluster(t, 300*time.Millisecond, 2, 2, 2)
	for i := range 150 {
		to.enqueue(to.nodes[i%3], anna, `true`)
	}
	to.until("the queue has the workers of all nodes", func() bool {
		return !slices.ContainsFunc(to.nodes, func(h *testNode) bool { return h.Node.Status().Busy < 2 })
	})
	for range 2 { // the first one of each node, and one more
		for _, h := range to.nodes {
			if x := h.Kit.Do(bert, testkit.Task(), testkit.Script{}); x.Refusal != nil {
				t.Errorf("at %s: %+v", h.name, x.Refusal)
			}
		}
	}
	if n := len(to.listed(to.nodes[0], anna, api.ListWaiting)); n == 0 {
		t.Error("the queue was over before the requests were")
	}
}

// TestFilesOfAQueuedTask: any node plays a task with files, also if the one that has
// received them is gone. Nothing of them is left then.
func TestFilesOfAQueuedTask(t *testing.T) {
	t.Parallel()
	to := &testCluster{t: t, store: persistence.NewMemory(), lease: clusterLease, goes: func(c testkit.Call) testkit.Script {
		return testkit.Script{Do: func(context.Context, testkit.Call) *engine.Outcome {
			b, err := os.ReadFile(c.Task.Files[0].Path)
			if err != nil {
				return &engine.Outcome{End: engine.EndCrashed}
			}
			return &engine.Outcome{End: engine.EndCompleted, Data: fmt.Appendf(nil, "%q", b)}
		}}
	}}
	to.grow(1, 1, 1)
	at := to.ordered()
	for _, h := range to.nodes {
		h.Node.HoldQueue(true)
	}
	path := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	from := to.other(at)
	freed := make(chan struct{})
	task := parse(t, `{"actions":[{"uploadFile":["input","$file:0"]}],"queue":true}`, engine.Upload{Name: "a.txt", Path: path, Size: 5})
	x, err := from.Router.Start(context.Background(), &api.Execute{Account: anna, Task: task, Asked: time.Now()}, func() { close(freed) })
	if err != nil || x.Refusal != nil {
		t.Fatalf("%+v, %v", x, err)
	}
	select {
	case <-freed:
	case <-time.After(hang):
		t.Fatal("the node that has received the files keeps them")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	plays := to.other(at, from)
	plays.Node.HoldQueue(false)
	p := to.poll(at, anna, x.TaskID, hang)
	if p.Status != api.TaskComplete || string(p.Executed.Outcome.Data) != `"hello"` {
		t.Errorf("%+v, %+v", p, p.Executed)
	}
	to.until("the end of the task is all that is left of it", func() bool {
		left, err := to.store.Keys(context.Background(), "queued/", "", 1)
		folders, _ := filepath.Glob(filepath.Join(filepath.Dir(plays.uploads), "queued", "*", "*"))
		return err == nil && len(left)+len(folders) == 0
	})
	if left, err := to.files.Sweep(context.Background(), time.Now().AddDate(1, 0, 0)); err != nil || left != 0 {
		t.Errorf("%d files are left, %v", left, err)
	}
}

// TestNobodyOrders: while no node can order the queue, a start waits and is then refused as
// one that may be repeated. What waits is there again with the majority.
func TestNobodyOrders(t *testing.T) {
	need.Time(t)
	t.Parallel()
	to := newQueueCluster(t, 0, 1, 1, 1)
	at := to.ordered()
	waits := to.enqueue(at, anna, `{"startAfter":3600000}`)
	for _, h := range to.nodes {
		to.cutOff(h, true)
	}
	began := time.Now()
	x := to.tryQueue(to.other(at), anna, `true`)
	if took := time.Since(began); x.Refusal == nil || x.Refusal.Code != engine.CodeNoQuorum || x.Refusal.RetryAfter == 0 || took > 40*time.Second {
		t.Errorf("%+v after %v", x.Refusal, took)
	}
	for _, h := range to.nodes {
		to.cutOff(h, false)
	}
	to.until("the queue is ordered again", func() bool {
		p, err := api.Ask(context.Background(), at.Router, &api.Poll{TaskID: waits, Account: anna})
		return err == nil && p.Refusal == nil && p.Queued != nil
	})
	if x := to.tryQueue(at, anna, `true`); x.Refusal != nil {
		t.Errorf("%+v", x.Refusal)
	}
}

// TestAQueueThatMovesAnswers: who waits for a node to write a start or a cancellation is
// answered when that node orders the queue no more.
func TestAQueueThatMovesAnswers(t *testing.T) {
	need.All(t)
	t.Parallel()
	to := newQueueCluster(t, 0, 1, 1, 1)
	at := to.ordered()
	waits := to.enqueue(at, anna, `{"startAfter":3600000}`)
	at.frozen.freeze("") // every write
	t.Cleanup(at.frozen.thaw)
	var both sync.WaitGroup
	both.Go(func() {
		body := `{"actions":[{"wait":1}],"timeout":60000,"queue":true}`
		x, err := at.Router.Start(context.Background(), &api.Execute{Account: anna, Task: parse(t, body), Asked: time.Now()}, nil)
		if err != nil || x.Refusal == nil || x.Refusal.Code != engine.CodeNoQuorum {
			t.Errorf("%+v, %v", x, err)
		}
	})
	both.Go(func() {
		if c, err := api.Ask(context.Background(), at.Router, &api.Cancel{TaskID: waits, Account: anna, Cause: api.CauseAsked}); err == nil {
			t.Errorf("%+v", c)
		}
	})
	to.until("both are being written", func() bool { return at.frozen.waits.Load() >= 2 })
	to.cutOff(at, true)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		both.Wait()
	}()
	select {
	case <-answered:
	case <-time.After(hang):
		t.Error("one of them is not answered")
	}
}
