package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// TestCancellationIsNotLost: who was told that a queued task is cancelled finds it cancelled,
// whatever is lost afterwards: the message to the node that plays it, that node, or the one
// that orders the queue. No other attempt of it begins.
func TestCancellationIsNotLost(t *testing.T) {
	t.Parallel()
	lose := func(to *testCluster, h *testNode) {
		h.cut.Store(true) // it writes nothing any more, either
		to.dies(h)
	}
	for name, loses := range map[string]func(to *testCluster, at, plays *testNode){
		"nothing":                  func(*testCluster, *testNode, *testNode) {},
		"the node that orders it":  func(to *testCluster, at, _ *testNode) { lose(to, at) },
		"the node that plays it":   func(to *testCluster, _, plays *testNode) { lose(to, plays) },
		"messages for two seconds": func(*testCluster, *testNode, *testNode) { time.Sleep(2 * time.Second) },
	} {
		t.Run("lost: "+name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{}, 16)
			to := &testCluster{t: t, store: persistence.NewMemory(), lease: clusterLease, goes: func(testkit.Call) testkit.Script {
				return testkit.Script{Do: func(ctx context.Context, _ testkit.Call) *engine.Outcome {
					begun <- struct{}{}
					select {
					case <-time.After(4 * time.Second):
						return &engine.Outcome{End: engine.EndCompleted, Data: []byte(`1`)}
					case <-ctx.Done():
						return &engine.Outcome{End: engine.EndOf(ctx)}
					}
				}}
			}}
			to.grow(0, 0, 0)
			at := to.ordered()
			plays := to.other(at)
			plays.Kit.AddWorker("the-first", "")
			third := to.other(at, plays)
			id := to.enqueue(at, anna, `{"attempts":3,"backoff":50}`)
			<-begun
			to.until("the node that orders the queue has heard of it", func() bool { return to.poll(at, anna, id, 0).Queued == nil })
			plays.wire.losing(func(subject string, _ []byte) bool { return strings.HasSuffix(subject, ".ask") })
			c, err := api.Ask(context.Background(), at.Router, &api.Cancel{TaskID: id, Account: anna, Cause: api.CauseAsked})
			if err != nil || !c.Found {
				t.Fatalf("%+v, %v", c, err)
			}
			loses(to, at, plays)
			third.Kit.AddWorker("the-next", "")
			plays.wire.losing(nil)
			if end := to.ends(third, anna, id); end != engine.EndCancelled {
				t.Errorf("the client was told that the task is cancelled, and it has ended as %s", end)
			}
			if n := len(begun); n > 0 {
				t.Errorf("it has begun %d more times", n)
			}
		})
	}
}
