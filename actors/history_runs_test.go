package actors_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/testkit"
)

// runsOf are all runs of an account, by their identifiers.
func runsOf(t *testing.T, k *testkit.Kit, account string) map[string]runs.Run {
	t.Helper()
	if err := k.Node.Runs().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := k.Node.Runs().List(t.Context(), runs.Query{Account: account, Most: 1000})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]runs.Run{}
	for _, r := range p.Runs {
		if _, twice := by[r.ID]; twice {
			t.Errorf("%s is there twice", r.ID)
		}
		by[r.ID] = r
	}
	return by
}

// TestRunsSurviveCrashes: the run of a task with async or queue is there once after the death of
// the process, with its request, also of a task that ran then. A synchronous one that ended more
// than a moment before is there, too.
func TestRunsSurviveCrashes(t *testing.T) {
	folder := t.TempDir()
	pro := testkit.Pro("ada~1")
	testkit.Run(t, testkit.Options{Workers: 3, Config: func(c *actors.Config) { c.QueuedUploads, c.History = folder, &runs.StandardBounds }}, func(t *testing.T, k *testkit.Kit) {
		fails := testkit.Script{Outcome: &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: "timeout", Text: "too long"}}}}
		sync := k.Start(pro, testkit.Task(testkit.Waiting(time.Minute)), testkit.Script{}).Answer().TaskID
		async := k.StartAsync(pro, testkit.Task(), fails).TaskID
		k.WantPoll(pro, async, time.Minute, api.TaskFailed)
		time.Sleep(time.Second)
		task, err := engine.Parse([]byte(`{"async":true,"actions":[{"open":"https://shop.example/"}]}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		late := k.SendAsync(&api.Execute{Account: pro, Task: task}, testkit.Script{Do: func(ctx context.Context, _ testkit.Call) *engine.Outcome {
			<-ctx.Done()
			return &engine.Outcome{End: engine.EndInterrupted}
		}}).TaskID
		k.Crash()
		k.Boot()
		k.WantPoll(pro, late, time.Minute, api.TaskFailed)
		got := runsOf(t, k, "ada~1")
		if len(got) != 3 {
			t.Errorf("%d runs: %v", len(got), got)
		}
		if r := got[sync]; r.State != api.TaskComplete || r.Async || r.WorkerName == "" {
			t.Errorf("the synchronous one: %+v", r)
		}
		if r := got[async]; r.State != api.TaskFailed || r.Code != "timeout" || r.Error != "too long" || !r.Async {
			t.Errorf("the asynchronous one: %+v", r)
		}
		if r := got[late]; r.State != api.TaskFailed || r.Code != engine.CodeInterrupted || !strings.Contains(string(r.Request), "actions") {
			t.Errorf("the one that ran: %+v", r)
		}
		k.Restart()
		if again := runsOf(t, k, "ada~1"); len(again) != 3 {
			t.Errorf("after another start: %d runs", len(again))
		}
		last := k.Start(pro, testkit.Task(testkit.Waiting(time.Minute)), testkit.Script{}).Answer().TaskID
		k.Restart() // it loses none, also of those that ended just now
		if r := runsOf(t, k, "ada~1")[last]; r.State != api.TaskComplete {
			t.Errorf("after a stop: %+v", r)
		}
	})
}
