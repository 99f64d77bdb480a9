package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// TestATaskThatWasGivenUpStaysSo: two nodes on one store. What a node plays that
// another one takes for lost has failed for both.
func TestATaskThatWasGivenUpStaysSo(t *testing.T) {
	named := func(node string) func(*actors.Config) {
		return func(c *actors.Config) { c.Node = node }
	}
	store, files := persistence.NewMemory(), persistence.NewMemoryFiles()
	testkit.Run(t, testkit.Options{Workers: 1, Store: store, Files: files, Config: named("n1")}, func(t *testing.T, k *testkit.Kit) {
		anna, ctx := testkit.Pro("anna"), context.Background()
		other, err := actors.Start(actors.Config{Engine: testkit.NewEngine(), Store: store, Files: files, Node: "n2"})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Stop()
		ask := func(id string, f func(context.Context, *api.Poll) (*api.Polled, error)) *api.Polled {
			t.Helper()
			p, err := f(ctx, &api.Poll{TaskID: id, Account: anna})
			if err != nil || p.Refusal != nil {
				t.Fatalf("%s: %+v, %v", id, p, err)
			}
			return p
		}

		poll := func(ctx context.Context, m *api.Poll) (*api.Polled, error) { return api.Ask(ctx, other, m) }
		ended := k.StartAsync(anna, testkit.Task(), testkit.Script{Takes: time.Second}).TaskID
		if p := ask(ended, poll); p.Status != api.TaskPending || p.Node != "n1" {
			t.Errorf("another node tells of a task that runs: %+v", p)
		}
		k.WantPoll(anna, ended, time.Minute, api.TaskComplete)
		if p := ask(ended, poll); p.Node != "n1" {
			t.Errorf("the owner has the say: %+v", p)
		}
		if p := ask(ended, other.PollLost); p.Status != api.TaskComplete || len(p.Executed.Outcome.Data) == 0 {
			t.Errorf("a result outlives its node: %+v", p)
		}

		lost := k.StartAsync(anna, testkit.Task(), testkit.Script{Takes: 10 * time.Second}).TaskID
		if p, err := other.PollLost(ctx, &api.Poll{TaskID: lost, Account: testkit.Pro("bert")}); err != nil || p.Refusal == nil || p.Refusal.Code != engine.CodeTaskNotFound {
			t.Errorf("another account: %+v, %v", p, err)
		}
		for range 2 {
			if p := ask(lost, other.PollLost); p.Status != api.TaskFailed || p.Executed.Outcome.End != engine.EndLost {
				t.Errorf("given up: %+v", p)
			}
		}
		time.Sleep(20 * time.Second) // n1 was not dead, and plays it to its end
		synctest.Wait()
		if p := k.WantPoll(anna, lost, 0, api.TaskFailed); p.Executed.Outcome.End != engine.EndLost {
			t.Errorf("its node says %+v", p.Executed.Outcome)
		}
		if p := ask(lost, other.PollLost); p.Status != api.TaskFailed || p.Executed.Outcome.End != engine.EndLost {
			t.Errorf("the record says %+v", p)
		}
	})
}

// TestAnEndIsToldOnceItIsWritten: a node that cannot write how a task has ended does not
// tell it, for another one may have given the task up. In the end both say the same.
func TestAnEndIsToldOnceItIsWritten(t *testing.T) {
	for name, gaveUp := range map[string]bool{"given up meanwhile": true, "not given up": false} {
		t.Run(name, func(t *testing.T) {
			shared, files := persistence.NewMemory(), persistence.NewMemoryFiles()
			store := &slowStore{Store: shared}
			named := func(c *actors.Config) { c.Node = "n1" }
			testkit.Run(t, testkit.Options{Workers: 1, Store: store, Files: files, Config: named}, func(t *testing.T, k *testkit.Kit) {
				anna, ctx := testkit.Pro("anna"), context.Background()
				other, err := actors.Start(actors.Config{Engine: testkit.NewEngine(), Store: shared, Files: files, Node: "n2"})
				if err != nil {
					t.Fatal(err)
				}
				defer other.Stop()
				id := k.StartAsync(anna, testkit.Task(), testkit.Script{Takes: time.Second}).TaskID
				store.fail("outcome/")
				time.Sleep(2 * time.Second)
				k.WantPoll(anna, id, 0, api.TaskPending)
				want, end := api.TaskComplete, engine.EndCompleted
				if gaveUp {
					want, end = api.TaskFailed, engine.EndLost
					if p, err := other.PollLost(ctx, &api.Poll{TaskID: id, Account: anna}); err != nil || p.Status != want {
						t.Fatalf("given up: %+v, %v", p, err)
					}
				}
				time.Sleep(time.Minute)
				if p := k.WantPoll(anna, id, 0, map[bool]api.TaskStatus{true: api.TaskFailed, false: api.TaskPending}[gaveUp]); gaveUp && p.Executed.Outcome.End != end {
					t.Errorf("its node says %+v", p.Executed.Outcome)
				}
				store.fails.Store(nil)
				for range 3 {
					time.Sleep(2 * time.Minute) // its actor ends
					if p := k.WantPoll(anna, id, 0, want); p.Executed.Outcome.End != end {
						t.Errorf("its node says %+v", p.Executed.Outcome)
					}
					if p, err := other.PollLost(ctx, &api.Poll{TaskID: id, Account: anna}); err != nil || p.Status != want || p.Executed.Outcome.End != end {
						t.Errorf("the other says %+v, %v", p, err)
					}
				}
			})
		})
	}
}
