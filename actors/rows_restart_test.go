package actors_test

import (
	"context"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// What a worker becomes when its node starts again.
var restartRows = []row{
	{"offline with a saved session to reserved when the browser is up", testkit.Options{LaunchTakes: time.Second},
		func(t *testing.T, k *testkit.Kit) {
			id := reserve(k, anna)
			k.Crash()
			k.BootCold()
			k.WantState("w1", api.Offline)
			ws, err := api.Ask(context.Background(), k.Node, &api.ListWorkers{Account: anna})
			if err != nil || ws.Workers[0].Session != id {
				t.Fatalf("%+v, %v", ws, err)
			}
			k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeWorkerOffline)
			time.Sleep(time.Second)
			k.WantState("w1", api.Reserved)
			goesOn(k, anna, id, 1, true)
		}},
	{"offline with a saved session to online when its time is over", testkit.Options{
		Config: func(c *actors.Config) { c.Browser.LaunchTimeout = time.Hour }}, func(_ *testing.T, k *testkit.Kit) {
		reserve(k, anna, testkit.Lasting(span(time.Minute, 3*time.Second)))
		k.Crash()
		k.Engine.SetLaunchTakes(span(2*time.Minute, 5*time.Second))
		k.BootCold()
		k.Until("w1", api.Online)
		sees(k, k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted), 0)
	}},
	{"offline with a saved session to online when it cannot be put back", testkit.Options{}, func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		k.Engine.FailRestores("w1", errNo)
		k.Restart()
		k.WantState("w1", api.Online)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
		wantKept(k)
	}},
	{"reserved to offline by a drain, and reserved again where the worker comes back", testkit.Options{}, func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		k.Drain(time.Minute)
		k.WantState("w1", api.Offline)
		wantKept(k, id)
		k.Restart()
		k.WantState("w1", api.Reserved)
		goesOn(k, anna, id, 1, true)
	}},
	{"a drain saves what changed since, and does not give the session more time", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.Lasting(span(10*time.Minute, 14*time.Second)))
		k.Engine.OnSave("w1", testkit.Save{Err: errNo})
		began := time.Now()
		k.Do(anna, testkit.Task(testkit.Continue(id)), quick) // its state is not saved
		time.Sleep(span(6*time.Minute, 3*time.Second))
		k.Restart()
		goesOn(k, anna, id, 2, true)
		time.Sleep(span(4*time.Minute, time.Second))
		k.Restart()
		time.Sleep(span(5*time.Minute, 3*time.Second))
		k.WantState("w1", api.Reserved)
		k.Until("w1", api.Online)
		k.WantTook(began, span(16*time.Minute, 17*time.Second), span(16*time.Minute, 17*time.Second))
	}},
	{"busy with a session to offline when the node dies, and reserved again", testkit.Options{}, func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		k.Start(anna, testkit.Task(testkit.Continue(id)), lasting(time.Minute))
		k.WantState("w1", api.Busy)
		k.Crash()
		k.Boot()
		k.WantState("w1", api.Reserved)
		goesOn(k, anna, id, 1, true)
	}},
	{"busy to online when the node dies", testkit.Options{}, func(_ *testing.T, k *testkit.Kit) {
		k.Start(anna, testkit.Task(), lasting(time.Minute))
		k.WantState("w1", api.Busy)
		k.Crash()
		k.Boot()
		k.WantState("w1", api.Online)
	}},
}
