package actors_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

func TestWaitingIsFairBetweenAccounts(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		hold := k.Start(anna, testkit.Task(), second)
		k.AwaitIdle()
		var want []string
		names := map[string]string{}
		send := func(a api.Account, name string) {
			r := k.Start(a, testkit.Task(testkit.Waiting(time.Minute)), lasting(time.Millisecond))
			names[r.ID] = name
			k.AwaitIdle()
		}
		for _, n := range []string{"a1", "a2", "a3", "a4"} {
			send(anna, n)
		}
		send(bert, "b1")
		send(bert, "b2")
		send(testkit.Pro("carl"), "c1")
		want = []string{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}
		k.WantEnd(hold, engine.EndCompleted)
		time.Sleep(time.Second)
		var got []string
		for _, p := range k.Engine.Plays()[1:] {
			got = append(got, names[p.Task])
		}
		if !slices.Equal(got, want) {
			t.Errorf("served %v, want %v", got, want)
		}
	})
}

func TestGivingUpNamesThePlace(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		k.Start(anna, testkit.Task(), lasting(20*time.Second))
		k.AwaitIdle()
		var last *testkit.Request
		for range 3 {
			last = k.Start(anna, testkit.Task(testkit.Waiting(5*time.Second)), quick)
			k.AwaitIdle()
		}
		early := k.Start(bert, testkit.Task(testkit.Waiting(2*time.Second)), quick)
		if no := k.WantRefused(early, engine.CodeNoWorkerAvailable); no.Position != 2 || no.RetryAfter == 0 || !strings.HasPrefix(no.Text, "No workers available") {
			t.Errorf("%+v", no)
		}
		named := k.Start(bert, testkit.Task(testkit.Waiting(time.Second), testkit.On("w1")), quick)
		if no := k.WantRefused(named, engine.CodeWorkerBusy); no.Position != 1 || !strings.HasPrefix(no.Text, "Worker is busy") {
			t.Errorf("%+v", no)
		}
		began := time.Now()
		k.WantRefused(last, engine.CodeNoWorkerAvailable)
		if time.Since(began) != 2*time.Second {
			t.Errorf("gave up after %v", time.Since(began))
		}
		if n := len(k.Engine.Plays()); n != 0 {
			t.Errorf("%d played", n)
		}
	})
}

func TestTooManyWaiting(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1, Config: func(c *actors.Config) { c.Queue.PerAccount = 2 }}, func(t *testing.T, k *testkit.Kit) {
		k.Start(anna, testkit.Task(), lasting(time.Second))
		k.AwaitIdle()
		for range 2 {
			k.Start(anna, testkit.Task(testkit.Waiting(time.Minute)), quick)
		}
		k.UntilWaiting(2)
		no := k.WantRefused(k.Start(anna, testkit.Task(testkit.Waiting(time.Minute)), quick), engine.CodeTooManyWaiting)
		if no.RetryAfter != 0 {
			t.Errorf("%+v", no)
		}
		k.WantEnd(k.Start(bert, testkit.Task(testkit.Waiting(time.Minute)), quick), engine.EndCompleted)
	})
}

func TestWaitingForACertainWorker(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		waits := k.Start(bert, testkit.Task(testkit.On("w1"), testkit.Waiting(time.Minute)), quick)
		k.UntilWaiting(1)
		k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted) // on w2
		r1 := k.Start(anna, testkit.Task(testkit.Continue(id)), second)
		k.AwaitIdle()
		r2 := k.Start(anna, testkit.Task(testkit.Continue(id), testkit.Waiting(time.Minute)), second)
		k.UntilWaiting(2)
		r3 := k.Start(anna, testkit.Task(testkit.Close(id), testkit.Waiting(time.Minute)), second)
		k.UntilWaiting(3)
		r4 := k.Start(anna, testkit.Task(testkit.Continue("sess_0"), testkit.On("w1"), testkit.Waiting(time.Minute)), quick)
		k.WantRefused(r4, engine.CodeSessionMismatch) // waiting would not help
		for _, r := range []*testkit.Request{r1, r2, r3, waits} {
			if x := k.WantEnd(r, engine.EndCompleted); x.WorkerID != "w1" {
				t.Errorf("played by %s", x.WorkerID)
			}
		}
	})
}

func TestWaiterBehindOneThatIsRefusedIsServedAtOnce(t *testing.T) {
	e := testkit.NewEngine()
	testkit.Run(t, testkit.Options{Workers: 1, Engine: e, Config: func(c *actors.Config) { c.Browser.LaunchTimeout = time.Hour }},
		func(t *testing.T, k *testkit.Kit) {
			id := reserve(k, anna, testkit.Lasting(time.Minute))
			e.SetLaunchTakes(70 * time.Second) // longer than the session lasts
			e.Kill("w1")
			k.AwaitIdle()
			began := time.Now()
			late := k.Start(anna, testkit.Task(testkit.Continue(id), testkit.Waiting(2*time.Minute)), quick)
			k.UntilWaiting(1)
			next := k.Start(anna, testkit.Task(testkit.On("w1"), testkit.Waiting(2*time.Minute)), quick)
			k.UntilWaiting(2)
			k.WantRefused(late, engine.CodeSessionMismatch)
			k.WantEnd(next, engine.EndCompleted)
			if took := time.Since(began); took > 71*time.Second {
				t.Errorf("served after %v", took)
			}
		})
}

func TestCancelWhileWaiting(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		hold := k.Start(anna, testkit.Task(), second)
		k.AwaitIdle()
		leaves := k.Start(anna, testkit.Task(testkit.Waiting(time.Minute)), quick)
		cancelled := k.Start(anna, testkit.Task(testkit.Waiting(time.Minute)), quick)
		stays := k.Start(anna, testkit.Task(testkit.Waiting(time.Minute)), quick)
		k.UntilWaiting(3)
		leaves.Leave()
		foreign, err := api.Ask(context.Background(), k.Node, &api.Cancel{TaskID: cancelled.ID, Account: bert})
		if err != nil || foreign.Found {
			t.Errorf("another account's task could be cancelled: %+v, %v", foreign, err)
		}
		if !cancelled.Cancel() || cancelled.Cancel() {
			t.Error("a waiting task can be cancelled once")
		}
		k.WantRefused(leaves, engine.CodeCancelled)
		k.WantRefused(cancelled, engine.CodeCancelled)
		k.UntilWaiting(1)
		k.WantEnd(hold, engine.EndCompleted)
		k.WantEnd(stays, engine.EndCompleted)
		if n := len(k.Engine.Plays()); n != 2 {
			t.Errorf("%d played, want 2", n)
		}
	})
}

func TestDrain(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 4}, func(t *testing.T, k *testkit.Kit) {
		short := k.Start(anna, testkit.Task(), second)
		long := k.Start(anna, testkit.Task(), lasting(20*time.Second))
		stuck := k.Start(anna, testkit.Task(), unresponsive)
		k.AwaitIdle()
		reserve(k, anna)
		waits := k.Start(bert, testkit.Task(testkit.Waiting(time.Minute)), quick)
		k.UntilWaiting(1)
		began := time.Now()
		first := make(chan int)
		go func() { first <- k.Drain(10 * time.Second).Interrupted }()
		k.WantRefused(waits, engine.CodeDraining)
		if k.Node.Ready() {
			t.Error("ready while draining")
		}
		k.WantRefused(k.Start(bert, testkit.Task(), quick), engine.CodeDraining)
		second := k.Drain(time.Hour) // does not give more time
		if n := <-first; n != 2 || second.Interrupted != 2 {
			t.Errorf("%d and %d interrupted, want 2", n, second.Interrupted)
		}
		if took := time.Since(began); took != 15*time.Second { // the deaf one takes so long
			t.Errorf("drained after %v", took)
		}
		k.WantEnd(short, engine.EndCompleted)
		k.WantEnd(long, engine.EndInterrupted)
		k.WantEnd(stuck, engine.EndInterrupted)
		if d := k.Drain(0); d.Interrupted != 2 {
			t.Errorf("a third drain: %+v", d)
		}
		if n := k.OpenBrowsers(); n != 0 {
			t.Errorf("%d browsers open", n)
		}
	})
}

func TestStopClosesWhatADrainCannot(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1, Config: func(c *actors.Config) { c.Browser.StopMargin = time.Hour }},
		func(t *testing.T, k *testkit.Kit) {
			r := k.Start(anna, testkit.Task(), unresponsive)
			k.Until("w1", api.Busy)
			began := time.Now()
			k.Node.Stop()
			if took := time.Since(began); took > 15*time.Second || k.Engine.Open() != 0 {
				t.Errorf("stopped after %v with %d browsers open", took, k.Engine.Open())
			}
			k.WantEnd(r, engine.EndInterrupted)
		})
}

func TestStopAnswersEverybodyAndLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	k := testkit.New(t, testkit.Options{Workers: 8})
	reserve(k, anna)
	var all []*testkit.Request
	for range 20 {
		all = append(all, k.Start(anna, testkit.Task(testkit.Waiting(time.Minute)), lasting(time.Minute)))
	}
	for k.Node.Status().Waiting == 0 {
		runtime.Gosched()
	}
	k.Node.Stop()
	k.Node.Stop()
	for _, r := range all {
		if x := r.Answer(); x.Refusal != nil && x.Refusal.Code != engine.CodeDraining ||
			x.Outcome != nil && x.Outcome.End != engine.EndInterrupted {
			t.Errorf("%s: %+v", r.ID, x)
		}
	}
	if x, err := k.Node.Execute(context.Background(), &api.Execute{Account: anna, Task: testkit.Task()}); err != nil || x.Refusal == nil || x.Refusal.Code != engine.CodeDraining {
		t.Errorf("after the stop: %+v, %v", x, err)
	}
	if _, err := api.Ask(context.Background(), k.Node, &api.ListWorkers{}); err == nil {
		t.Error("a stopped node lists workers")
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			b := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
	}
}
