package actors_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// reserve opens a session on a worker and returns its id.
func reserve(k *testkit.Kit, a api.Account, opts ...testkit.Option) string {
	k.T.Helper()
	x := k.WantEnd(k.Start(a, testkit.Task(append(opts, testkit.Preserve())...), quick), engine.EndCompleted)
	if x.SessionID == "" {
		k.T.Fatalf("no session: %+v", x)
	}
	k.Until(x.WorkerID, api.Reserved)
	return x.SessionID
}

// sees fails the test unless the task's browser held the traces of so many
// tasks before it.
func sees(k *testkit.Kit, x *api.Executed, n int) {
	k.T.Helper()
	if r, err := testkit.ResultOf(x.Outcome); err != nil || len(r.Before) != n {
		k.T.Fatalf("%s sees %v (%v), want %d tasks", x.TaskID, r.Before, err, n)
	}
}

var sessionRows = []row{
	{"online to busy to reserved by preserve", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(testkit.Preserve()), second)
		k.WantState("w1", api.Busy)
		x := k.WantEnd(r, engine.EndCompleted)
		k.WantState("w1", api.Reserved)
		if w := k.Worker("w1"); w.Session != x.SessionID || w.Session == "" {
			t.Fatalf("session %q, answer %q", w.Session, x.SessionID)
		}
	}},
	{"online to reserved by preserve without actions", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve(), testkit.Empty()), quick), engine.EndCompleted)
		if string(x.Outcome.Data) != `{"success":true}` || x.SessionID == "" || x.WorkerID != "w1" {
			t.Fatalf("%+v", x)
		}
		k.WantState("w1", api.Reserved)
	}},
	{"busy with a session to reserved when the task times out", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(testkit.Preserve(), testkit.Within(time.Second)), lasting(time.Minute))
		if x := k.WantEnd(r, engine.EndTimeout); x.SessionID == "" {
			t.Fatal("no session in the answer")
		}
		k.WantState("w1", api.Reserved)
		k.WantLaunches("w1", 1) // the task has ended by itself
	}},
	{"busy with a session to reserved only after an unresponsive task has stopped", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve(), testkit.Within(time.Second)), unresponsive), engine.EndTimeout)
		k.WantTook(began, 1250*time.Millisecond, 1250*time.Millisecond)
		if x.SessionID == "" {
			t.Fatal("no session in the answer")
		}
		k.WantState("w1", api.Busy)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(x.SessionID)), quick), engine.CodeWorkerBusy)
		k.Until("w1", api.Reserved)
		k.WantTook(began, 6*time.Second, 6*time.Second)
		k.WantLaunches("w1", 2)
		k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(x.SessionID)), quick), engine.EndCompleted)
	}},
	{"reserved to busy by the right session, with and without a worker", testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w2"))
		for i, opts := range [][]testkit.Option{{testkit.Continue(id)}, {testkit.Continue(id), testkit.On("w2")}} {
			r := k.Start(anna, testkit.Task(opts...), second)
			k.WantState("w2", api.Busy)
			x := k.WantEnd(r, engine.EndCompleted)
			sees(k, x, i+1)
			if x.SessionID != id {
				t.Fatalf("session %q, want %q", x.SessionID, id)
			}
			k.WantState("w2", api.Reserved)
		}
	}},
	{"reserved stays so for a wrong session or none", testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		refused := func(a api.Account, code engine.Code, opts ...testkit.Option) {
			t.Helper()
			k.WantRefused(k.Start(a, testkit.Task(opts...), quick), code)
		}
		refused(anna, engine.CodeWorkerReserved, testkit.On("w1"))
		refused(bert, engine.CodeWorkerReserved, testkit.On("w1"))
		refused(anna, engine.CodeSessionMismatch, testkit.On("w1"), testkit.Continue("sess_0"))
		refused(anna, engine.CodeSessionMismatch, testkit.On("w2"), testkit.Continue(id))
		refused(anna, engine.CodeSessionMismatch, testkit.Continue("sess_0"))
		refused(bert, engine.CodeSessionMismatch, testkit.Continue(id))
		refused(bert, engine.CodeSessionMismatch, testkit.Continue(id), testkit.On("w1"))
		refused(bert, engine.CodeSessionMismatch, testkit.Close(id))
		refused(bert, engine.CodeWorkerReserved, testkit.Override(), testkit.On("w1"))
		k.WantState("w1", api.Reserved)
	}},
	{"reserved to online by close without actions", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Close(id), testkit.Empty()), quick), engine.EndCompleted)
		if x.SessionID != "" || string(x.Outcome.Data) != `{"success":true}` {
			t.Fatalf("%+v", x)
		}
		k.WantState("w1", api.Online)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
		sees(k, k.Do(bert, testkit.Task(), quick), 0)
	}},
	{"reserved to busy to online by close with actions", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		r := k.Start(anna, testkit.Task(testkit.Close(id)), second)
		k.WantState("w1", api.Busy)
		x := k.WantEnd(r, engine.EndCompleted)
		sees(k, x, 1)
		if x.SessionID != "" {
			t.Fatal("the answer names a closed session")
		}
		k.WantState("w1", api.Online)
		sees(k, k.Do(bert, testkit.Task(), quick), 0)
	}},
	{"reserved to online when the timeout has elapsed", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		id := reserve(k, anna, testkit.Lasting(span(0, 5*time.Second))) // nothing: the default
		k.Until("w1", api.Online)
		lasts := span(engine.DefaultSessionTimeout, 5*time.Second)
		k.WantTook(began, lasts, lasts)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
	}},
	{"reserved: the timer stands still while a task runs, and starts anew", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		lasts, task := span(time.Minute, 4*time.Second), span(90*time.Second, 5*time.Second)
		id := reserve(k, anna, testkit.Lasting(lasts))
		time.Sleep(span(59*time.Second, time.Second))
		began := time.Now()
		k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id), testkit.Within(2*time.Minute)), lasting(task)), engine.EndCompleted)
		k.Until("w1", api.Online)
		k.WantTook(began, task+lasts, task+lasts)
	}},
	{"reserved: a later request changes the timeout", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.Lasting(span(time.Minute, 3*time.Second)))
		rest := span(time.Second, 3*time.Second)
		for _, x := range []*engine.Task{
			testkit.Task(testkit.Continue(id), testkit.Lasting(span(10*time.Minute, 7*time.Second))),
			testkit.Task(testkit.Continue(id), testkit.Preserve(), testkit.Empty(), testkit.Lasting(span(20*time.Minute, 11*time.Second))),
		} {
			k.WantEnd(k.Start(anna, x, quick), engine.EndCompleted)
			time.Sleep(x.Session.Timeout - rest)
			k.WantState("w1", api.Reserved)
		}
		time.Sleep(rest)
		k.WantState("w1", api.Online)
	}},
	{"reserved ends after the greatest age", testkit.Options{Config: func(c *actors.Config) { c.Session.MaxAge = span(0, 14*time.Second) }}, func(t *testing.T, k *testkit.Kit) {
		age, next, rest := span(8*time.Hour, 14*time.Second), span(20*time.Minute, 2*time.Second), span(time.Second, 2*time.Second)
		began := time.Now()
		id := reserve(k, anna, testkit.Lasting(span(30*time.Minute, 6*time.Second)))
		for time.Since(began)+next+rest < age {
			time.Sleep(next)
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id), testkit.Empty()), quick), engine.EndCompleted)
		}
		time.Sleep(age - time.Since(began) - rest)
		k.WantState("w1", api.Reserved)
		k.Until("w1", api.Online)
		k.WantTook(began, age, age)
	}},
	{"reserved to busy by override, with and without a worker", testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w2"))
		for i, opts := range [][]testkit.Option{{testkit.Override()}, {testkit.Override(), testkit.On("w2")}} {
			r := k.Start(anna, testkit.Task(opts...), second)
			k.WantState("w2", api.Busy)
			k.WantRefused(k.Start(anna, testkit.Task(testkit.Override(), testkit.On("w2")), quick), engine.CodeWorkerBusy)
			x := k.WantEnd(r, engine.EndCompleted)
			sees(k, x, i+1)
			if x.SessionID == id || x.SessionID == "" {
				t.Fatalf("session %q after %q", x.SessionID, id)
			}
			k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
			k.WantState("w2", api.Reserved)
			id = x.SessionID
		}
	}},
	{"override without a worker takes one that is reserved, not busy", testkit.Options{Workers: 12}, func(t *testing.T, k *testkit.Kit) {
		const free = "w4"
		for _, w := range []string{"w1", "w2", "w3", "w4", "w5", "w6"} {
			id := reserve(k, anna, testkit.On(w))
			if w != free {
				k.Start(anna, testkit.Task(testkit.Continue(id)), lasting(time.Minute))
				k.WantState(w, api.Busy)
			}
		}
		if x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Override()), second), engine.EndCompleted); x.WorkerID != free {
			t.Fatalf("took %s, want %s", x.WorkerID, free)
		}
	}},
	{"online to reserved by override", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		if x := k.Do(anna, testkit.Task(testkit.Override()), quick); x.SessionID == "" {
			t.Fatalf("%+v", x)
		}
		k.WantState("w1", api.Reserved)
	}},
	{"busy to online when the client leaves the session it opens", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(testkit.Preserve()), lasting(time.Minute))
		k.WantState("w1", api.Busy)
		r.Leave()
		k.WantEnd(r, engine.EndCancelled)
		k.WantState("w1", api.Online)
		k.WantLaunches("w1", 1) // the task has ended by itself
	}},
	{"busy to reserved when the client leaves a session that existed", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		r := k.Start(anna, testkit.Task(testkit.Continue(id)), lasting(time.Minute))
		k.WantState("w1", api.Busy)
		r.Leave()
		k.WantEnd(r, engine.EndCancelled)
		k.WantState("w1", api.Reserved)
		k.WantLaunches("w1", 1) // the task has ended by itself
	}},
	{"reserved to offline to reserved when the browser dies", testkit.Options{LaunchTakes: time.Second}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		k.Engine.Kill("w1")
		k.WantState("w1", api.Offline)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeWorkerOffline)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Override()), quick), engine.CodeWorkerOffline)
		k.Until("w1", api.Reserved)
		sees(k, k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted), 1)
	}},
	{"busy with a session to offline to reserved when the browser dies", testkit.Options{LaunchTakes: time.Second}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		r := k.Start(anna, testkit.Task(testkit.Continue(id)), lasting(time.Minute))
		k.WantState("w1", api.Busy)
		k.Engine.Kill("w1")
		if x := k.WantEnd(r, engine.EndCrashed); x.SessionID != id {
			t.Fatalf("session %q in the answer", x.SessionID)
		}
		k.Until("w1", api.Reserved)
		sees(k, k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted), 1)
	}},
	{"offline with a session to online when its time is over", testkit.Options{
		Config: func(c *actors.Config) { c.Browser.LaunchTimeout = time.Hour }}, func(t *testing.T, k *testkit.Kit) {
		reserve(k, anna, testkit.Lasting(span(time.Minute, 3*time.Second)))
		k.Engine.SetLaunchTakes(span(2*time.Minute, 5*time.Second))
		k.Engine.Kill("w1")
		k.Until("w1", api.Online)
		sees(k, k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted), 0)
	}},
	{"offline to online when the session cannot be put back", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		k.Engine.FailRestores("w1", errors.New("no"))
		k.Engine.Kill("w1")
		k.Until("w1", api.Online)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
	}},
	{"reserved to offline by a drain", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		reserve(k, anna)
		k.Drain(time.Minute)
		k.WantState("w1", api.Offline)
	}},
	{"the data cache lives as long as the session", testkit.Options{LaunchTakes: time.Second}, func(t *testing.T, k *testkit.Kit) {
		var caches []*engine.Cache
		look := testkit.Script{Do: withCache(func(c *engine.Cache) { caches = append(caches, c) })}
		id := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve()), look), engine.EndCompleted).SessionID
		k.Do(anna, testkit.Task(testkit.Continue(id)), look)
		k.Engine.Kill("w1")
		k.Until("w1", api.Offline)
		k.Until("w1", api.Reserved)
		k.Do(anna, testkit.Task(testkit.Continue(id)), look)
		id = k.Do(anna, testkit.Task(testkit.Override()), look).SessionID
		k.Do(anna, testkit.Task(testkit.Close(id)), look)
		k.Do(anna, testkit.Task(), look)
		same := func(a, b int) bool { return caches[a] == caches[b] }
		if slices.Contains(caches[:5], nil) || !same(0, 1) || !same(0, 2) || same(2, 3) || !same(3, 4) || caches[5] != nil {
			t.Fatalf("caches: %p", caches)
		}
	}},
	{"one account reserves half of the shared workers, its own beside", testkit.Options{Workers: 4,
		Specs: []api.WorkerSpec{{ID: "own", Name: "own", Owner: "anna"}}}, func(t *testing.T, k *testkit.Kit) {
		for range 3 {
			reserve(k, anna)
		}
		k.WantState("own", api.Reserved)
		for _, w := range []string{"w1", "w2", "w3", "w4"} {
			if k.Worker(w).State == api.Online {
				no := k.WantRefused(k.Start(anna, testkit.Task(testkit.Preserve(), testkit.Waiting(time.Minute), testkit.On(w)), quick), engine.CodeSessionLimit)
				if !strings.Contains(no.Text, "hold 3 of the workers; plan pro allows 50, and at most half of the shared ones, which is 2 here") {
					t.Errorf("%s", no.Text)
				}
			}
		}
		reserve(k, bert)
		k.WantRefused(k.Start(testkit.Account("carl", engine.Standard), testkit.Task(testkit.Preserve(), testkit.On("own")), quick), engine.CodeForeignWorker)
	}},
	{"a plan allows so many sessions", testkit.Options{Workers: 20}, func(t *testing.T, k *testkit.Kit) {
		carl := testkit.Account("carl", engine.Standard)
		for range 5 {
			reserve(k, carl)
		}
		k.WantRefused(k.Start(carl, testkit.Task(testkit.Preserve()), quick), engine.CodeSessionLimit)
		k.WantEnd(k.Start(carl, testkit.Task(testkit.Override()), quick), engine.EndCompleted)
	}},
}
