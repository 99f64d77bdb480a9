package actors_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// TestFilesAreFreedWithTheirTask: what was lent to an asynchronous task is freed
// once, as soon as the task has ended, however that is; and not by the node where
// the task has not started.
func TestFilesAreFreedWithTheirTask(t *testing.T) {
	lends := func(k *testkit.Kit, x *api.Execute, s testkit.Script) (freed *atomic.Int64, at *atomic.Int64, id string) {
		k.T.Helper()
		freed, at = new(atomic.Int64), new(atomic.Int64)
		x.TaskID, x.Task.Async = actors.NewTaskID(time.Now()), true
		k.Engine.Script(x.TaskID, s)
		started, err := k.Node.Start(context.Background(), x, func() {
			freed.Add(1)
			at.Store(time.Now().UnixNano())
		})
		if err != nil {
			k.T.Fatal(err)
		}
		return freed, at, started.TaskID
	}
	task := func(opts ...testkit.Option) *api.Execute {
		return &api.Execute{Account: anna, Task: testkit.Task(opts...)}
	}
	for name, tc := range map[string]struct {
		x     *api.Execute
		s     testkit.Script
		ends  time.Duration // after its start
		while func(k *testkit.Kit, id string)
		never bool
	}{
		"answered":    {x: task(), s: lasting(10 * time.Second), ends: 10 * time.Second},
		"crashed":     {x: task(), s: testkit.Script{Takes: 5 * time.Second, Crash: true}, ends: 5 * time.Second},
		"out of time": {x: task(testkit.Within(5 * time.Second)), s: lasting(time.Minute), ends: 5 * time.Second},
		"refused":     {x: task(testkit.Continue("none")), never: true},
		"cancelled": {x: task(), s: lasting(time.Minute), ends: 3 * time.Second, while: func(k *testkit.Kit, id string) {
			time.Sleep(3 * time.Second)
			if _, err := api.Ask(context.Background(), k.Node, &api.Cancel{TaskID: id, Account: anna, Cause: api.CauseAsked}); err != nil {
				k.T.Error(err)
			}
		}},
		"account removed": {x: task(), s: lasting(time.Minute), ends: 3 * time.Second, while: func(k *testkit.Kit, _ string) {
			time.Sleep(3 * time.Second)
			testkit.Ask(k, &api.RemoveAccount{Account: anna.ID})
		}},
		"node stopped": {x: task(), s: lasting(time.Minute), ends: 3 * time.Second, while: func(k *testkit.Kit, _ string) {
			time.Sleep(3 * time.Second)
			k.Node.Stop()
		}},
		"task that heeds nothing": {x: task(testkit.Within(5 * time.Second)), s: unresponsive, ends: 5*time.Second + 250*time.Millisecond},
		"with a key":              {x: with("k", "d", anna), s: lasting(10 * time.Second), ends: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
				began := time.Now()
				freed, at, id := lends(k, tc.x, tc.s)
				k.AwaitIdle()
				if freed.Load() != 0 {
					t.Error("freed when it began")
				}
				if tc.while != nil {
					tc.while(k, id)
				}
				time.Sleep(2 * time.Minute)
				switch n := freed.Load(); {
				case tc.never && n != 0:
					t.Errorf("freed %d times, and the caller does, too", n)
				case !tc.never && n != 1:
					t.Errorf("freed %d times", n)
				case !tc.never && time.Unix(0, at.Load()).Sub(began) != tc.ends:
					t.Errorf("freed after %v, want %v", time.Unix(0, at.Load()).Sub(began), tc.ends)
				}
			})
		})
	}
	t.Run("repeated with a key", func(t *testing.T) {
		testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
			first, _, one := lends(k, with("k", "d", anna), lasting(10*time.Second))
			second, _, two := lends(k, with("k", "d", anna), quick)
			time.Sleep(time.Minute)
			if one != two || first.Load() != 1 || second.Load() != 0 {
				t.Errorf("%s and %s: freed %d and %d times", one, two, first.Load(), second.Load())
			}
		})
	})
	t.Run("end not on disk", func(t *testing.T) {
		store := &faultyStore{Store: persistence.NewMemory()}
		testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
			freed, _, _ := lends(k, task(), lasting(10*time.Second))
			store.fail("task/", "outcome/")
			time.Sleep(11 * time.Second)
			if freed.Load() != 1 {
				t.Errorf("freed %d times", freed.Load())
			}
			store.fail()
			time.Sleep(2 * time.Minute)
			if freed.Load() != 1 {
				t.Errorf("freed %d times", freed.Load())
			}
		})
	})
	t.Run("freeing panics", func(t *testing.T) {
		testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
			x := task()
			x.Task.Async = true
			if _, err := k.Node.Start(context.Background(), x, func() { panic(errors.New("oh")) }); err != nil {
				t.Fatal(err)
			}
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Waiting(time.Minute)), quick), engine.EndCompleted)
		})
	})
}
