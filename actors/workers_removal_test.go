package actors_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// removing removes a worker and does not wait for it.
func removing(k *testkit.Kit, worker string, grace time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := api.Ask(context.Background(), k.Node, &api.RemoveWorker{Worker: worker, Grace: grace})
		done <- err
	}()
	k.AwaitIdle()
	return done
}

// What becomes of a worker that is removed, and of whoever is there.
var leavingRows = []row{
	{"a worker that is removed is gone, also after a restart", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		w := k.AddWorker("extra", "")
		testkit.Ask(k, &api.RemoveWorker{Worker: "extra", Grace: time.Minute})
		k.WantRefused(k.Start(anna, testkit.Task(testkit.On(w.ID)), quick), engine.CodeForeignWorker)
		k.AwaitIdle()
		if by := workers(k); len(by) != 1 || len(Store(k, "worker/")) != 0 || k.OpenBrowsers() != 1 || k.Node.Status().Workers != 1 {
			t.Errorf("%+v, %v, %d browsers, %+v", by, Store(k, "worker/"), k.OpenBrowsers(), k.Node.Status())
		}
		if n := k.Node.Actors("node/worker/"); n != 2 { // a supervisor and a worker
			t.Errorf("%d actors", n)
		}
		k.Crash()
		k.Boot()
		if by := workers(k); len(by) != 1 {
			t.Errorf("%+v", by)
		}
	}},
	{"its task ends first, and is told to when the grace is over", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		for _, tc := range []struct {
			takes, wants time.Duration
			end          engine.End
		}{{10 * time.Second, 10 * time.Second, engine.EndCompleted}, {5 * time.Minute, 30 * time.Second, engine.EndInterrupted}} {
			w := k.AddWorker("extra", "anna")
			r := k.Start(anna, testkit.Task(testkit.Within(2*time.Minute)), lasting(tc.takes))
			k.WantState(w.ID, api.Busy)
			began := time.Now()
			done := removing(k, w.ID, 30*time.Second)
			k.WantRefused(k.Start(anna, testkit.Task(testkit.On(w.ID)), quick), engine.CodeForeignWorker)
			k.WantEnd(r, tc.end)
			if err := <-done; err != nil || time.Since(began) != tc.wants {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			k.AwaitIdle()
			if n := k.OpenBrowsers(); n != 1 {
				t.Errorf("%d browsers are open", n)
			}
		}
	}},
	{"a second removal with less grace shortens it, and a drain comes too late", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		w := k.AddWorker("extra", "anna")
		r := k.Start(anna, testkit.Task(), unresponsive)
		k.WantState(w.ID, api.Busy)
		began := time.Now()
		first := removing(k, w.ID, time.Hour)
		for _, f := range []func() error{
			func() error {
				return errOf(api.Ask(context.Background(), k.Node, &api.DrainWorker{Worker: w.ID}))
			},
			func() error {
				return errOf(api.Ask(context.Background(), k.Node, &api.ResumeWorker{Worker: w.ID}))
			},
		} {
			if err := f(); err == nil || !strings.Contains(err.Error(), "being removed") {
				t.Error(err)
			}
		}
		testkit.Ask(k, &api.RemoveWorker{Worker: w.ID, Grace: time.Second})
		if err := <-first; err != nil || time.Since(began) != 6*time.Second { // the deaf one takes so long
			t.Errorf("%v after %v", err, time.Since(began))
		}
		k.WantEnd(r, engine.EndInterrupted)
	}},
	{"its session ends, and whoever waits for it or the worker is told", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		w := k.AddWorker("extra", "")
		id := reserve(k, anna, testkit.On(w.ID))
		r := k.Start(anna, testkit.Task(testkit.Continue(id)), second)
		k.WantState(w.ID, api.Busy)
		wait := testkit.Waiting(time.Minute)
		named := k.Start(bert, testkit.Task(testkit.On(w.ID), wait), quick)
		session := k.Start(anna, testkit.Task(testkit.Continue(id), wait), quick)
		seizes := k.Start(anna, testkit.Task(testkit.Override(), wait), quick)
		k.UntilWaiting(3)
		began := time.Now()
		done := removing(k, w.ID, time.Minute)
		k.WantRefused(named, engine.CodeForeignWorker)
		k.WantRefused(session, engine.CodeSessionMismatch)
		if x := k.WantEnd(seizes, engine.EndCompleted); x.WorkerID != "w1" || x.SessionID == id {
			t.Errorf("%+v", x)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("they were told after %v", took)
		}
		if x := k.WantEnd(r, engine.EndCompleted); x.SessionID != "" {
			t.Errorf("the answer names session %s, which ends", x.SessionID)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
		k.AwaitIdle()
		if n := len(kept(k)); n != 2 || k.Node.Sessions() != 1 { // that on w1
			t.Errorf("on disk: %v, %d sessions", kept(k), k.Node.Sessions())
		}
	}},
	{"a claim that waits there for a clean browser goes elsewhere", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		for _, code := range []engine.Code{"", engine.CodeForeignWorker} { // of one that names it
			w := k.AddWorker("extra", "")
			k.Engine.OnReset(w.ID, testkit.Reset{Takes: time.Minute})
			k.Do(anna, testkit.Task(testkit.On(w.ID)), quick)
			hold := k.Start(bert, testkit.Task(testkit.On("w1")), second)
			k.WantState("w1", api.Busy)
			opts := []testkit.Option{testkit.Waiting(time.Minute)}
			if code != "" {
				opts = append(opts, testkit.On(w.ID))
			}
			r := k.Start(anna, testkit.Task(opts...), quick)
			k.AwaitIdle()
			if info := k.Worker(w.ID); info.TaskID != r.ID {
				t.Fatalf("%+v", info)
			}
			began := time.Now()
			testkit.Ask(k, &api.RemoveWorker{Worker: w.ID, Grace: time.Minute})
			if code != "" {
				k.WantRefused(r, code)
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("removed after %v", took)
			}
			if code == "" {
				on(k, "w1", r)
			}
			k.WantEnd(hold, engine.EndCompleted)
		}
	}},
	{"whoever would have taken over its session waits for any other", testkit.Options{}, func(_ *testing.T, k *testkit.Kit) {
		w := k.AddWorker("extra", "")
		id := reserve(k, anna, testkit.On(w.ID))
		k.Start(anna, testkit.Task(testkit.Continue(id)), lasting(time.Minute))
		hold := k.Start(bert, testkit.Task(testkit.On("w1")), second)
		k.WantState("w1", api.Busy)
		seizes := k.Start(anna, testkit.Task(testkit.Override(), testkit.Waiting(time.Minute)), quick)
		k.UntilWaiting(1)
		began := time.Now()
		removing(k, w.ID, time.Minute)
		k.UntilWaiting(1)
		k.WantEnd(hold, engine.EndCompleted)
		on(k, "w1", seizes)
		if took := time.Since(began); took > time.Second {
			k.T.Errorf("served after %v", took)
		}
	}},
	{"while it leaves it is none of those that an account may reserve half of", testkit.Options{Workers: 3}, func(_ *testing.T, k *testkit.Kit) {
		w := k.AddWorker("extra", "")
		k.Start(bert, testkit.Task(testkit.On(w.ID)), second)
		k.WantState(w.ID, api.Busy)
		removing(k, w.ID, time.Minute)
		reserve(k, anna)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Preserve()), quick), engine.CodeSessionLimit)
	}},
	{"one who waits to reserve a worker gets it when the account may have more", testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		for _, more := range []func(id string){
			func(string) { k.AddWorker("third", ""); k.AddWorker("fourth", "") },
			func(id string) { k.Do(anna, testkit.Task(testkit.Close(id), testkit.Empty()), quick) },
		} {
			hold := k.Start(bert, testkit.Task(testkit.On("w2")), second)
			k.WantState("w2", api.Busy)
			waits := k.Start(anna, testkit.Task(testkit.On("w2"), testkit.Preserve(), testkit.Waiting(time.Minute)), quick)
			k.UntilWaiting(1)
			var ids []string
			for range max(1, k.Node.Status().Workers/2) { // half of the shared ones
				ids = append(ids, reserve(k, anna))
			}
			k.WantEnd(hold, engine.EndCompleted)
			k.UntilWaiting(1)
			began := time.Now()
			more(ids[0])
			x := k.WantEnd(waits, engine.EndCompleted)
			if took := time.Since(began); took > 0 {
				t.Errorf("served after %v", took)
			}
			for _, id := range append(ids, x.SessionID) {
				k.Do(anna, testkit.Task(testkit.Close(id), testkit.Empty()), quick)
			}
		}
	}},
	{"that it is gone comes before the daily limit", testkit.Options{
		Config: func(c *actors.Config) { c.Limits = map[engine.Plan]engine.Limits{engine.Pro: {TasksPerDay: 1}} }}, func(_ *testing.T, k *testkit.Kit) {
		w := k.AddWorker("extra", "")
		on(k, w.ID, k.Start(anna, testkit.Task(testkit.On(w.ID)), quick))
		k.WantRefused(k.Start(anna, testkit.Task(testkit.On(w.ID)), quick), engine.CodeDailyLimit)
		testkit.Ask(k, &api.RemoveWorker{Worker: w.ID, Grace: 0})
		k.WantRefused(k.Start(anna, testkit.Task(testkit.On(w.ID)), quick), engine.CodeForeignWorker)
	}},
	{"a reserved worker and a drained one that has a session can be removed", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		for _, drained := range []bool{false, true} {
			w := k.AddWorker("extra", "")
			id := reserve(k, anna, testkit.On(w.ID))
			if drained {
				testkit.Ask(k, &api.DrainWorker{Worker: w.ID})
				k.WantState(w.ID, api.Offline)
			}
			began := time.Now()
			testkit.Ask(k, &api.RemoveWorker{Worker: w.ID, Grace: time.Minute})
			k.AwaitIdle()
			k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
			wantKept(k)
			if took := time.Since(began); took > 0 || k.OpenBrowsers() != 1 {
				t.Errorf("took %v, %d browsers are open", took, k.OpenBrowsers())
			}
		}
	}},
	{"one whose browser never came up can be removed", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		k.Engine.SetLaunchTakes(10 * time.Second)
		for i, wait := range []time.Duration{0, time.Second} { // right away, and while it is launched
			name := fmt.Sprint("extra", i)
			if _, err := api.Ask(context.Background(), k.Node, &api.AddWorker{Name: name}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			testkit.Ask(k, &api.RemoveWorker{Worker: name, Grace: time.Minute})
		}
		time.Sleep(time.Minute)
		if n := k.OpenBrowsers(); n != 1 {
			t.Errorf("%d browsers are open", n)
		}
	}},
	{"what came with the node cannot be removed, and what is not there cannot be changed", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		ctx := context.Background()
		_, err := api.Ask(ctx, k.Node, &api.RemoveWorker{Worker: "worker-1"})
		if err == nil || !strings.Contains(err.Error(), "drain it, or start the service with fewer") {
			t.Error(err)
		}
		on(k, "w1", k.Start(anna, testkit.Task(), quick))
		for what, err := range map[string]error{
			"drain":  errOf(api.Ask(ctx, k.Node, &api.DrainWorker{Worker: "w9"})),
			"resume": errOf(api.Ask(ctx, k.Node, &api.ResumeWorker{Worker: "w9"})),
			"remove": errOf(api.Ask(ctx, k.Node, &api.RemoveWorker{Worker: "w9"})),
		} {
			if err == nil || !strings.Contains(err.Error(), `no worker "w9"`) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}},
	{"the drain of the node comes in between", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		w := k.AddWorker("extra", "")
		r := k.Start(anna, testkit.Task(testkit.On(w.ID)), lasting(time.Minute))
		k.WantState(w.ID, api.Busy)
		testkit.Ask(k, &api.DrainWorker{Worker: "w1"})
		done := removing(k, w.ID, time.Hour)
		k.Drain(10 * time.Second)
		k.WantEnd(r, engine.EndInterrupted)
		if err := <-done; err != nil {
			t.Error(err)
		}
		for what, err := range map[string]error{
			"add":    errOf(api.Ask(context.Background(), k.Node, &api.AddWorker{Name: "late"})),
			"resume": errOf(api.Ask(context.Background(), k.Node, &api.ResumeWorker{Worker: "w1"})),
		} {
			if err == nil || !strings.Contains(err.Error(), "stopping") {
				t.Errorf("%s: %v", what, err)
			}
		}
	}},
}
