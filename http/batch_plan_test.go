package http_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/testkit"
)

// TestBatchFollowsThePlanOfNow: an account that gets another plan has its batches under
// that one. What the plan does not have waits, those too that are in the queue already, and
// the batch says why. It goes on when the account has the plan again.
func TestBatchFollowsThePlanOfNow(t *testing.T) {
	beside(t)
	for _, items := range []int{12, 400} { // all of them fit into the queue at once, or not
		var plan atomic.Value
		plan.Store(engine.Pro)
		played, plays := atomic.Int64{}, make(chan struct{})
		eng := testkit.NewEngine()
		eng.Default = func(testkit.Call) testkit.Script {
			return testkit.Script{Do: func(context.Context, testkit.Call) *engine.Outcome {
				if played.Add(1) == 1 {
					<-plays // until the account has another plan
				}
				return &engine.Outcome{End: engine.EndCompleted}
			}}
		}
		k := testkit.New(t, testkit.Options{Workers: 1, Engine: eng, Config: func(c *actors.Config) {
			c.QueuedUploads = t.TempDir()
			c.Account = func(_ context.Context, id string) (api.Account, error) {
				return api.Account{ID: id, Plan: plan.Load().(engine.Plan)}, nil
			}
		}})
		e := openServer(t, k.Node, func(c *http.Config) { c.Live = k.Node })
		id := askBatch(t, e, "POST", "/v1/batches", lines, itemLines(items, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }), 202).Batch.BatchID
		eventually(t, "an item runs", func() bool { return played.Load() == 1 })
		plan.Store(engine.Free)
		time.Sleep(1100 * time.Millisecond) // the plan is looked up again after a second
		close(plays)
		eventually(t, "the batch is held", func() bool {
			_, text := call(t, e, "GET", "/v1/batches/"+id, "good", "")
			return strings.Contains(text, `"held":"plan_required"`)
		})
		eventually(t, "nothing of it waits in the queue", func() bool { return k.Node.Status().Queued == 0 })
		if n := played.Load(); n > 3 { // one more may have begun while the first one ended
			t.Errorf("%d of %d items were played", n, items)
		}
		plan.Store(engine.Pro)
		if b := ended(t, e, id); b.Complete != items || b.Failed != 0 {
			t.Errorf("the end: %+v", b)
		}
		if n := played.Load(); n != int64(items) {
			t.Errorf("%d of %d items were played", n, items)
		}
	}
}
