package actors_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// TestStaff adds, drains, resumes and removes workers of a node that runs. One
// came with it: w1.
func TestStaff(t *testing.T) {
	for _, r := range slices.Concat(staffRows, leavingRows) {
		t.Run(r.name, func(t *testing.T) {
			if r.options.Workers == 0 {
				r.options.Workers = 1
			}
			testkit.Run(t, r.options, r.drive)
		})
	}
}

// on fails the test unless the request ends well on a worker.
func on(k *testkit.Kit, worker string, r *testkit.Request) {
	k.T.Helper()
	if x := k.WantEnd(r, engine.EndCompleted); x.WorkerID != worker {
		k.T.Fatalf("played by %s, want %s", x.WorkerID, worker)
	}
}

// workers lists what the operator sees, by name.
func workers(k *testkit.Kit) map[string]api.WorkerInfo {
	k.T.Helper()
	all, err := api.Ask(context.Background(), k.Node, &api.SurveyWorkers{})
	if err != nil {
		k.T.Fatal(err)
	}
	by := map[string]api.WorkerInfo{}
	for _, w := range all.Workers {
		by[w.Name] = w
	}
	return by
}

// mayUse lists the names that an account is told.
func mayUse(k *testkit.Kit, a api.Account) string {
	k.T.Helper()
	all, err := api.Ask(context.Background(), k.Node, &api.ListWorkers{Account: a})
	if err != nil {
		k.T.Fatal(err)
	}
	var names []string
	for _, w := range all.Workers {
		names = append(names, w.Name)
		if w.Account != "" {
			k.T.Errorf("%s is told whose %s is", a.ID, w.Name)
		}
	}
	return strings.Join(names, " ")
}

// records returns the keys of what is on disk behind a prefix.
func Store(k *testkit.Kit, prefix string) (keys []string) {
	k.T.Helper()
	k.AwaitIdle()
	list, err := k.Store.List(context.Background(), prefix)
	if err != nil {
		k.T.Fatal(err)
	}
	for _, r := range list {
		keys = append(keys, r.Key)
	}
	return keys
}

var staffRows = []row{
	{"a worker that is added takes tasks, and those who wait", testkit.Options{Engine: slowEngine(time.Second)}, func(t *testing.T, k *testkit.Kit) {
		long := k.Start(anna, testkit.Task(), lasting(20*time.Second))
		k.WantState("w1", api.Busy)
		waits := k.Start(bert, testkit.Task(testkit.Waiting(time.Minute)), quick)
		k.UntilWaiting(1)
		began := time.Now()
		w := k.AddWorker("extra", "")
		on(k, w.ID, waits)
		if took := time.Since(began); took != time.Second || !w.Added || w.State != api.Offline || w.Name != "extra" {
			t.Errorf("%+v after %v", w, took)
		}
		on(k, w.ID, k.Start(bert, testkit.Task(testkit.On(w.ID)), quick))
		k.WantEnd(long, engine.EndCompleted)
		k.AwaitIdle()
		if s := k.Node.Status(); s.Workers != 2 || s.Online != 2 {
			t.Errorf("%+v", s)
		}
	}},
	{"one with an owner is for that account alone", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		w := k.AddWorker("annas", "anna")
		on(k, w.ID, k.Start(anna, testkit.Task(), quick)) // before a shared one
		k.WantRefused(k.Start(bert, testkit.Task(testkit.On(w.ID)), quick), engine.CodeForeignWorker)
		k.Start(anna, testkit.Task(testkit.On("w1")), second)
		k.WantState("w1", api.Busy)
		k.WantRefused(k.Start(bert, testkit.Task(), quick), engine.CodeNoWorkerAvailable)
		if a, b := mayUse(k, anna), mayUse(k, bert); a != "worker-1 annas" || b != "worker-1" {
			t.Errorf("anna sees %s, bert %s", a, b)
		}
		if by := workers(k); by["worker-1"].Account != "anna" || by["annas"].Owner != "anna" || by["annas"].Account != "" || by["worker-1"].Added {
			t.Errorf("%+v", by)
		}
	}},
	{"it is there again after the death of the node, and after a stop", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		w := k.AddWorker("annas", "anna")
		id := reserve(k, anna)
		for _, again := range []func(){k.Crash, func() { k.Node.Stop() }, k.Crash} {
			again()
			k.Boot()
			k.Until(w.ID, api.Reserved)
			on(k, w.ID, k.Start(anna, testkit.Task(testkit.Continue(id)), quick))
			k.WantRefused(k.Start(bert, testkit.Task(testkit.On(w.ID)), quick), engine.CodeForeignWorker)
			if by := workers(k); len(by) != 2 || by["annas"].ID != w.ID || !by["annas"].Added {
				t.Fatalf("%+v", by)
			}
		}
	}},
	{"names", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		w := k.AddWorker("extra", "")
		for name, want := range map[string]string{
			"": "1 to 64", "a b": "1 to 64", ".x": "1 to 64", strings.Repeat("x", 65): "1 to 64", "worker-7": "come with the service",
			"worker-1": "come with the service", "extra": "already", w.ID: "already", "w1": "already",
		} {
			if _, err := api.Ask(context.Background(), k.Node, &api.AddWorker{Name: name}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", name, err)
			}
		}
		var all sync.WaitGroup
		errs := make([]error, 5)
		for i := range errs { // at the same moment
			all.Go(func() { _, errs[i] = api.Ask(context.Background(), k.Node, &api.AddWorker{Name: "one"}) })
		}
		all.Wait()
		fine := 0
		for _, err := range errs {
			if err == nil {
				fine++
			}
		}
		if fine != 1 || len(Store(k, "worker/")) != 2 {
			t.Errorf("%d of one name, %v: %v", fine, errs, Store(k, "worker/"))
		}
		testkit.Ask(k, &api.RemoveWorker{Worker: "extra", Grace: 0})
		k.AddWorker("extra", "") // the name is free again
	}},
	{"a drained worker takes nothing until it is resumed", testkit.Options{Workers: 2, Engine: slowEngine(time.Second)}, func(t *testing.T, k *testkit.Kit) {
		if w := testkit.Ask(k, &api.DrainWorker{Worker: "worker-1"}).Worker; !w.Draining {
			t.Errorf("%+v", w)
		}
		k.WantState("w1", api.Offline)
		if n := k.OpenBrowsers(); n != 1 {
			t.Errorf("%d browsers are open", n)
		}
		no := k.WantRefused(k.Start(anna, testkit.Task(testkit.On("w1")), quick), engine.CodeWorkerOffline)
		if !strings.Contains(no.Text, "take no more tasks") || no.RetryAfter == 0 {
			t.Errorf("%+v", no)
		}
		on(k, "w2", k.Start(anna, testkit.Task(), quick))
		k.AwaitIdle()
		waits := k.Start(anna, testkit.Task(testkit.On("w1"), testkit.Waiting(2*time.Minute)), quick)
		k.UntilWaiting(1)
		testkit.Ask(k, &api.DrainWorker{Worker: "w1"}) // twice is no more
		time.Sleep(time.Minute)
		k.WantState("w1", api.Offline)
		if w := testkit.Ask(k, &api.ResumeWorker{Worker: "w1"}).Worker; w.Draining {
			t.Errorf("%+v", w)
		}
		on(k, "w1", waits)
		testkit.Ask(k, &api.ResumeWorker{Worker: "w1"})
		k.WantState("w1", api.Online)
	}},
	{"a drain lets the task end", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), second)
		k.WantState("w1", api.Busy)
		if w := testkit.Ask(k, &api.DrainWorker{Worker: "w1"}).Worker; w.State != api.Busy {
			t.Errorf("%+v", w)
		}
		k.WantRefused(k.Start(anna, testkit.Task(testkit.On("w1")), quick), engine.CodeWorkerBusy)
		gives := k.Start(anna, testkit.Task(testkit.On("w1"), testkit.Waiting(2*time.Second)), quick)
		free := k.Start(anna, testkit.Task(testkit.Waiting(2*time.Second)), quick)
		k.WantEnd(r, engine.EndCompleted)
		k.WantState("w1", api.Offline)
		k.WantRefused(gives, engine.CodeWorkerOffline)
		k.WantRefused(free, engine.CodeNoWorkerAvailable)
		if n := k.OpenBrowsers(); n != 0 {
			t.Errorf("%d browsers are open", n)
		}
	}},
	{"a drain that is taken back while a task runs never was", testkit.Options{}, func(_ *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), second)
		k.WantState("w1", api.Busy)
		testkit.Ask(k, &api.DrainWorker{Worker: "w1"})
		testkit.Ask(k, &api.ResumeWorker{Worker: "w1"})
		waits := k.Start(anna, testkit.Task(testkit.Waiting(time.Minute)), quick)
		k.WantEnd(r, engine.EndCompleted)
		on(k, "w1", waits)
		if n := k.Engine.Launches("w1"); n != 1 {
			k.T.Errorf("%d launches", n)
		}
	}},
	{"reserved to offline by a drain of the worker, and reserved again", testkit.Options{}, func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.Lasting(10*time.Minute))
		testkit.Ask(k, &api.DrainWorker{Worker: "w1"})
		k.WantState("w1", api.Offline)
		wantKept(k, id)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeWorkerOffline)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Override()), quick), engine.CodeWorkerOffline)
		time.Sleep(9 * time.Minute) // its timer runs on
		testkit.Ask(k, &api.ResumeWorker{Worker: "w1"})
		k.Until("w1", api.Reserved)
		goesOn(k, anna, id, 1, true)
		testkit.Ask(k, &api.DrainWorker{Worker: "w1"})
		time.Sleep(10 * time.Minute)
		testkit.Ask(k, &api.ResumeWorker{Worker: "w1"})
		k.Until("w1", api.Online)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
	}},
	{"a drain ends with the node", testkit.Options{}, func(_ *testing.T, k *testkit.Kit) {
		testkit.Ask(k, &api.DrainWorker{Worker: "w1"})
		k.Crash()
		k.Boot()
		k.WantState("w1", api.Online)
	}},
	{"a claim that waits for a clean browser goes to another one", testkit.Options{Workers: 2}, func(_ *testing.T, k *testkit.Kit) {
		k.Engine.OnReset("w1", testkit.Reset{Takes: time.Second})
		k.Do(anna, testkit.Task(testkit.On("w1")), quick)
		k.Start(anna, testkit.Task(testkit.On("w2")), quick)
		k.Engine.OnReset("w2", testkit.Reset{Takes: time.Second})
		k.AwaitIdle()
		r := k.Start(bert, testkit.Task(testkit.On("w1")), quick)
		k.AwaitIdle()
		testkit.Ask(k, &api.DrainWorker{Worker: "w1"})
		k.WantRefused(r, engine.CodeWorkerOffline) // it wanted this one
		r = k.Start(bert, testkit.Task(), quick)
		k.AwaitIdle()
		on(k, "w2", r)
	}},
}

func errOf[T any](_ T, err error) error { return err }
