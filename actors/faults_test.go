package actors_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

func TestWorkerThatPanicsAnswersAndComesBack(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1, Engine: slowEngine(300 * time.Millisecond)}, func(t *testing.T, k *testkit.Kit) {
		for range 2 {
			r := k.Start(anna, testkit.Task(), lasting(time.Minute))
			k.AwaitIdle()
			waits := k.Start(bert, testkit.Task(testkit.On("w1"), testkit.Waiting(time.Minute)), quick)
			k.UntilWaiting(1)
			began := time.Now()
			k.Node.PanicWorker("w1")
			k.WantEnd(r, engine.EndCrashed)
			if time.Since(began) > 0 {
				t.Errorf("answered after %v", time.Since(began))
			}
			k.WantEnd(waits, engine.EndCompleted)
			if took := time.Since(began); took > time.Second {
				t.Errorf("back after %v", took)
			}
			k.Until("w1", api.Online)
		}
		k.Node.PanicWorker("w1") // with nothing in hand
		k.WantState("w1", api.Offline)
		k.Until("w1", api.Online)
		id := reserve(k, anna)
		goesOn(k, anna, id, 1, false)
		k.Node.PanicWorker("w1") // with a session, which goes on in the next browser
		k.WantState("w1", api.Offline)
		k.Until("w1", api.Reserved)
		goesOn(k, anna, id, 2, true)
		k.Node.PanicWorker("w1") // and whose time goes on
		time.Sleep(engine.DefaultSessionTimeout - time.Second)
		k.WantState("w1", api.Reserved)
		time.Sleep(2 * time.Second)
		k.WantState("w1", api.Online)
		if n := k.Node.Sessions(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

func TestPoolOutlivesAPanic(t *testing.T) {
	var once atomic.Bool
	config := func(c *actors.Config) {
		hear := c.OnChange
		c.OnChange = func(w api.WorkerInfo) {
			hear(w)
			if w.State == api.Busy && once.CompareAndSwap(false, true) {
				panic("oh")
			}
		}
	}
	testkit.Run(t, testkit.Options{Workers: 1, Config: config}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), second)
		k.AwaitIdle()
		waits := k.Start(anna, testkit.Task(testkit.Waiting(time.Minute)), second)
		k.WantEnd(r, engine.EndCompleted)
		k.WantEnd(waits, engine.EndCompleted)
		if !once.Load() {
			t.Error("nothing panicked")
		}
	})
}

func TestSessionsEndWithTheirActors(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 4}, func(t *testing.T, k *testkit.Kit) {
		first := reserve(k, anna, testkit.On("w1"))
		second := reserve(k, anna, testkit.On("w2"))
		third := reserve(k, bert, testkit.On("w3"))
		count := func(want int) {
			t.Helper()
			k.AwaitIdle()
			if n := k.Node.Sessions(); n != want {
				t.Errorf("%d session actors, want %d", n, want)
			}
		}
		count(3)
		k.Do(anna, testkit.Task(testkit.Close(first), testkit.Empty()), quick)
		count(2)
		k.Do(anna, testkit.Task(testkit.Continue(second)), testkit.Script{Crash: true})
		count(2)
		k.Do(bert, testkit.Task(testkit.Override()), quick)
		count(2)
		k.WantRefused(k.Start(bert, testkit.Task(testkit.Continue(third)), quick), engine.CodeSessionMismatch)
		time.Sleep(time.Hour)
		count(0)
	})
}

// stubborn is an engine whose browsers heed nothing.
type stubborn struct {
	*testkit.Engine
	hang atomic.Bool
	free chan struct{}
}

func (e *stubborn) Launch(ctx context.Context, worker string) (engine.Instance, error) {
	if e.hang.Load() {
		<-e.free
	}
	return e.Engine.Launch(ctx, worker)
}

func TestLaunchThatHangsIsNotWaitedFor(t *testing.T) {
	e := &stubborn{Engine: testkit.NewEngine()}
	e.hang.Store(true)
	config := func(c *actors.Config) {
		e.free = make(chan struct{}) // in the bubble
		c.Engine, c.Browser.Launches = e, 1
	}
	testkit.Run(t, testkit.Options{Workers: 2, Engine: e.Engine, Config: config, Cold: true}, func(t *testing.T, k *testkit.Kit) {
		time.Sleep(time.Minute)
		e.hang.Store(false)
		k.Until("w1", api.Online)
		k.Until("w2", api.Online)
		close(e.free) // their browsers come up after all, and must be closed
		k.AwaitIdle()
		if n := k.OpenBrowsers(); n != 2 {
			t.Errorf("%d browsers are open, want 2", n)
		}
	})
}

// brokenStore cannot count until it is repaired.
type brokenStore struct {
	persistence.Store
	err   error // nil: it panics
	whole atomic.Bool
}

func (s *brokenStore) Add(ctx context.Context, key string, n, limit int64, expires time.Time) (int64, bool, error) {
	switch {
	case s.whole.Load():
		return s.Store.Add(ctx, key, n, limit, expires)
	case s.err == nil:
		panic("oh")
	default:
		return 0, false, s.err
	}
}

// TestStoreThatCannotCount: whose day is limited must wait for a count. Who has
// no limit need not, and is counted when that is possible.
func TestStoreThatCannotCount(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code engine.Code
	}{
		{nil, engine.CodeInternal}, {errors.New("oh"), engine.CodeInternal},
		{fmt.Errorf("write: %w", persistence.ErrFull), engine.CodeStorageFull},
		{fmt.Errorf("write: %w", persistence.ErrUnwritable), engine.CodeStorageUnwritable},
	} {
		store := &brokenStore{Store: persistence.NewMemory(), err: tc.err}
		testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
			carl := testkit.Account("carl", engine.Standard)
			k.WantRefused(k.Start(carl, testkit.Task(), quick), tc.code)
			k.WantEnd(k.Start(carl, testkit.Task(testkit.Preserve(), testkit.Empty()), quick), engine.EndCompleted)
		})
		store = &brokenStore{Store: persistence.NewMemory(), err: tc.err}
		testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
			k.WantEnd(k.Start(anna, testkit.Task(), quick), engine.EndCompleted)
			store.whole.Store(true)
			k.WantEnd(k.Start(anna, testkit.Task(), quick), engine.EndCompleted)
			if n, err := persistence.NewUsage(store).Read(context.Background(), anna.ID, time.Now()); n != 2 || err != nil {
				t.Errorf("%d tasks are counted (%v), want 2", n, err)
			}
		})
	}
}

func TestTwoTasksWithOneID(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(), second)
		k.AwaitIdle()
		x, err := k.Node.Execute(context.Background(), &api.Execute{TaskID: r.ID, Account: anna, Task: testkit.Task()})
		if err != nil || x.Refusal == nil || x.Refusal.Code != engine.CodeInternal {
			t.Errorf("%+v, %v", x, err)
		}
		k.WantEnd(r, engine.EndCompleted)
	})
}
