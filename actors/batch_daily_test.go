package actors_test

import (
	"encoding/json"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// TestBatchNamesTheDailyLimit: a batch whose account has used up its day says so, whichever of
// its tasks the queue has tried, and no longer when the next day has begun.
func TestBatchNamesTheDailyLimit(t *testing.T) {
	const daily = 5
	o := testkit.Options{Workers: 2, Engine: each(func(testkit.Call) testkit.Script { return testkit.Script{Takes: time.Second} })}
	o.Config = func(c *actors.Config) {
		c.QueuedUploads = t.TempDir()
		limits := engine.DefaultLimits()[engine.Pro]
		limits.TasksPerDay = daily
		c.Limits = map[engine.Plan]engine.Limits{engine.Pro: limits}
	}
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		ask := func(m api.Request[api.Batched]) *api.Batch {
			t.Helper()
			x, err := api.Ask(t.Context(), k.Node, m)
			if err != nil || x.Refusal != nil {
				t.Fatalf("%T: %+v, %v", m, x, err)
			}
			return x.Batch
		}
		begin := func(items int) string {
			t.Helper()
			task, no := engine.ParseTemplate([]byte(`{"actions":[{"wait":1}]}`), nil)
			if no != nil {
				t.Fatal(no)
			}
			id := ask(&api.CreateBatch{Account: anna, Task: task.Task}).ID
			all := make([]json.RawMessage, items)
			for i := range all {
				all[i] = json.RawMessage(`{}`)
			}
			ask(&api.AddBatchItems{Account: anna, ID: id, Items: all})
			ask(&api.ChangeBatch{Account: anna, ID: id, Change: api.BatchReady})
			return id
		}
		small := begin(3)
		time.Sleep(10 * time.Second)
		if b := ask(&api.GetBatch{Account: anna, ID: small}); b.Held != "" || b.Done != 3 {
			t.Errorf("within the day: %+v", b)
		}
		ids := []string{begin(3), begin(3)} // either has more than what is left of the day
		time.Sleep(time.Minute)
		ids = append(ids, begin(1)) // the queue tries none of its tasks today
		time.Sleep(time.Minute)
		done := 0
		for _, id := range ids {
			b := ask(&api.GetBatch{Account: anna, ID: id})
			if done += b.Done; b.Held != engine.CodeDailyLimit {
				t.Errorf("when the day is used up: %+v", b)
			}
		}
		if done != daily-3 {
			t.Errorf("%d tasks have run, want %d", done+3, daily)
		}
		if n := k.Node.QueueNumbers().Batches; n.Held != len(ids) || n.HeldFor < time.Minute {
			t.Errorf("in numbers: %+v", n)
		}
		time.Sleep(24 * time.Hour)
		for _, id := range ids {
			if b := ask(&api.GetBatch{Account: anna, ID: id}); b.Held != "" || b.State != api.BatchEnded {
				t.Errorf("on the next day: %+v", b)
			}
		}
	})
}
