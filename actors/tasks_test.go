package actors_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

func TestManyTasksOnFewWorkersAreNotMixedUp(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		const tasks, atOnce = 200, 8
		turns := make(chan struct{}, atOnce)
		var wg sync.WaitGroup
		for i := range tasks {
			turns <- struct{}{}
			wg.Go(func() {
				defer func() { <-turns }()
				r := k.Start(testkit.Pro(string(rune('a'+i%3))), testkit.Task(testkit.Waiting(time.Minute)),
					lasting(time.Duration(i%7)*10*time.Millisecond))
				x := r.Answer()
				if x.Refusal != nil {
					t.Errorf("%s refused: %v", r.ID, x.Refusal)
					return
				}
				if got, err := testkit.ResultOf(x.Outcome); err != nil || got.Task != r.ID || len(got.Before) != 0 || x.TaskID != r.ID {
					t.Errorf("%s got %+v, %v", r.ID, got, err)
				}
			})
		}
		wg.Wait()
		if n := len(k.Engine.Plays()); n != tasks {
			t.Errorf("%d tasks were played", n)
		}
	})
}

func TestTwentyCrashesTwentyAnswers(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1, Engine: slowEngine(300 * time.Millisecond)}, func(t *testing.T, k *testkit.Kit) {
		for i := range 20 {
			r := k.Start(anna, testkit.Task(), lasting(10*time.Second))
			k.Until("w1", api.Busy)
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
			died := time.Now()
			k.Engine.Kill("w1")
			k.WantEnd(r, engine.EndCrashed)
			if took := time.Since(died); took > 300*time.Millisecond {
				t.Errorf("crash %d: answered after %v", i, took)
			}
			k.Until("w1", api.Online)
			if took := time.Since(died); took >= 2*time.Second {
				t.Errorf("crash %d: back after %v", i, took)
			}
		}
	})
}

func TestCrashOnOneWorkerIsNoBusinessOfAnother(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(testkit.On("w2")), second)
		k.WantEnd(k.Start(bert, testkit.Task(testkit.On("w1")), testkit.Script{Crash: true}), engine.EndCrashed)
		k.WantEnd(r, engine.EndCompleted)
	})
}

func TestDeafTaskIsAnsweredInTime(t *testing.T) {
	for _, deafToDeath := range []bool{false, true} {
		testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
			script, gone := unresponsive, make(chan struct{})
			if deafToDeath { // not even the end of its browser ends it
				script = testkit.Script{Do: func(_ context.Context, c testkit.Call) *engine.Outcome {
					<-gone
					return &engine.Outcome{End: engine.EndCompleted}
				}}
			}
			began := time.Now()
			x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Within(time.Second)), script), engine.EndTimeout)
			if took := time.Since(began); took != 1250*time.Millisecond || x.Timeout != time.Second || x.Outcome.Duration < time.Second {
				t.Errorf("answered after %v: %+v", took, x)
			}
			k.WantRefused(k.Start(bert, testkit.Task(testkit.On("w1")), quick), engine.CodeWorkerBusy)
			k.Until("w1", api.Online)
			if took := time.Since(began); took != 6*time.Second {
				t.Errorf("online after %v", took)
			}
			if !deafToDeath {
				k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted)
			}
			r := k.Start(bert, testkit.Task(), second)
			k.AwaitIdle()
			close(gone) // its end comes too late to be anybody's
			x = k.WantEnd(r, engine.EndCompleted)
			if got, err := testkit.ResultOf(x.Outcome); err != nil || got.Task != r.ID {
				t.Errorf("%s got %+v, %v", r.ID, got, err)
			}
		})
	}
}

// TestEvidenceMayComeAfterTheDeadline: a task that is to leave some has its time
// for that, and not a moment more.
func TestEvidenceMayComeAfterTheDeadline(t *testing.T) {
	slow := func(after time.Duration) testkit.Script {
		return testkit.Script{Do: func(ctx context.Context, c testkit.Call) *engine.Outcome {
			<-ctx.Done()
			time.Sleep(after)
			return &engine.Outcome{End: engine.EndTimeout, Evidence: &engine.Evidence{Path: "0", Screenshot: "http://files.test/1"}}
		}}
	}
	wanted := func(t *engine.Task) { t.Config.OnFailure.Screenshot = true }
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		for _, c := range []struct {
			after, took time.Duration
			task        *engine.Task
			kept        bool
		}{
			{1900 * time.Millisecond, 2900 * time.Millisecond, testkit.Task(testkit.Within(time.Second), wanted), true},
			{3 * time.Second, 3250 * time.Millisecond, testkit.Task(testkit.Within(time.Second), wanted), false},
			{1900 * time.Millisecond, 1250 * time.Millisecond, testkit.Task(testkit.Within(time.Second)), false},
		} {
			began := time.Now()
			x := k.WantEnd(k.Start(anna, c.task, slow(c.after)), engine.EndTimeout)
			if took := time.Since(began); took != c.took || (x.Outcome.Evidence != nil) != c.kept {
				t.Errorf("kept after %v: answered after %v, want %v: %+v", c.after, took, c.took, x.Outcome)
			}
			k.Until("w1", api.Online)
		}
	})
}

func TestDeafTaskIsAnsweredAfterItsClientIsGone(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), unresponsive)
		k.Until("w1", api.Busy)
		left := time.Now()
		r.Leave()
		k.WantEnd(r, engine.EndCancelled)
		if took := time.Since(left); took != 250*time.Millisecond {
			t.Errorf("answered after %v", took)
		}
		k.Until("w1", api.Online)
		if took := time.Since(left); took != 5*time.Second {
			t.Errorf("online after %v", took)
		}
	})
}

func TestPanicInATaskCostsItsBrowserOnly(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		x := k.WantEnd(k.Start(anna, testkit.Task(), testkit.Script{Takes: time.Second, Panic: "oh"}), engine.EndStopped)
		if f := x.Outcome.Failures; len(f) != 1 || f[0].Code != engine.CodeInternal || strings.Contains(f[0].Text, "oh") {
			t.Errorf("failures %+v", f)
		}
		sees(k, k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted), 0)
		if n := k.Engine.Launches("w1"); n != 2 {
			t.Errorf("%d launches, want 2", n)
		}
		nothing := testkit.Script{Do: func(context.Context, testkit.Call) *engine.Outcome { return nil }}
		k.WantEnd(k.Start(anna, testkit.Task(), nothing), engine.EndStopped)
	})
}

func TestClaimOnAWorkerThatJustDiedGoesToTheNext(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2, Engine: slowEngine(time.Second)}, func(t *testing.T, k *testkit.Kit) {
		// w1 cannot be cleaned, and its next browser does not start. With nobody
		// else free, there is nobody.
		k.Engine.OnReset("w1", testkit.Reset{Err: errors.New("no")})
		k.Engine.FailLaunches("w1", 1)
		hold := k.Start(anna, testkit.Task(testkit.On("w2")), lasting(5*time.Second))
		k.AwaitIdle()
		k.Do(anna, testkit.Task(testkit.On("w1")), quick)
		r := k.Start(bert, testkit.Task(), quick)
		k.WantState("w1", api.Busy)
		k.WantRefused(r, engine.CodeNoWorkerAvailable)
		k.WantEnd(hold, engine.EndCompleted)

		// The same, with w2 free by then.
		k.Until("w1", api.Online)
		k.Engine.OnReset("w1", testkit.Reset{Err: errors.New("no")})
		k.Engine.FailLaunches("w1", 1)
		k.Do(anna, testkit.Task(testkit.On("w1")), quick)
		hold = k.Start(anna, testkit.Task(testkit.On("w2")), lasting(500*time.Millisecond))
		k.WantState("w2", api.Busy)
		r = k.Start(bert, testkit.Task(), quick)
		k.WantState("w1", api.Busy)
		k.WantEnd(hold, engine.EndCompleted)
		if x := k.WantEnd(r, engine.EndCompleted); x.WorkerID != "w2" {
			t.Errorf("played by %s", x.WorkerID)
		}
	})
}

func TestWorkerThatDoesNotStartIsGivenUpSlowly(t *testing.T) {
	e := testkit.NewEngine()
	e.FailLaunches("w1", 1000)
	testkit.Run(t, testkit.Options{Workers: 1, Engine: e, Cold: true}, func(t *testing.T, k *testkit.Kit) {
		time.Sleep(30 * time.Second)
		if n := e.Launches("w1"); n < 8 || n > 12 {
			t.Errorf("%d launches in half a minute", n)
		}
		before := e.Launches("w1")
		time.Sleep(10 * time.Minute)
		if n := e.Launches("w1") - before; n < 9 || n > 11 {
			t.Errorf("%d launches in ten minutes", n)
		}
		e.FailLaunches("w1", 0)
		k.Until("w1", api.Online)
	})
}

func TestSelection(t *testing.T) {
	specs := []api.WorkerSpec{{ID: "hers", Name: "hers", Owner: "bert"}}
	testkit.Run(t, testkit.Options{Workers: 3, Specs: specs}, func(t *testing.T, k *testkit.Kit) {
		for _, w := range []string{"w2", "w3", "w1"} {
			k.WantEnd(k.Start(anna, testkit.Task(testkit.On(w)), lasting(time.Millisecond)), engine.EndCompleted)
			k.AwaitIdle()
		}
		for _, want := range []string{"w1", "w3", "w2"} { // the last used first
			r := k.Start(anna, testkit.Task(), second)
			k.AwaitIdle()
			if k.Worker(want).TaskID != r.ID {
				t.Errorf("%s is not on %s", r.ID, want)
			}
		}
		k.WantRefused(k.Start(anna, testkit.Task(), quick), engine.CodeNoWorkerAvailable)
		if x := k.Do(bert, testkit.Task(), quick); x.WorkerID != "hers" {
			t.Errorf("played by %s", x.WorkerID)
		}
		k.WantRefused(k.Start(anna, testkit.Task(testkit.On("hers")), quick), engine.CodeForeignWorker)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.On("nobody")), quick), engine.CodeForeignWorker)
	})
	testkit.Run(t, testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		k.Engine.OnReset("w1", testkit.Reset{Takes: time.Second})
		k.Do(anna, testkit.Task(testkit.On("w1")), quick)
		if x := k.Do(anna, testkit.Task(), quick); x.WorkerID != "w2" { // ready before being cleaned
			t.Errorf("played by %s", x.WorkerID)
		}
	})
}

// TestSessionsHere: an account can hold as many workers as it is told, and not one more.
func TestSessionsHere(t *testing.T) {
	specs := []api.WorkerSpec{{ID: "hers", Name: "hers", Owner: "bert"}}
	for shared, want := range map[int][2]int{0: {0, 1}, 1: {1, 2}, 3: {1, 2}, 4: {2, 3}, 7: {3, 4}} {
		for i, a := range []api.Account{anna, bert} {
			testkit.Run(t, testkit.Options{Workers: shared, Specs: specs}, func(t *testing.T, k *testkit.Kit) {
				told := testkit.Ask(k, &api.ListWorkers{Account: a}).Sessions
				if told != want[i] {
					t.Errorf("%s is told %d with %d shared workers, want %d", a.ID, told, shared, want[i])
				}
				for range told {
					k.WantEnd(k.Start(a, testkit.Task(testkit.Preserve()), quick), engine.EndCompleted)
				}
				code := engine.CodeSessionLimit
				if a == bert || told == 0 { // an own worker may become free, or there is none
					code = engine.CodeNoWorkerAvailable
				}
				k.WantRefused(k.Start(a, testkit.Task(testkit.Preserve()), quick), code)
			})
		}
	}
}

func TestListOfWorkers(t *testing.T) {
	specs := []api.WorkerSpec{{ID: "hers", Name: "hers", Owner: "bert"}}
	testkit.Run(t, testkit.Options{Workers: 2, Specs: specs}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		r := k.Start(bert, testkit.Task(testkit.On("hers")), second)
		k.AwaitIdle()
		list := func(a api.Account) map[string]api.WorkerInfo {
			ws, err := api.Ask(context.Background(), k.Node, &api.ListWorkers{Account: a})
			if err != nil {
				t.Fatal(err)
			}
			all := map[string]api.WorkerInfo{}
			for _, w := range ws.Workers {
				all[w.ID] = w
			}
			return all
		}
		mine, yours := list(anna), list(bert)
		if len(mine) != 2 || mine["w1"].Session != id || mine["w1"].State != api.Reserved {
			t.Errorf("anna sees %+v", mine)
		}
		if len(yours) != 3 || yours["w1"].Session != "" || yours["hers"].TaskID != r.ID {
			t.Errorf("bert sees %+v", yours)
		}
		if s := k.Node.Status(); s != (api.Status{Workers: 3, Online: 1, Reserved: 1, Busy: 1, Sessions: 1}) {
			t.Errorf("status %+v", s)
		}
	})
}
