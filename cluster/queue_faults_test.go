package cluster_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

var queueFaults = flag.Int("queue-faults", 2, "how many clusters TestQueueThroughFaults makes")

// groupWatch counts the tasks of a group that run at once, on all nodes.
type groupWatch struct {
	mu         sync.Mutex
	now, worst int
}

func (g *groupWatch) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.worst = max(g.worst, g.now)
}

func (g *groupWatch) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
}

func (g *groupWatch) script(takes time.Duration) func(testkit.Call) testkit.Script {
	return func(c testkit.Call) testkit.Script {
		q := c.Task.Queue
		if q == nil || q.Group == "" {
			return testkit.Script{Takes: takes}
		}
		return testkit.Script{Do: func(ctx context.Context, _ testkit.Call) *engine.Outcome {
			g.enter()
			defer g.leave()
			select {
			case <-time.After(takes):
				return &engine.Outcome{End: engine.EndCompleted, Data: []byte(`1`)}
			case <-ctx.Done():
				return &engine.Outcome{End: engine.EndInterrupted}
			}
		}}
	}
}

// cutOff cuts a node off from the store and the other nodes, or lets it back.
func (to *testCluster) cutOff(h *testNode, off bool) {
	h.cut.Store(off)
	if !off {
		h.wire.losing(nil)
		return
	}
	h.wire.losing(func(string, []byte) bool { return true })
}

// TestQueueThroughFaults: nodes are cut off from the store and from each other in turn,
// the one that orders the queue first, and lose messages: no task is lost, each ends once
// and at every node in the same way, none is played more often than it may, and of a group
// one runs at a time.
func TestQueueThroughFaults(t *testing.T) {
	need.All(t)
	t.Parallel()
	for seed := range uint64(*queueFaults) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { queueThroughFaults(t, seed) })
	}
}

func queueThroughFaults(t *testing.T, seed uint64) {
	t.Parallel()
	r := rand.New(rand.NewPCG(seed, 18))
	watch := &groupWatch{}
	to := &testCluster{t: t, store: persistence.NewMemory(), lease: clusterLease, goes: watch.script(300 * time.Millisecond)}
	to.grow(2, 2, 2)
	to.ordered()
	attempts, ends := map[string]int{}, map[string]string{}
	var ids []string
	queue := func(h *testNode, n int) {
		for range n {
			most := 1 + 4*r.IntN(2)
			x := to.tryQueue(h, anna, fmt.Sprintf(`{"attempts":%d,"backoff":50,"priority":%d%s}`, most, r.IntN(10), []string{"", `,"group":"g"`, `,"startAfter":300`}[r.IntN(3)]))
			if x.Refusal == nil {
				ids = append(ids, x.TaskID)
				attempts[x.TaskID] = most
			} else if x.Refusal.Code != engine.CodeNoQuorum {
				t.Fatalf("%+v", x.Refusal)
			}
		}
	}
	for round := range 4 {
		queue(to.nodes[r.IntN(3)], 60)
		at := to.ordered()
		victim := at
		if round%2 == 1 {
			victim = to.other(at)
		}
		well := to.other(victim)
		to.cutOff(victim, true)
		time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
		if round > 1 { // less than its lease
			time.Sleep(time.Second)
		} else {
			to.until("another node orders the queue", func() bool {
				return victim != at || well.Node.QueueNode() != "" && well.Node.QueueNode() != victim.name
			})
			queue(well, 5)
			if victim != at {
				time.Sleep(2 * clusterLease)
			}
		}
		to.cutOff(victim, false)
		lossy := to.nodes[r.IntN(3)]
		lossy.wire.losing(func(string, []byte) bool { return rand.IntN(5) == 0 })
		time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
		lossy.wire.losing(nil)
	}
	for i, id := range ids {
		ends[id] = string(to.ends(to.nodes[i%3], anna, id))
	}
	to.until("the ends of all tasks are known to the node that orders the queue", func() bool {
		left, err := to.store.Keys(context.Background(), "queued/", "", 10)
		return err == nil && len(left) == 0
	})
	played := 0
	for i, id := range ids {
		n := to.plays(id)
		played += n
		for k := range to.nodes {
			if end := string(to.ends(to.nodes[(i+k)%3], anna, id)); end != ends[id] {
				t.Errorf("%s was %s, and is %s", id, ends[id], end)
			}
		}
		switch end := ends[id]; {
		case n > attempts[id]:
			t.Errorf("%s was played %d times, of %d attempts (%s)", id, n, attempts[id], end)
		case n == 0 && end == string(engine.EndCompleted):
			t.Errorf("%s was not played, and is %s", id, end)
		}
	}
	if watch.worst > 1 {
		t.Errorf("%d tasks of a group ran at once", watch.worst)
	}
	listed := map[string]int{}
	for after := ""; ; {
		l, err := api.Ask(context.Background(), to.nodes[0].Router, &api.ListQueue{Account: anna, List: api.ListEnded, Most: 100, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range l.Tasks {
			listed[e.ID]++
		}
		if after = l.Next; after == "" {
			break
		}
	}
	for _, id := range ids {
		if listed[id] != 1 {
			t.Errorf("%s (%s) is %d times in the list of ended tasks", id, ends[id], listed[id])
		}
	}
	failed := map[string]int{}
	for _, end := range ends {
		failed[end]++
	}
	t.Logf("%d tasks, %d plays, %v", len(ids), played, failed)
}

// TestALateTurnBeginsNothing: a node that stood still while it wrote down that a task
// begins does not begin it: its turn is over, and another task of the group runs. The task
// runs in its next turn.
func TestALateTurnBeginsNothing(t *testing.T) {
	need.Time(t)
	t.Parallel()
	watch, first := &groupWatch{}, make(chan struct{})
	short := watch.script(time.Millisecond)
	to := &testCluster{t: t, store: persistence.NewMemory(), lease: clusterLease, goes: func(c testkit.Call) testkit.Script {
		if c.Task.Queue.Priority != 9 {
			return short(c)
		}
		return testkit.Script{Do: func(ctx context.Context, c testkit.Call) *engine.Outcome {
			watch.enter()
			defer watch.leave()
			<-first
			return &engine.Outcome{End: engine.EndCompleted, Data: []byte(`1`)}
		}}
	}}
	to.grow(1, 1, 1)
	at := to.ordered()
	late := to.other(at)
	plays := to.other(at, late)
	for _, h := range to.nodes {
		h.Node.HoldQueue(h != late)
	}
	late.frozen.freeze("task/") // its claims
	one := to.enqueue(at, anna, `{"group":"g"}`)
	to.until("the node writes down that the task begins", func() bool { return late.frozen.waits.Load() == 1 })
	late.wire.losing(func(string, []byte) bool { return true })
	other := to.enqueue(at, anna, `{"group":"g","priority":9}`)
	plays.Node.HoldQueue(false)
	to.until("the other task of the group runs", func() bool { return plays.Engine.Playing(other) })
	late.wire.losing(nil)
	late.frozen.thaw()
	to.until("the late node has undone what it wrote", func() bool {
		_, err := to.store.Get(context.Background(), "task/"+one)
		return late.frozen.landed.Load() == 1 && errors.Is(err, persistence.ErrNotFound)
	})
	if n := to.plays(one); n > 0 || late.Engine.Playing(one) {
		t.Error("the late node has begun the task")
	}
	close(first)
	for _, id := range []string{one, other} {
		if end := to.ends(at, anna, id); end != engine.EndCompleted || to.plays(id) != 1 {
			t.Errorf("%s is %s, played %d times", id, end, to.plays(id))
		}
	}
	if watch.worst != 1 {
		t.Errorf("%d tasks of the group ran at once", watch.worst)
	}
}
