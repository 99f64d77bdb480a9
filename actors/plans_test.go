package actors_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// Promise: The daily limit is exact (docs/api.md#usage).
func TestDailyLimitIsExact(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 4}, func(t *testing.T, k *testkit.Kit) {
		free := testkit.Account("carl", engine.Free)
		all := make([]*testkit.Request, 200)
		for i := range all {
			all[i] = k.Start(free, testkit.Task(testkit.Waiting(time.Minute)), lasting(time.Millisecond))
		}
		played := 0
		for _, r := range all {
			switch x := r.Answer(); {
			case x.Refusal == nil:
				played++
			case x.Refusal.Code != engine.CodeDailyLimit || !strings.HasPrefix(x.Refusal.Text, "Daily task limit reached") || x.Refusal.RetryAfter <= 0:
				t.Errorf("refused: %+v", x.Refusal)
			}
		}
		if played != 50 || len(k.Engine.Plays()) != 50 {
			t.Errorf("%d answered, %d played, want 50", played, len(k.Engine.Plays()))
		}
		time.Sleep(24 * time.Hour)
		k.WantEnd(k.Start(free, testkit.Task(), quick), engine.EndCompleted)
	})
}

func TestOnlyClaimedTasksCount(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		u := persistence.NewUsage(k.Store)
		used := func(want int64) {
			t.Helper()
			k.AwaitIdle()
			if n, err := u.Read(context.Background(), "anna", time.Now()); err != nil || n != want {
				t.Errorf("%d tasks counted (%v), want %d", n, err, want)
			}
		}
		hold := k.Start(anna, testkit.Task(), lasting(time.Minute))
		used(1)
		k.WantRefused(k.Start(anna, testkit.Task(), quick), engine.CodeNoWorkerAvailable)
		used(1)
		waits := k.Start(anna, testkit.Task(testkit.Waiting(time.Second)), quick)
		used(2) // those who wait hold theirs
		k.WantRefused(waits, engine.CodeNoWorkerAvailable)
		used(1)
		waits = k.Start(anna, testkit.Task(testkit.Waiting(time.Second)), quick)
		k.AwaitIdle()
		waits.Leave()
		k.WantRefused(waits, engine.CodeCancelled)
		used(1)
		hold.Leave()
		k.WantEnd(hold, engine.EndCancelled)
		used(1)
		k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve(), testkit.Empty()), quick), engine.EndCompleted)
		used(1)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue("sess_0")), quick), engine.CodeSessionMismatch)
		used(1)
	})
}

// hesitantStore takes a second to count.
type hesitantStore struct{ persistence.Store }

func (s hesitantStore) Add(ctx context.Context, key string, n, limit int64, expires time.Time) (int64, bool, error) {
	time.Sleep(time.Second)
	return s.Store.Add(ctx, key, n, limit, expires)
}

// TestWhatIsAnsweredIsCounted: the count is in the store before the answer, and
// the task does not wait for it.
func TestWhatIsAnsweredIsCounted(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1, Store: hesitantStore{persistence.NewMemory()}}, func(t *testing.T, k *testkit.Kit) {
		counted := func(want int64) {
			t.Helper()
			if n, err := persistence.NewUsage(k.Store).Read(context.Background(), "anna", time.Now()); n != want || err != nil {
				t.Errorf("%d tasks are counted (%v), want %d", n, err, want)
			}
		}
		began := time.Now()
		k.WantEnd(k.Start(anna, testkit.Task(), quick), engine.EndCompleted)
		counted(1)
		if p := k.Engine.Plays(); len(p) != 1 || p[0].Ended.Sub(began) > 0 || time.Since(began) != time.Second {
			t.Errorf("answered after %v: %+v", time.Since(began), p)
		}
		k.StartAsync(anna, testkit.Task(), lasting(time.Minute))
		counted(2)
		k.WantRefused(k.Start(anna, testkit.Task(), quick), engine.CodeNoWorkerAvailable)
		counted(2)
		x := &api.Execute{Account: anna, Task: testkit.Task(testkit.Waiting(2 * time.Minute)), Idempotency: api.Idempotency{Key: "k"}}
		k.WantEnd(k.Send(x, quick), engine.EndCompleted)
		counted(3)
	})
}

func TestPlans(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		for _, plan := range []engine.Plan{engine.Free, engine.Basic, "gold"} {
			for _, o := range []testkit.Option{testkit.Preserve(), testkit.Continue("sess_0"), testkit.Override(), testkit.Async()} {
				k.WantRefused(k.Start(testkit.Account("carl", plan), testkit.Task(o), quick), engine.CodePlanRequired)
			}
		}
		for plan, want := range map[engine.Plan]time.Duration{engine.Free: time.Minute, engine.Basic: 2 * time.Minute, engine.Pro: 2 * time.Minute} {
			began := time.Now()
			x := k.WantEnd(k.Start(testkit.Account("carl", plan), testkit.Task(testkit.Within(time.Hour)), lasting(time.Hour)), engine.EndTimeout)
			if x.Timeout != want || time.Since(began) != want {
				t.Errorf("plan %s: timeout %v", plan, x.Timeout)
			}
			k.Until("w1", api.Online)
		}
		lonely := testkit.Task()
		lonely.Session = &engine.Session{} // asks for nothing
		k.WantEnd(k.Start(testkit.Account("carl", engine.Free), lonely, quick), engine.EndCompleted)
	})
}

// TestTasksGetTheIsolationOfTheOperator or more: those that ask for less are refused, and
// not counted.
func TestTasksGetTheIsolationOfTheOperator(t *testing.T) {
	for level, refused := range map[engine.Isolation]map[engine.Isolation]bool{
		"":                    {"": false, "task": false, "account": true, "none": true},
		engine.IsolateAccount: {"": false, "task": false, "account": false, "none": true},
		engine.IsolateNone:    {"": false, "task": false, "account": false, "none": false},
	} {
		testkit.Run(t, testkit.Options{Workers: 1, Config: func(c *actors.Config) { c.Isolation = level }}, func(t *testing.T, k *testkit.Kit) {
			for asked, no := range refused {
				task := testkit.Task()
				task.Config.Isolation = asked
				if x := k.Start(testkit.Account("carl", engine.Pro), task, quick); no {
					k.WantRefused(x, engine.CodeInvalidRequest)
				} else {
					k.WantEnd(x, engine.EndCompleted)
				}
				k.Until("w1", api.Online)
			}
		})
	}
}

// TestWorkersStayWithAnAccount where browsers do: two accounts whose tasks take turns do
// not take each other's worker, and a free worker is given to whoever comes.
func TestWorkersStayWithAnAccount(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 3, Config: func(c *actors.Config) { c.Isolation = engine.IsolateAccount }}, func(t *testing.T, k *testkit.Kit) {
		of := map[string]map[string]bool{"ada": {}, "bob": {}}
		for range 5 {
			for account, workers := range of {
				x := k.WantEnd(k.Start(testkit.Account(account, engine.Pro), testkit.Task(), quick), engine.EndCompleted)
				workers[x.WorkerID] = true
				k.Until(x.WorkerID, api.Online)
				k.AwaitIdle() // the pool hears of it after that
			}
		}
		for account, workers := range of {
			if len(workers) != 1 {
				t.Errorf("%s had the workers %v, want one", account, workers)
			}
		}
	})
}
