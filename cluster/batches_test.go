package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

// batchOf makes a batch at a node, whose items come in parts at the nodes in turn.
func (to *testCluster) batchOf(h *testNode, key string, items, parts int) string {
	to.t.Helper()
	template, err := engine.ParseTemplate([]byte(`{"actions":[{"set":{"n":"${item.n}"}}],"queue":{"attempts":5,"backoff":10}}`), nil)
	if err != nil {
		to.t.Fatal(err)
	}
	made := to.batch(h, &api.CreateBatch{Account: anna, Key: key, Task: template.Task})
	if made.Found {
		return made.Batch.ID
	}
	from, bytes := 0, int64(0)
	for p := range parts {
		m := &api.AddBatchItems{Account: anna, ID: made.Batch.ID, From: from, Before: bytes}
		for ; from < items*(p+1)/parts; from++ {
			m.Items = append(m.Items, json.RawMessage(fmt.Sprintf(`{"n":%d}`, from)))
			bytes += int64(len(m.Items[len(m.Items)-1]))
		}
		to.batch(to.nodes[p%len(to.nodes)], m)
	}
	to.batch(h, &api.ChangeBatch{Account: anna, ID: made.Batch.ID, Change: api.BatchReady, Items: items, Bytes: bytes})
	return made.Batch.ID
}

// batch asks about a batch until a node orders the queue.
func (to *testCluster) batch(h *testNode, m api.Request[api.Batched]) *api.Batched {
	to.t.Helper()
	for end := time.Now().Add(hang); ; {
		x, err := api.Ask(context.Background(), h.Router, m)
		if err == nil && x.Refusal == nil {
			return x
		}
		if err == nil && x.Refusal.Code != engine.CodeNoQuorum || time.Now().After(end) {
			to.t.Fatalf("%T at %s: %+v, %v", m, h.name, x, err)
		}
	}
}

// ended waits at a node until a batch has ended.
func (to *testCluster) ended(h *testNode, id string) *api.Batch {
	to.t.Helper()
	for end := time.Now().Add(3 * hang); ; {
		b := to.batch(h, &api.GetBatch{Account: anna, ID: id, Wait: 2 * time.Second}).Batch
		if !b.Ended.IsZero() {
			return b
		}
		if time.Now().After(end) {
			to.t.Fatalf("the batch has not ended at %s: %+v", h.name, b)
		}
	}
}

// itemsOf reads a list of a batch at a node, in parts.
func (to *testCluster) itemsOf(h *testNode, id string, order api.BatchOrder) (all []api.BatchItem) {
	to.t.Helper()
	for after := ""; ; {
		l, err := api.Ask(context.Background(), h.Router, &api.ListBatchItems{Account: anna, ID: id, Order: order, After: after, Most: 50})
		if err != nil || l.Refusal != nil {
			to.t.Fatalf("at %s: %+v, %v", h.name, l, err)
		}
		if all, after = append(all, l.Items...), l.Next; !l.More {
			return all
		}
	}
}

// sameAtAll fails the test unless all nodes have each item of a batch once, with its own
// result, and returns the items.
func (to *testCluster) sameAtAll(id string, items int) []api.BatchItem {
	to.t.Helper()
	var first []api.BatchItem
	for i, h := range to.nodes {
		all := to.itemsOf(h, id, api.OrderEnded)
		seen := map[int]bool{}
		for _, it := range all {
			if seen[it.Index] {
				to.t.Errorf("at %s: the item %d is listed twice", h.name, it.Index)
			}
			seen[it.Index] = true
			if string(it.Item) != fmt.Sprintf(`{"n":%d}`, it.Index) {
				to.t.Errorf("at %s: the item %d is %s", h.name, it.Index, it.Item)
			}
			if it.Polled == nil || it.Polled.Executed == nil || it.Polled.Executed.Outcome == nil {
				to.t.Errorf("at %s: the item %d has no result: %+v", h.name, it.Index, it.Polled)
			}
		}
		if len(all) != items {
			to.t.Errorf("at %s: %d items have ended, of %d", h.name, len(all), items)
		}
		if i == 0 {
			first = all
		} else if !slices.EqualFunc(first, all, func(a, b api.BatchItem) bool { return a.Cursor == b.Cursor && a.Task == b.Task && a.Status == b.Status }) {
			to.t.Errorf("%s lists the items in another way", h.name)
		}
		own := to.itemsOf(h, id, api.OrderItems)
		for n, it := range own {
			if it.Index != n {
				to.t.Fatalf("at %s: the item %d is listed as number %d", h.name, it.Index, n)
			}
		}
		if len(own) != items {
			to.t.Errorf("at %s: %d items in their order, of %d", h.name, len(own), items)
		}
	}
	return first
}

// TestBatchesOfNodes: batches are made, fed, read, listed and changed at every node. Every
// item is played once, and failed ones once more when that is asked for.
func TestBatchesOfNodes(t *testing.T) {
	t.Parallel()
	const items = 300
	to := newQueueCluster(t, time.Millisecond, 2, 2, 2)
	at := to.ordered()
	other := to.other(at)
	id := to.batchOf(other, "key", items, 4)
	if again := to.batchOf(at, "key", items, 4); again != id {
		t.Errorf("the key leads to %s, not to %s", again, id)
	}
	if b := to.ended(other, id); b.Done != items || b.Failed != 0 || b.Items != items || b.State != api.BatchEnded {
		t.Errorf("%+v", b)
	}
	for _, it := range to.sameAtAll(id, items) {
		if n := to.plays(it.Task); n != 1 {
			t.Errorf("the item %d was played %d times", it.Index, n)
		}
	}
	for _, h := range to.nodes {
		l, err := api.Ask(context.Background(), h.Router, &api.ListBatches{Account: anna, Most: 10})
		if err != nil || l.Refusal != nil || len(l.Batches) != 1 || l.Batches[0].ID != id {
			t.Errorf("at %s: %+v, %v", h.name, l, err)
		}
		if x, err := api.Ask(context.Background(), h.Router, &api.GetBatch{Account: bert, ID: id}); err != nil || !x.Refusal.NotFound() && x.Refusal.Code != engine.CodeNotFound {
			t.Errorf("another account at %s: %+v, %v", h.name, x, err)
		}
	}
}

// TestBatchesOfNodesChange: a batch is paused, goes on, is cancelled and runs again, at
// nodes that do not order the queue.
func TestBatchesOfNodesChange(t *testing.T) {
	t.Parallel()
	fails := make(chan struct{})
	to := &testCluster{t: t, store: persistence.NewMemory(), lease: clusterLease, goes: func(testkit.Call) testkit.Script {
		return testkit.Script{Do: func(ctx context.Context, _ testkit.Call) *engine.Outcome {
			select {
			case <-fails:
				return &engine.Outcome{End: engine.EndCompleted, Data: []byte(`1`)}
			default:
				return &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: engine.CodeElementNotFound, Text: "no", Index: 0}}}
			}
		}}
	}}
	to.grow(1, 1, 1)
	at := to.ordered()
	one := to.other(at)
	two := to.other(at, one)
	for _, h := range to.nodes {
		h.Node.HoldQueue(true)
	}
	change := func(h *testNode, id string, c api.BatchChange) *api.Batch {
		return to.batch(h, &api.ChangeBatch{Account: anna, ID: id, Change: c}).Batch
	}
	id := to.batchOf(one, "", 10, 1)
	if b := change(two, id, api.BatchPause); b.State != api.BatchPaused {
		t.Errorf("%+v", b)
	}
	for _, h := range to.nodes {
		h.Node.HoldQueue(false)
	}
	to.until("the queue gives all items back", func() bool {
		left, err := to.store.Keys(context.Background(), "queued/", "", 10)
		return err == nil && len(left) == 0
	})
	if b := to.batch(one, &api.GetBatch{Account: anna, ID: id}).Batch; b.Waiting != 10 || b.Running+b.Done+b.Failed != 0 {
		t.Errorf("while it is paused: %+v", b)
	}
	change(one, id, api.BatchResume)
	if b := to.ended(two, id); b.Failed != 10 || len(b.Failures) != 1 || b.Failures[0].Code != engine.CodeElementNotFound || b.Failures[0].Polled == nil {
		t.Errorf("%+v", b)
	}
	if all := to.itemsOf(one, id, api.OrderFailed); len(all) != 10 {
		t.Errorf("%d items failed", len(all))
	}
	close(fails)
	change(two, id, api.BatchRetry)
	if b := to.ended(one, id); b.Done != 10 || b.Failed != 0 || b.Round != 1 {
		t.Errorf("after another round: %+v", b)
	}
	to.sameAtAll(id, 10)
	for _, h := range to.nodes {
		h.Node.HoldQueue(true)
	}
	id = to.batchOf(two, "", 10, 1)
	change(one, id, api.BatchCancel)
	for _, h := range to.nodes {
		h.Node.HoldQueue(false)
	}
	b := to.ended(two, id) // few have begun before the queue was held everywhere
	if b.State != api.BatchCancelled || b.Dropped < 5 || b.Done+b.Failed+b.Dropped != 10 {
		t.Errorf("cancelled: %+v", b)
	}
	if l, err := api.Ask(context.Background(), one.Router, &api.ListBatchItems{Account: anna, ID: id, Order: api.OrderDropped, Most: 100}); err != nil || len(l.Items) != b.Dropped || l.More || len(l.Items[0].Item) == 0 {
		t.Errorf("the dropped: %+v, %v", l, err)
	}
}

// TestBatchesThroughFaults: the node that orders the queue is cut off while items come and
// while they run. Another one goes on from the disk: each item ends once, and the counts
// are those of the results.
func TestBatchesThroughFaults(t *testing.T) {
	need.All(t)
	t.Parallel()
	const items = 400
	to := newQueueCluster(t, 20*time.Millisecond, 2, 2, 2)
	for round := range 2 {
		at := to.ordered()
		well := to.other(at)
		id := to.batchOf(well, "", items, 8)
		to.until("items end", func() bool {
			b := to.batch(well, &api.GetBatch{Account: anna, ID: id}).Batch
			return b.Done+b.Failed > 30
		})
		to.cutOff(at, true)
		to.until("another node orders the queue", func() bool {
			return well.Node.QueueNode() != "" && well.Node.QueueNode() != at.name
		})
		if round == 0 {
			to.cutOff(at, false)
		}
		b := to.ended(well, id)
		if round == 1 {
			to.cutOff(at, false)
		}
		to.ordered()
		failed := 0
		all := to.sameAtAll(id, items)
		for _, it := range all {
			n := to.plays(it.Task)
			if it.Status == api.TaskFailed {
				failed++
			}
			if n > 5 || n == 0 {
				t.Errorf("the item %d was played %d times (%s %s)", it.Index, n, it.Status, it.Code)
			}
		}
		if b.Done != items-failed || b.Failed != failed || b.State != api.BatchEnded {
			t.Errorf("%d items failed: %+v", failed, b)
		}
		t.Logf("round %d: %d failed", round, failed)
	}
	to.until("nothing is left of the batches but their ends", func() bool {
		for _, prefix := range []string{"queued/", "batchpart/"} {
			if left, err := to.store.Keys(context.Background(), prefix, "", 1); err != nil || len(left) > 0 {
				return false
			}
		}
		return true
	})
}
