package actors_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/api"
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
