package actors_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/testkit"
)

// reserve opens a session on a worker and returns its id.
func reserve(k *testkit.Kit, a actors.Account, opts ...testkit.Option) string {
	k.T.Helper()
	x := k.WantEnd(k.Start(a, testkit.Task(append(opts, testkit.Preserve())...), quick), engine.EndCompleted)
	if x.SessionID == "" {
		k.T.Fatalf("no session: %+v", x)
	}
	k.Until(x.WorkerID, actors.Reserved)
	return x.SessionID
}

// sees fails the test unless the task's browser held the traces of so many
// tasks before it.
func sees(k *testkit.Kit, x *actors.Executed, n int) {
	k.T.Helper()
	if r, err := testkit.ResultOf(x.Outcome); err != nil || len(r.Before) != n {
		k.T.Fatalf("%s sees %v (%v), want %d tasks", x.TaskID, r.Before, err, n)
	}
}

var sessionRows = []row{
	{"online to busy to reserved by preserve", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(testkit.Preserve()), second)
		k.WantState("w1", actors.Busy)
		x := k.WantEnd(r, engine.EndCompleted)
		k.WantState("w1", actors.Reserved)
		if w := k.Worker("w1"); w.Session != x.SessionID || w.Session == "" {
			t.Fatalf("session %q, answer %q", w.Session, x.SessionID)
		}
	}},
	{"online to reserved by preserve without actions", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve(), testkit.Empty()), quick), engine.EndCompleted)
		if string(x.Outcome.Data) != `{"success":true}` || x.SessionID == "" || x.WorkerID != "w1" {
			t.Fatalf("%+v", x)
		}
		k.WantState("w1", actors.Reserved)
	}},
	{"busy with a session to reserved when the task times out", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(testkit.Preserve(), testkit.Within(time.Second)), lasting(time.Minute))
		if x := k.WantEnd(r, engine.EndTimeout); x.SessionID == "" {
			t.Fatal("no session in the answer")
		}
		k.WantState("w1", actors.Reserved)
	}},
	{"busy with a session to reserved only after a deaf task has stopped", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(testkit.Preserve(), testkit.Within(time.Second)), deaf)
		began := time.Now()
		x := k.WantEnd(r, engine.EndTimeout)
		if took := time.Since(began); took != 1250*time.Millisecond || x.SessionID == "" {
			t.Fatalf("answered after %v with session %q", took, x.SessionID)
		}
		k.WantState("w1", actors.Busy)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(x.SessionID)), quick), engine.CodeWorkerBusy)
		k.Until("w1", actors.Reserved)
		if took := time.Since(began); took != 6*time.Second || k.Engine.Launches("w1") != 2 {
			t.Fatalf("reserved after %v and %d launches", took, k.Engine.Launches("w1"))
		}
		k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(x.SessionID)), quick), engine.EndCompleted)
	}},
	{"reserved to busy by the right session, with and without a worker", testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w2"))
		for i, opts := range [][]testkit.Option{{testkit.Continue(id)}, {testkit.Continue(id), testkit.On("w2")}} {
			r := k.Start(anna, testkit.Task(opts...), second)
			k.WantState("w2", actors.Busy)
			x := k.WantEnd(r, engine.EndCompleted)
			sees(k, x, i+1)
			if x.SessionID != id {
				t.Fatalf("session %q, want %q", x.SessionID, id)
			}
			k.WantState("w2", actors.Reserved)
		}
	}},
	{"reserved stays so for a wrong session or none", testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		refused := func(a actors.Account, code engine.Code, opts ...testkit.Option) {
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
		k.WantState("w1", actors.Reserved)
	}},
	{"reserved to online by close without actions", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Close(id), testkit.Empty()), quick), engine.EndCompleted)
		if x.SessionID != "" || string(x.Outcome.Data) != `{"success":true}` {
			t.Fatalf("%+v", x)
		}
		k.WantState("w1", actors.Online)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
		sees(k, k.Do(bert, testkit.Task(), quick), 0)
	}},
	{"reserved to busy to online by close with actions", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		r := k.Start(anna, testkit.Task(testkit.Close(id)), second)
		k.WantState("w1", actors.Busy)
		x := k.WantEnd(r, engine.EndCompleted)
		sees(k, x, 1)
		if x.SessionID != "" {
			t.Fatal("the answer names a closed session")
		}
		k.WantState("w1", actors.Online)
		sees(k, k.Do(bert, testkit.Task(), quick), 0)
	}},
	{"reserved to online when the timeout has elapsed", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		began := time.Now()
		k.Until("w1", actors.Online)
		if took := time.Since(began); took != engine.DefaultSessionTimeout {
			t.Fatalf("free after %v", took)
		}
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
	}},
	{"reserved: the timer stands still while a task runs, and starts anew", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.Lasting(time.Minute))
		time.Sleep(59 * time.Second)
		k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id), testkit.Within(2*time.Minute)), lasting(90*time.Second)), engine.EndCompleted)
		began := time.Now()
		k.Until("w1", actors.Online)
		if took := time.Since(began); took != time.Minute {
			t.Fatalf("free after %v", took)
		}
	}},
	{"reserved: a later request changes the timeout", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.Lasting(time.Minute))
		for _, x := range []*engine.Task{
			testkit.Task(testkit.Continue(id), testkit.Lasting(10*time.Minute)),
			testkit.Task(testkit.Continue(id), testkit.Preserve(), testkit.Empty(), testkit.Lasting(20*time.Minute)),
		} {
			k.WantEnd(k.Start(anna, x, quick), engine.EndCompleted)
			time.Sleep(x.Session.Timeout - time.Second)
			k.WantState("w1", actors.Reserved)
		}
		time.Sleep(time.Second)
		k.WantState("w1", actors.Online)
	}},
	{"reserved ends after the greatest age", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.Lasting(30*time.Minute))
		began := time.Now()
		k.Settle()
		for k.Worker("w1").State == actors.Reserved {
			time.Sleep(20 * time.Minute)
			k.Do(anna, testkit.Task(testkit.Continue(id), testkit.Empty()), quick)
			k.Settle()
		}
		if took := time.Since(began); took != 8*time.Hour {
			t.Fatalf("ended after %v", took)
		}
	}},
	{"reserved to busy by override, with and without a worker", testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w2"))
		for i, opts := range [][]testkit.Option{{testkit.Override()}, {testkit.Override(), testkit.On("w2")}} {
			r := k.Start(anna, testkit.Task(opts...), second)
			k.WantState("w2", actors.Busy)
			k.WantRefused(k.Start(anna, testkit.Task(testkit.Override(), testkit.On("w2")), quick), engine.CodeWorkerBusy)
			x := k.WantEnd(r, engine.EndCompleted)
			sees(k, x, i+1)
			if x.SessionID == id || x.SessionID == "" {
				t.Fatalf("session %q after %q", x.SessionID, id)
			}
			k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
			k.WantState("w2", actors.Reserved)
			id = x.SessionID
		}
	}},
	{"override without a worker takes one that is reserved, not busy", testkit.Options{Workers: 12}, func(t *testing.T, k *testkit.Kit) {
		var free actors.WorkerInfo
		for i := range 6 {
			id := reserve(k, anna)
			if i == 3 {
				for _, w := range []string{"w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8", "w9", "w10", "w11", "w12"} {
					if k.Worker(w).Session == id {
						free = k.Worker(w)
					}
				}
				continue
			}
			k.Start(anna, testkit.Task(testkit.Continue(id)), second)
			k.Settle()
		}
		if x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Override()), second), engine.EndCompleted); x.WorkerID != free.ID {
			t.Fatalf("took %s, want %s", x.WorkerID, free.ID)
		}
	}},
	{"online to reserved by override", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		if x := k.Do(anna, testkit.Task(testkit.Override()), quick); x.SessionID == "" {
			t.Fatalf("%+v", x)
		}
		k.WantState("w1", actors.Reserved)
	}},
	{"busy to online when the client leaves the session it opens", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(testkit.Preserve()), lasting(time.Minute))
		k.WantState("w1", actors.Busy)
		r.Leave()
		k.WantEnd(r, engine.EndCancelled)
		k.WantState("w1", actors.Online)
	}},
	{"busy to reserved when the client leaves a session that existed", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		r := k.Start(anna, testkit.Task(testkit.Continue(id)), lasting(time.Minute))
		k.WantState("w1", actors.Busy)
		r.Leave()
		k.WantEnd(r, engine.EndCancelled)
		k.WantState("w1", actors.Reserved)
	}},
	{"reserved to offline to reserved when the browser dies", testkit.Options{Engine: slowEngine(time.Second)}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		k.Engine.Kill("w1")
		k.WantState("w1", actors.Offline)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeWorkerOffline)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Override()), quick), engine.CodeWorkerOffline)
		k.Until("w1", actors.Reserved)
		sees(k, k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted), 1)
	}},
	{"busy with a session to offline to reserved when the browser dies", testkit.Options{Engine: slowEngine(time.Second)}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		r := k.Start(anna, testkit.Task(testkit.Continue(id)), lasting(time.Minute))
		k.WantState("w1", actors.Busy)
		k.Engine.Kill("w1")
		if x := k.WantEnd(r, engine.EndCrashed); x.SessionID != id {
			t.Fatalf("session %q in the answer", x.SessionID)
		}
		k.Until("w1", actors.Reserved)
		sees(k, k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted), 1)
	}},
	{"offline with a session to online when its time is over", testkit.Options{Engine: slowEngine(2 * time.Minute),
		Config: func(c *actors.Config) { c.Browser.LaunchTimeout = time.Hour }}, func(t *testing.T, k *testkit.Kit) {
		reserve(k, anna, testkit.Lasting(time.Minute))
		k.Engine.Kill("w1")
		k.Until("w1", actors.Online)
		sees(k, k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted), 0)
	}},
	{"offline to online when the session cannot be put back", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		k.Engine.FailRestores("w1", errors.New("no"))
		k.Engine.Kill("w1")
		k.Until("w1", actors.Online)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
	}},
	{"reserved to offline by a drain", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		reserve(k, anna)
		k.Drain(time.Minute)
		k.WantState("w1", actors.Offline)
	}},
	{"the data cache lives as long as the session", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		var caches []*engine.Cache
		look := testkit.Script{Do: withCache(func(c *engine.Cache) { caches = append(caches, c) })}
		id := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve()), look), engine.EndCompleted).SessionID
		k.Do(anna, testkit.Task(testkit.Continue(id)), look)
		k.Engine.Kill("w1")
		k.Until("w1", actors.Offline)
		k.Until("w1", actors.Reserved)
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
		Specs: []actors.WorkerSpec{{ID: "own", Name: "own", Owner: "anna"}}}, func(t *testing.T, k *testkit.Kit) {
		for range 3 {
			reserve(k, anna)
		}
		k.WantState("own", actors.Reserved)
		k.Settle()
		for _, w := range []string{"w1", "w2", "w3", "w4"} {
			if k.Worker(w).State == actors.Online {
				k.WantRefused(k.Start(anna, testkit.Task(testkit.Preserve(), testkit.Waiting(time.Minute), testkit.On(w)), quick), engine.CodeSessionLimit)
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
