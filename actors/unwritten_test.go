package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// TestWhatCannotBeWrittenDownIsRefused: what has to be on disk before a task begins,
// and cannot be, is said as what it is. Nothing of the task stays, so that it may be
// sent again as it was.
func TestWhatCannotBeWrittenDownIsRefused(t *testing.T) {
	for name, row := range map[string]struct {
		unwritten string
		async     bool
		options   []testkit.Option
	}{
		"a key":                    {"key/", false, nil},
		"a key with a new session": {"session/", false, []testkit.Option{testkit.Preserve()}},
		"a new session":            {"session/", true, []testkit.Option{testkit.Preserve()}},
	} {
		t.Run(name, func(t *testing.T) {
			store := &slowStore{Store: persistence.NewMemory()}
			testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
				send := func() *api.Refusal {
					t.Helper()
					if row.async {
						return k.SendAsync(&api.Execute{Account: anna, Task: testkit.Task(row.options...)}, quick).Refusal
					}
					return k.Send(with("k", "d", anna, row.options...), quick).Answer().Refusal
				}
				store.fail(row.unwritten)
				if no := send(); no == nil || no.Code != engine.CodeStorageFull || no.RetryAfter <= 0 {
					t.Errorf("refused with %+v", no)
				}
				k.Until("w1", api.Online)
				played(k, 0)
				store.fails.Store(nil)
				if no := send(); no != nil {
					t.Errorf("with room again: %v", no)
				}
				played(k, 1)
			})
		})
	}
}

// TestSecretsThatCannotBeRead: without them nothing could be masked, and so nothing
// is played.
func TestSecretsThatCannotBeRead(t *testing.T) {
	var fault error
	config := func(c *actors.Config) {
		c.Secrets = func(context.Context, string) ([]engine.Secret, error) { return nil, fault }
	}
	testkit.Run(t, testkit.Options{Workers: 1, Config: config}, func(t *testing.T, k *testkit.Kit) {
		fault = fmt.Errorf("read secrets: %w", persistence.ErrNoQuorum)
		k.WantRefused(k.Start(anna, testkit.Task(), quick), engine.CodeNoQuorum)
		if recent := k.Node.Recent(anna.ID, false, 1); len(recent) != 1 || recent[0].Outcome == nil || recent[0].Outcome.Failures[0].Code != engine.CodeNoQuorum {
			t.Errorf("it is told of as %+v", recent)
		}
		played(k, 0)
		fault = nil
		k.WantEnd(k.Start(anna, testkit.Task(), quick), engine.EndCompleted)
	})
}

// beforePut is a store before whose first write of some key something else happens.
type beforePut struct {
	persistence.Store
	prefix string
	once   sync.Once
	then   func()
}

func (s *beforePut) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if strings.HasPrefix(w.Key, s.prefix) {
		s.once.Do(s.then)
	}
	return s.Store.Put(ctx, w)
}

// TestAKeyThatAnotherNodeHasTaken: of two nodes that get requests with one key at the
// same time one plays the task, and both tell of that one.
func TestAKeyThatAnotherNodeHasTaken(t *testing.T) {
	shared, files := persistence.NewMemory(), persistence.NewMemoryFiles()
	store := &beforePut{Store: shared, prefix: "key/"}
	named := func(c *actors.Config) { c.Node = "n1" }
	testkit.Run(t, testkit.Options{Workers: 1, Store: store, Files: files, Config: named}, func(t *testing.T, k *testkit.Kit) {
		e := testkit.NewEngine()
		other, err := actors.Start(actors.Config{Engine: e, Store: shared, Files: files, Node: "n2", Workers: actors.SharedWorkers("n2", 1)})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Stop()
		time.Sleep(time.Second) // for its browser
		var first *api.Started
		store.then = func() {
			m := with("k", "d", anna)
			m.Task.Async, m.TaskID = true, "task_other"
			if first, err = other.Start(context.Background(), m, nil); err != nil || first.Refusal != nil {
				t.Errorf("the other node: %+v, %v", first, err)
			}
		}
		second := k.SendAsync(with("k", "d", anna), quick)
		if second.Refusal != nil || first == nil || second.TaskID != first.TaskID || second.WorkerID != first.WorkerID {
			t.Errorf("this node tells of %+v, the other one of %+v", second, first)
		}
		played(k, 0)
		if n := len(e.Plays()); n != 1 {
			t.Errorf("the other node has played %d tasks", n)
		}
	})
}

// electingStore is a store of several nodes while they elect a leader: reads wait for
// that, and writes then wait for the next one.
type electingStore struct {
	persistence.Store
	prefix string // of what it is so for
}

func (s electingStore) Get(ctx context.Context, key string) (persistence.Record, error) {
	if strings.HasPrefix(key, s.prefix) {
		if err := s.wait(ctx, 9*time.Second, nil); err != nil {
			return persistence.Record{}, err
		}
	}
	return s.Store.Get(ctx, key)
}

func (s electingStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if strings.HasPrefix(w.Key, s.prefix) {
		if err := s.wait(ctx, persistence.Patience, persistence.ErrNoQuorum); err != nil {
			return 0, err
		}
	}
	return s.Store.Put(ctx, w)
}

// wait is as the store of a cluster waits: until its own patience or the caller's ends.
func (s electingStore) wait(ctx context.Context, d time.Duration, then error) error {
	select {
	case <-time.After(d):
		return then
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TestElectionsOneAfterTheOther: where the store answers too late, in several steps, the
// client is told that there is no majority, and not that the service has failed.
func TestElectionsOneAfterTheOther(t *testing.T) {
	for name, row := range map[string]struct {
		unwritten string
		send      func(k *testkit.Kit) *api.Refusal
	}{
		"a key":                         {"key/", func(k *testkit.Kit) *api.Refusal { return k.Send(with("k", "d", anna), quick).Answer().Refusal }},
		"a key of an asynchronous task": {"key/", func(k *testkit.Kit) *api.Refusal { return k.SendAsync(with("k", "d", anna), quick).Refusal }},
	} {
		t.Run(name, func(t *testing.T) {
			store := electingStore{persistence.NewMemory(), row.unwritten}
			named := func(c *actors.Config) { c.Node = "n1" }
			testkit.Run(t, testkit.Options{Workers: 1, Store: store, Config: named}, func(t *testing.T, k *testkit.Kit) {
				if no := row.send(k); no == nil || no.Code != engine.CodeNoQuorum || no.RetryAfter <= 0 {
					t.Errorf("refused with %+v", no)
				}
				played(k, 0)
			})
		})
	}
}
