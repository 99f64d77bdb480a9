package actors_test

import (
	"bytes"
	"context"
	"errors"
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

// slowStore is a store whose durable writes take a while or fail.
type slowStore struct {
	persistence.Store
	takes atomic.Int64
	fails atomic.Pointer[string] // keys that begin so cannot be written
}

func (s *slowStore) fail(prefix string) { s.fails.Store(&prefix) }

func (s *slowStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	time.Sleep(time.Duration(s.takes.Load()))
	if p := s.fails.Load(); p != nil && strings.HasPrefix(w.Key, *p) {
		return 0, fmt.Errorf("write: %w", persistence.ErrFull)
	}
	return s.Store.Put(ctx, w)
}

func (s *slowStore) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	if p := s.fails.Load(); p != nil && strings.HasPrefix(key, *p) {
		return errors.New("the disk is full")
	}
	return s.Store.Delete(ctx, key, revision, durable)
}

// Promise: An asynchronous start is acknowledged when the task is on the disk
// (docs/api.md#asynchronous-tasks).
func TestAsyncTaskIsOnDiskBeforeItIsPlayedOrAcknowledged(t *testing.T) {
	store := &slowStore{Store: persistence.NewMemory()}
	store.takes.Store(int64(time.Second))
	testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		s := k.StartAsync(anna, testkit.Task(testkit.Within(4500*time.Millisecond)), lasting(4*time.Second))
		if took := time.Since(began); took != time.Second {
			t.Errorf("acknowledged after %v", took)
		}
		if r, err := store.Get(context.Background(), "task/"+s.TaskID); err != nil || !bytes.Contains(r.Value, []byte(`"pending"`)) {
			t.Errorf("record %s, %v", r.Value, err)
		}
		k.WantPoll(anna, s.TaskID, time.Minute, api.TaskComplete) // its time counts from its beginning
		if p := k.Engine.Plays()[0]; p.Began.Sub(began) != time.Second {
			t.Errorf("played after %v", p.Began.Sub(began))
		}
		if took := time.Since(began); took != 7*time.Second { // and the outcome, and the record
			t.Errorf("complete after %v", took)
		}
	})
}

func TestAsyncTaskThatCannotBeWrittenDownIsNotPlayed(t *testing.T) {
	store := &slowStore{Store: persistence.NewMemory()}
	store.fail("")
	testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
		x := k.SendAsync(&api.Execute{Account: anna, Task: testkit.Task()}, second)
		if x.Refusal == nil || x.Refusal.Code != engine.CodeStorageFull {
			t.Errorf("%+v", x)
		}
		k.AwaitIdle()
		if n := len(k.Engine.Plays()); n != 0 {
			t.Errorf("%d tasks were played", n)
		}
		notFound(k, anna, x.TaskID)
		k.Until("w1", api.Online)

		// The end of one that was begun is written when that is possible again.
		store.fail("outcome/")
		s := k.StartAsync(anna, testkit.Task(), second)
		k.WantPoll(anna, s.TaskID, 2*time.Second, api.TaskComplete)
		time.Sleep(5 * time.Minute)
		k.WantPoll(anna, s.TaskID, 0, api.TaskComplete)
		k.AwaitIdle()
		store.fails.Store(nil)
		time.Sleep(time.Minute)
		k.Crash()
		k.Boot()
		k.WantPoll(anna, s.TaskID, 0, api.TaskComplete)
	})
}
