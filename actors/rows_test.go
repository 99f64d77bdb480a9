package actors_test

import (
	"slices"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/testkit"
)

var anna, bert = testkit.Pro("anna"), testkit.Pro("bert")

// lasting is a script that plays for a while.
func lasting(d time.Duration) testkit.Script { return testkit.Script{Takes: d} }

var (
	quick  = lasting(0)
	second = lasting(time.Second)
	deaf   = testkit.Script{Hang: true}
)

// A row of the table of transitions: what the worker is, what happens, what it
// becomes.
type row struct {
	name    string
	options testkit.Options
	drive   func(t *testing.T, k *testkit.Kit)
}

// TestTransitions drives every row of the table in doc.go through the actors.
func TestTransitions(t *testing.T) {
	for _, r := range slices.Concat(workerRows, sessionRows, restartRows) {
		t.Run(r.name, func(t *testing.T) {
			if r.options.Workers == 0 {
				r.options.Workers = 1
			}
			testkit.Run(t, r.options, r.drive)
		})
	}
}

var workerRows = []row{
	{"offline to online when the browser is up", testkit.Options{Cold: true, Engine: slowEngine(time.Second)},
		func(t *testing.T, k *testkit.Kit) {
			k.WantState("w1", actors.Offline)
			if k.Node.Ready() {
				t.Fatal("ready without a browser")
			}
			k.WantRefused(k.Start(anna, testkit.Task(testkit.On("w1")), quick), engine.CodeWorkerOffline)
			k.Until("w1", actors.Online)
			if !k.Node.Ready() {
				t.Fatal("not ready with a browser")
			}
		}},
	{"online to busy when a task is claimed", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), second)
		k.WantState("w1", actors.Busy)
		k.WantRefused(k.Start(bert, testkit.Task(testkit.On("w1")), quick), engine.CodeWorkerBusy)
		k.WantRefused(k.Start(bert, testkit.Task(), quick), engine.CodeNoWorkerAvailable)
		k.WantEnd(r, engine.EndCompleted)
	}},
	{"busy to online when the task ends", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		k.WantEnd(k.Start(anna, testkit.Task(), second), engine.EndCompleted)
		k.WantState("w1", actors.Online)
	}},
	{"busy to online when the task times out", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Within(3*time.Second)), lasting(time.Minute)), engine.EndTimeout)
		if took := time.Since(began); took != 3*time.Second || x.Timeout != took || x.WorkerID != "w1" || x.WorkerName != "worker-1" {
			t.Fatalf("timed out after %v: %+v", took, x)
		}
		k.WantState("w1", actors.Online)
	}},
	{"busy to online when the task is cancelled", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), lasting(time.Minute))
		k.WantState("w1", actors.Busy)
		if !r.Cancel() {
			t.Fatal("there was no task to cancel")
		}
		k.WantEnd(r, engine.EndCancelled)
		k.WantState("w1", actors.Online)
	}},
	{"busy to online when the client goes away", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), lasting(time.Minute))
		k.WantState("w1", actors.Busy)
		r.Leave()
		k.WantEnd(r, engine.EndCancelled)
		k.WantState("w1", actors.Online)
	}},
	{"online, being cleaned: a claim waits for it", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		k.Engine.OnReset("w1", testkit.Reset{Takes: time.Second})
		k.Do(anna, testkit.Task(), quick)
		began := time.Now()
		x := k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted)
		if r, _ := testkit.ResultOf(x.Outcome); len(r.Before) != 0 || time.Since(began) != time.Second {
			t.Fatalf("after %v the task sees %v", time.Since(began), r.Before)
		}
	}},
	{"online, cleaned too slowly: the browser is replaced", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		k.Engine.OnReset("w1", testkit.Reset{Hang: true})
		k.Do(anna, testkit.Task(), quick)
		began := time.Now()
		x := k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted)
		if r, _ := testkit.ResultOf(x.Outcome); len(r.Before) != 0 || time.Since(began) != 2*time.Second || k.Engine.Launches("w1") != 2 {
			t.Fatalf("after %v and %d launches the task sees %v", time.Since(began), k.Engine.Launches("w1"), r.Before)
		}
	}},
	{"online, renewed: it stays claimable", testkit.Options{Engine: slowEngine(time.Second), Config: func(c *actors.Config) { c.Browser.RenewTasks = 2; c.Browser.RenewAge = time.Hour }},
		func(t *testing.T, k *testkit.Kit) {
			for range 2 {
				k.Do(anna, testkit.Task(), quick)
			}
			k.WantState("w1", actors.Online)
			k.WantEnd(k.Start(anna, testkit.Task(testkit.On("w1")), quick), engine.EndCompleted)
			if n := k.Engine.Launches("w1"); n != 2 {
				t.Fatalf("%d launches after three tasks, want 2", n)
			}
			time.Sleep(time.Hour + time.Second)
			k.WantState("w1", actors.Online)
			if n := k.Engine.Launches("w1"); n != 3 {
				t.Fatalf("%d launches after an hour more, want 3", n)
			}
		}},
	{"online, renewed for its memory: only when nothing uses it, and only if it was used", testkit.Options{Config: func(c *actors.Config) { c.Browser.RenewMemory, c.Browser.MemoryEvery = 1<<30, 5*time.Second }},
		func(t *testing.T, k *testkit.Kit) {
			k.Engine.SetMemory("w1", 1<<30)
			time.Sleep(time.Minute)
			if n := k.Engine.Launches("w1"); n != 1 {
				t.Fatalf("%d launches without a task, want 1", n)
			}
			k.Engine.SetMemory("w1", 1<<30-1)
			time.Sleep(6 * time.Second) // until it was looked at
			k.Do(anna, testkit.Task(), quick)
			time.Sleep(time.Minute)
			if n := k.Engine.Launches("w1"); n != 1 {
				t.Fatalf("%d launches below the limit, want 1", n)
			}
			id := reserve(k, anna)
			k.Engine.SetMemory("w1", 1<<30)
			time.Sleep(time.Minute)
			if n := k.Engine.Launches("w1"); n != 1 {
				t.Fatalf("%d launches while a session holds it, want 1", n)
			}
			k.Do(anna, testkit.Task(testkit.Close(id), testkit.Empty()), quick)
			k.WantState("w1", actors.Online)
			k.Settle()
			if n := k.Engine.Launches("w1"); n != 2 {
				t.Fatalf("%d launches after the session, want 2", n)
			}
			k.Do(anna, testkit.Task(), quick)
			k.Engine.SetMemory("w1", 1<<30)
			time.Sleep(6 * time.Second)
			k.WantState("w1", actors.Online)
			if n := k.Engine.Launches("w1"); n != 3 {
				t.Fatalf("%d launches when it has grown while idle, want 3", n)
			}
		}},
	{"any to offline when the browser does not answer, and back", testkit.Options{Config: func(c *actors.Config) { c.Browser.CheckEvery, c.Browser.CheckTimeout = 5*time.Second, 10*time.Second }},
		func(t *testing.T, k *testkit.Kit) {
			began := time.Now()
			r := k.Start(anna, testkit.Task(), lasting(time.Minute))
			k.Engine.SetDeaf("w1", true)
			k.WantEnd(r, engine.EndCrashed)
			if took := time.Since(began); took > 16*time.Second {
				t.Fatalf("answered after %v", took)
			}
			k.Engine.SetDeaf("w1", false)
			k.Until("w1", actors.Online)
			k.Engine.SetDeaf("w1", true) // with nothing in hand
			k.Until("w1", actors.Offline)
			k.Engine.SetDeaf("w1", false)
			k.Until("w1", actors.Online)
			id := reserve(k, anna)
			k.Engine.SetDeaf("w1", true) // with a session, which goes on
			k.Until("w1", actors.Offline)
			k.Engine.SetDeaf("w1", false)
			k.Until("w1", actors.Reserved)
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted)
		}},
	{"any to offline when the browser dies, and back", testkit.Options{Engine: slowEngine(300 * time.Millisecond)}, func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		k.Engine.Kill("w1")
		k.WantState("w1", actors.Offline)
		k.Until("w1", actors.Online)
		if took := time.Since(began); took > time.Second {
			t.Fatalf("back after %v", took)
		}
	}},
	{"busy to offline when the browser dies under the task", testkit.Options{Engine: slowEngine(300 * time.Millisecond)},
		func(t *testing.T, k *testkit.Kit) {
			r := k.Start(anna, testkit.Task(), lasting(time.Minute))
			k.WantState("w1", actors.Busy)
			began := time.Now()
			k.Engine.Kill("w1")
			k.WantEnd(r, engine.EndCrashed)
			if took := time.Since(began); took > 0 {
				t.Fatalf("answered only after %v", took)
			}
			k.WantState("w1", actors.Offline)
			k.Until("w1", actors.Online)
			if took := time.Since(began); took > time.Second {
				t.Fatalf("back after %v", took)
			}
		}},
	{"online to offline by a drain", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		if d := k.Drain(time.Minute); d.Interrupted != 0 {
			t.Fatalf("%d interrupted", d.Interrupted)
		}
		k.WantState("w1", actors.Offline)
		k.WantRefused(k.Start(anna, testkit.Task(), quick), engine.CodeDraining)
		time.Sleep(time.Hour)
		k.WantState("w1", actors.Offline)
	}},
	{"busy to offline by a drain, once the task has ended", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), second)
		k.WantState("w1", actors.Busy)
		began := time.Now()
		if d := k.Drain(time.Minute); d.Interrupted != 0 || time.Since(began) != time.Second {
			t.Fatalf("%d interrupted after %v", d.Interrupted, time.Since(began))
		}
		k.WantEnd(r, engine.EndCompleted)
		k.WantState("w1", actors.Offline)
	}},
}

func slowEngine(launch time.Duration) *testkit.Engine {
	e := testkit.NewEngine()
	e.LaunchTakes = launch
	return e
}
