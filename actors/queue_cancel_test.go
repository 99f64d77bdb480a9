package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// lateStore gives the next records that it has read of the queue a minute late.
type lateStore struct {
	persistence.Store
	late atomic.Int32 // how many
}

func (s *lateStore) Get(ctx context.Context, key string) (persistence.Record, error) {
	r, err := s.Store.Get(ctx, key)
	if err == nil && strings.HasPrefix(key, "queued/") && s.late.Add(-1) >= 0 {
		time.Sleep(time.Minute)
	}
	return r, err
}

// TestCancelledTwice: of two requests that cancel a waiting task one may have read its record
// before the other one ended it. The task is counted out once: a queue that counts too few
// looks empty while a task waits in it.
func TestCancelledTwice(t *testing.T) {
	store := &lateStore{Store: persistence.NewMemory()}
	testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
		k.Node.HoldQueue(true)
		id := enqueue(k, anna, `true`).TaskID
		enqueue(k, anna, `true`)
		k.AwaitIdle()
		cancel := func() bool {
			c, err := api.Ask(context.Background(), k.Node, &api.Cancel{TaskID: id, Account: anna, Cause: api.CauseAsked})
			if err != nil {
				t.Error(err)
				return false
			}
			return c.Found
		}
		store.late.Store(1)
		late := make(chan bool, 1)
		go func() { late <- cancel() }()
		time.Sleep(time.Second)
		if store.late.Load() > 0 {
			t.Fatal("the record of the task was not read")
		}
		if !cancel() {
			t.Error("the task is not found")
		}
		if n := k.Node.Status().Queued; n != 1 {
			t.Errorf("%d tasks wait after one request", n)
		}
		if <-late {
			t.Error("a task that has ended is found")
		}
		k.AwaitIdle()
		if n := k.Node.Status().Queued; n != 1 {
			t.Errorf("%d tasks wait after both", n)
		}
	})
}

// TestAskedTwice: questions about a task that were read before it ended are read again, once
// each, however many there are.
func TestAskedTwice(t *testing.T) {
	store := &lateStore{Store: persistence.NewMemory()}
	testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
		k.Node.HoldQueue(true)
		id := enqueue(k, anna, `true`).TaskID
		k.AwaitIdle()
		const questions = 3
		store.late.Store(questions)
		said := make(chan *api.Polled, questions)
		for range questions {
			go func() {
				p, err := api.Ask(context.Background(), k.Node, &api.Poll{TaskID: id, Account: anna, Wait: time.Hour})
				if err != nil {
					t.Error(err)
				}
				said <- p
			}()
		}
		time.Sleep(time.Second)
		if store.late.Load() > 0 {
			t.Fatal("the record of the task was not read")
		}
		if c, err := api.Ask(context.Background(), k.Node, &api.Cancel{TaskID: id, Account: anna, Cause: api.CauseAsked}); err != nil || !c.Found {
			t.Fatal(c, err)
		}
		for range questions {
			if p := <-said; p == nil || p.Status != api.TaskFailed {
				t.Errorf("a question is answered with %+v", p)
			}
		}
	})
}

// Promise: A cancelled task of the queue begins no other attempt, also after a crash
// (docs/queue.md#follow-a-task).
//
// TestCancelledBeginsNoMore: who was told that a task is cancelled sees no other attempt of it
// begin and no other end, at whatever moment that was said, and whether the process lives on.
func TestCancelledBeginsNoMore(t *testing.T) {
	// Records take three seconds from the first attempt on. It ends after a second, its way
	// back to the queue is written until four, the next one begins at about 14 and lasts until 18.
	for _, at := range []time.Duration{500, 999, 1000, 1001, 1500, 3999, 4000, 4001, 6000, 14100, 15000, 16900, 17100, 17500, 18500} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d ms, the process dies %v", at, dies), func(t *testing.T) {
				t.Parallel()
				cancelledBeginsNoMore(t, at*time.Millisecond, dies)
			})
		}
	}
}

func cancelledBeginsNoMore(t *testing.T, at time.Duration, dies bool) {
	store := &slowStore{Store: persistence.NewMemory()}
	fails := testkit.Script{Takes: time.Second, Outcome: &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: engine.CodeElementNotFound, Text: "it failed"}}}}
	testkit.Run(t, testkit.Options{Workers: 1, Store: store, Engine: each(func(testkit.Call) testkit.Script { return fails })}, func(t *testing.T, k *testkit.Kit) {
		id := enqueue(k, anna, `{"attempts":3,"backoff":10000,"retryOn":["element_not_found"]}`).TaskID
		time.Sleep(400 * time.Millisecond)
		store.takes.Store(int64(3 * time.Second))
		time.Sleep(at - 400*time.Millisecond)
		c, err := api.Ask(context.Background(), k.Node, &api.Cancel{TaskID: id, Account: anna, Cause: api.CauseAsked})
		if err != nil || !c.Found {
			t.Fatalf("cancelled: %+v, %v", c, err)
		}
		began := len(k.Engine.Plays())
		if k.Engine.Playing(id) {
			began++
		}
		if dies {
			k.Crash()
			k.Boot()
		}
		store.takes.Store(0)
		time.Sleep(5 * time.Minute)
		if n := len(k.Engine.Plays()); n > began {
			t.Errorf("%d attempts had begun, and now %d", began, n)
		}
		if p := k.Poll(anna, id, 0); p.Status != api.TaskFailed || p.Executed == nil || p.Executed.Outcome == nil || p.Executed.Outcome.End != engine.EndCancelled {
			t.Errorf("in the end: %+v", p)
		}
		if left, err := store.Keys(context.Background(), "queued/", "", 10); err != nil || len(left) > 0 {
			t.Errorf("left in the queue: %v, %v", left, err)
		}
		if n := k.Node.Status().Queued; n != 0 {
			t.Errorf("%d tasks are counted as waiting", n)
		}
	})
}
