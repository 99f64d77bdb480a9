package actors_test

import (
	"slices"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

var anna, bert = testkit.Pro("anna"), testkit.Pro("bert")

// lasting is a script that plays for a while.
func lasting(d time.Duration) testkit.Script { return testkit.Script{Takes: d} }

var (
	quick        = lasting(0)
	second       = lasting(time.Second)
	unresponsive = testkit.Script{Hang: true}
)

// A row of the table of transitions: what the worker is, what happens, what it
// becomes.
type row struct {
	name    string
	options testkit.Options
	drive   func(t *testing.T, k *testkit.Kit)
}

// TestTransitions drives every row of the table in doc.go through the actors: in
// fake time, or with -chromium in real browsers.
func TestTransitions(t *testing.T) {
	run := testkit.Run
	if *chromium {
		run = inChromium(t)
	}
	for _, r := range slices.Concat(workerRows, sessionRows, restartRows) {
		t.Run(r.name, func(t *testing.T) {
			if r.options.Workers == 0 {
				r.options.Workers = 1
			}
			run(t, r.options, r.drive)
		})
	}
}

var workerRows = []row{
	{"offline to online when the browser is up", testkit.Options{Cold: true, LaunchTakes: time.Second},
		func(t *testing.T, k *testkit.Kit) {
			k.WantState("w1", api.Offline)
			if k.Node.Ready() {
				t.Fatal("ready without a browser")
			}
			k.WantRefused(k.Start(anna, testkit.Task(testkit.On("w1")), quick), engine.CodeWorkerOffline)
			k.Until("w1", api.Online)
			if !k.Await(k.Node.Ready) { // the node hears of it a moment later
				t.Fatal("not ready with a browser")
			}
		}},
	{"online to busy when a task is claimed", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), second)
		k.WantState("w1", api.Busy)
		k.WantRefused(k.Start(bert, testkit.Task(testkit.On("w1")), quick), engine.CodeWorkerBusy)
		k.WantRefused(k.Start(bert, testkit.Task(), quick), engine.CodeNoWorkerAvailable)
		k.WantEnd(r, engine.EndCompleted)
	}},
	{"busy to online when the task ends", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		k.WantEnd(k.Start(anna, testkit.Task(), second), engine.EndCompleted)
		k.WantState("w1", api.Online)
	}},
	{"a browser is made ready only while no task waits", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		slow := testkit.Reset{Takes: time.Second} // the next task is there before the browser is clean
		k.Engine.OnReset("w1", slow, slow)
		first := k.Start(anna, testkit.Task(), second)
		k.WantState("w1", api.Busy)
		waits := testkit.Waiting(time.Minute)
		behind, last := k.Start(anna, testkit.Task(waits), second), k.Start(bert, testkit.Task(waits), second)
		k.WantEnd(first, engine.EndCompleted)
		k.WantEnd(behind, engine.EndCompleted)
		k.WantEnd(last, engine.EndCompleted)
		if !k.Await(func() bool { return k.Engine.Warmed("w1") == 1 }) {
			t.Fatalf("it was told so %d times in three tasks, want once, behind the last", k.Engine.Warmed("w1"))
		}
	}},
	{"busy to online when the task times out", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Within(3*time.Second)), lasting(time.Minute)), engine.EndTimeout)
		k.WantTook(began, 3*time.Second, 3*time.Second)
		if x.Timeout != 3*time.Second || x.WorkerID != "w1" || x.WorkerName != "worker-1" {
			t.Fatalf("%+v", x)
		}
		k.WantState("w1", api.Online)
		k.WantLaunches("w1", 1) // the task has ended by itself
	}},
	{"busy to online when the task is cancelled", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), lasting(time.Minute))
		k.WantState("w1", api.Busy)
		if !r.Cancel() {
			t.Fatal("there was no task to cancel")
		}
		k.WantEnd(r, engine.EndCancelled)
		k.WantState("w1", api.Online)
		k.WantLaunches("w1", 1) // the task has ended by itself
	}},
	{"busy to online when the client goes away", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), lasting(time.Minute))
		k.WantState("w1", api.Busy)
		r.Leave()
		k.WantEnd(r, engine.EndCancelled)
		k.WantState("w1", api.Online)
		k.WantLaunches("w1", 1) // the task has ended by itself
	}},
	{"online, being cleaned: a claim waits for it", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		k.Engine.OnReset("w1", testkit.Reset{Takes: time.Second})
		began := time.Now()
		k.Do(anna, testkit.Task(), quick)
		x := k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted)
		k.WantTook(began, time.Second, time.Second)
		sees(k, x, 0)
	}},
	{"online, cleaned too slowly: the browser is replaced", testkit.Options{Config: func(c *actors.Config) { c.Browser.ResetTimeout = span(0, 2*time.Second) }}, func(t *testing.T, k *testkit.Kit) {
		k.Engine.OnReset("w1", testkit.Reset{Hang: true})
		began := time.Now()
		k.Do(anna, testkit.Task(), quick)
		x := k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted)
		k.WantTook(began, 2*time.Second, 2*time.Second)
		k.WantLaunches("w1", 2)
		sees(k, x, 0)
	}},
	{"online, cleaned slowly where everything takes long: the browser stays", testkit.Options{LaunchTakes: 2 * time.Second, Config: func(c *actors.Config) { c.Browser.ResetTimeout = 2 * time.Second }}, func(t *testing.T, k *testkit.Kit) {
		k.Engine.OnReset("w1", testkit.Reset{Takes: 3 * time.Second})
		began := time.Now()
		k.Do(anna, testkit.Task(), quick)
		k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted)
		k.WantTook(began, 3*time.Second, 3*time.Second)
		k.WantLaunches("w1", 1)
	}},
	{"online, cleaned without end where everything takes long: the browser is replaced", testkit.Options{LaunchTakes: 2 * time.Second, Config: func(c *actors.Config) { c.Browser.ResetTimeout = 2 * time.Second }}, func(t *testing.T, k *testkit.Kit) {
		k.Engine.OnReset("w1", testkit.Reset{Hang: true})
		began := time.Now()
		k.Do(anna, testkit.Task(), quick)
		k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted)
		k.WantTook(began, 6*time.Second, 6*time.Second)
		k.WantLaunches("w1", 2)
	}},
	{"online, cleaned slower and slower: the browser stays", testkit.Options{Config: func(c *actors.Config) { c.Browser.ResetTimeout = span(0, 3*time.Second) }}, func(t *testing.T, k *testkit.Kit) {
		for _, takes := range []time.Duration{span(1500, 1500), span(4000, 3000), span(7000, 4500)} { // a real browser adds its own
			k.Engine.OnReset("w1", testkit.Reset{Takes: takes * time.Millisecond})
		}
		for range 4 {
			k.WantEnd(k.Start(anna, testkit.Task(), quick), engine.EndCompleted)
		}
		k.WantLaunches("w1", 1)
	}},
	{"online, renewed: it stays claimable", testkit.Options{LaunchTakes: time.Second, Config: func(c *actors.Config) { c.Browser.RenewTasks, c.Browser.RenewAge = 2, span(time.Hour, 8*time.Second) }},
		func(t *testing.T, k *testkit.Kit) {
			for range 2 {
				k.Do(anna, testkit.Task(), quick)
			}
			k.WantState("w1", api.Online)
			k.WantEnd(k.Start(anna, testkit.Task(testkit.On("w1")), quick), engine.EndCompleted)
			k.WantLaunches("w1", 2) // after three tasks
			time.Sleep(span(time.Hour, 8*time.Second) + time.Second)
			k.WantState("w1", api.Online)
			k.WantLaunches("w1", 3)
		}},
	{"online, renewed for its memory: only when nothing uses it, and only if it was used", testkit.Options{Config: func(c *actors.Config) {
		c.Browser.RenewMemory, c.Browser.MemoryEvery = 1<<30, span(5*time.Second, 100*time.Millisecond)
	}},
		func(t *testing.T, k *testkit.Kit) {
			k.Engine.SetMemory("w1", 1<<30)
			looks(k, 12)
			k.WantLaunches("w1", 1) // without a task
			k.Engine.SetMemory("w1", 1<<30-1)
			looks(k, 2)
			k.Do(anna, testkit.Task(), quick)
			looks(k, 12)
			k.WantLaunches("w1", 1) // below the limit
			id := reserve(k, anna)
			k.Engine.SetMemory("w1", 1<<30)
			looks(k, 12)
			k.WantLaunches("w1", 1) // while a session holds it
			k.Do(anna, testkit.Task(testkit.Close(id), testkit.Empty()), quick)
			k.WantState("w1", api.Online)
			k.WantLaunches("w1", 2) // after the session
			k.Do(anna, testkit.Task(), quick)
			k.Engine.SetMemory("w1", 1<<30)
			looks(k, 2)
			k.WantState("w1", api.Online)
			k.WantLaunches("w1", 3) // when it has grown while idle
		}},
	{"any to offline when the browser does not answer, and back", testkit.Options{Config: func(c *actors.Config) {
		c.Browser.CheckEvery, c.Browser.CheckTimeout = span(5*time.Second, time.Second), span(10*time.Second, 2*time.Second)
	}},
		func(t *testing.T, k *testkit.Kit) {
			began := time.Now()
			r := k.Start(anna, testkit.Task(), lasting(time.Minute))
			k.Engine.SetUnresponsive("w1", true)
			k.WantEnd(r, engine.EndCrashed)
			k.WantTook(began, 0, span(16*time.Second, 4*time.Second))
			k.Engine.SetUnresponsive("w1", false)
			k.Until("w1", api.Online)
			k.Engine.SetUnresponsive("w1", true) // with nothing in hand
			k.Until("w1", api.Offline)
			k.Engine.SetUnresponsive("w1", false)
			k.Until("w1", api.Online)
			id := reserve(k, anna)
			k.Engine.SetUnresponsive("w1", true) // with a session, which goes on
			k.Until("w1", api.Offline)
			k.Engine.SetUnresponsive("w1", false)
			k.Until("w1", api.Reserved)
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted)
		}},
	{"any to offline when the browser dies, and back", testkit.Options{LaunchTakes: 300 * time.Millisecond}, func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		k.Engine.Kill("w1")
		k.WantState("w1", api.Offline)
		k.Until("w1", api.Online)
		k.WantTook(began, 0, time.Second)
	}},
	{"busy to offline when the browser dies under the task", testkit.Options{LaunchTakes: 300 * time.Millisecond},
		func(t *testing.T, k *testkit.Kit) {
			r := k.Start(anna, testkit.Task(), lasting(time.Minute))
			k.WantState("w1", api.Busy)
			began := time.Now()
			k.Engine.Kill("w1")
			k.WantEnd(r, engine.EndCrashed)
			k.WantTook(began, 0, 0) // not only when its time is over
			k.WantState("w1", api.Offline)
			k.Until("w1", api.Online)
			k.WantTook(began, 0, time.Second)
		}},
	{"online to offline by a drain", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		if d := k.Drain(time.Minute); d.Interrupted != 0 {
			t.Fatalf("%d interrupted", d.Interrupted)
		}
		k.WantState("w1", api.Offline)
		k.WantRefused(k.Start(anna, testkit.Task(), quick), engine.CodeDraining)
		time.Sleep(span(time.Hour, time.Second))
		k.WantState("w1", api.Offline)
	}},
	{"busy to offline by a drain, once the task has ended", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		r := k.Start(anna, testkit.Task(), second)
		k.WantState("w1", api.Busy)
		if d := k.Drain(time.Minute); d.Interrupted != 0 {
			t.Fatalf("%d interrupted", d.Interrupted)
		}
		k.WantTook(began, time.Second, time.Second)
		k.WantEnd(r, engine.EndCompleted)
		k.WantState("w1", api.Offline)
	}},
}

// looks waits until somebody has looked at the memory of w1 so often.
func looks(k *testkit.Kit, n int) {
	for n += k.Engine.MemoryReads("w1"); k.Engine.MemoryReads("w1") < n; {
		time.Sleep(span(time.Second, 10*time.Millisecond))
	}
}

func slowEngine(launch time.Duration) *testkit.Engine {
	e := testkit.NewEngine()
	e.LaunchTakes = launch
	return e
}
