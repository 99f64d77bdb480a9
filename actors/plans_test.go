package actors_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

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
			k.Settle()
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
		k.Settle()
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
			k.Until("w1", actors.Online)
		}
		lonely := testkit.Task()
		lonely.Session = &engine.Session{} // asks for nothing
		k.WantEnd(k.Start(testkit.Account("carl", engine.Free), lonely, quick), engine.EndCompleted)
	})
}
