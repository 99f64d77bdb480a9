package persistence_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence"
	"troupe/persistence/storetest"
)

// fullStore is a store whose disk takes nothing while it is full.
type fullStore struct {
	persistence.Store
	full atomic.Bool
}

func (s *fullStore) Blocked() error {
	if s.full.Load() {
		return persistence.ErrFull
	}
	return nil
}

func (s *fullStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if err := s.Blocked(); err != nil {
		return 0, err
	}
	return s.Store.Put(ctx, w)
}

func (s *fullStore) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	if err := s.Blocked(); err != nil {
		return err
	}
	return s.Store.Delete(ctx, key, revision, durable)
}

func (s *fullStore) Add(ctx context.Context, key string, delta, limit int64, expires time.Time) (int64, bool, error) {
	if err := s.Blocked(); err != nil {
		return 0, false, err
	}
	return s.Store.Add(ctx, key, delta, limit, expires)
}

// TestLate: a store for a start on a full disk is a store as any other, also while it is
// held.
func TestLate(t *testing.T) {
	storetest.Run(t, func(t *testing.T) persistence.Store { return persistence.NewLate(persistence.NewMemory()) })
}

func TestLateHeld(t *testing.T) {
	storetest.Run(t, func(t *testing.T) persistence.Store {
		l := persistence.NewLate(persistence.NewMemory())
		l.Hold()
		return l
	})
}

// TestLateWritesWhenThereIsRoom: what a start writes on a full disk is seen at once, on the
// disk when there is room, and nothing else is taken before.
func TestLateWritesWhenThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &fullStore{Store: persistence.NewMemory()}
		l := persistence.NewLate(disk)
		put := func(key, value string, only *uint64) (uint64, error) {
			return l.Put(ctx, persistence.Write{Key: key, Value: []byte(value), If: only})
		}
		for _, key := range []string{"a/1", "a/2", "a/3"} {
			if _, err := put(key, "before", nil); err != nil {
				t.Fatal(err)
			}
		}
		disk.full.Store(true)
		end := l.Hold()
		first, err := put("a/2", "ended", nil)
		if err != nil {
			t.Fatalf("a write of the start: %v", err)
		}
		if _, err := put("a/2", "lost", new(uint64)); !errors.Is(err, persistence.ErrConflict) {
			t.Errorf("a write over what is there, which it must not: %v", err)
		}
		if err := l.Delete(ctx, "a/3", nil, true); err != nil {
			t.Fatalf("a deletion of the start: %v", err)
		}
		second, err := put("a/4", "new", new(uint64))
		if err != nil || second <= first {
			t.Fatalf("a second write of the start: %d after %d, %v", second, first, err)
		}
		n, ok, err := l.Add(ctx, "n", 3, 0, time.Time{})
		if n != 3 || !ok || err != nil {
			t.Fatalf("an addition of the start: %d, %v, %v", n, ok, err)
		}
		end()
		seen := func(s persistence.Store) (all []string) {
			list, err := s.List(ctx, "a/")
			if err != nil {
				t.Fatal(err)
			}
			keys, err := s.Keys(ctx, "a/", "", 2)
			if err != nil || len(keys) > 2 || len(keys) > 0 && keys[0].Key != list[0].Key {
				t.Errorf("keys are %v, %v", keys, err)
			}
			for _, r := range list {
				all = append(all, r.Key+"="+string(r.Value))
			}
			return all
		}
		after := []string{"a/1=before", "a/2=ended", "a/4=new"}
		if got := seen(l); !slices.Equal(got, after) {
			t.Errorf("readers see %v", got)
		}
		if got := seen(disk); len(got) != 3 || got[1] != "a/2=before" {
			t.Errorf("the full disk has %v", got)
		}
		if _, err := l.Get(ctx, "a/3"); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("what was deleted: %v", err)
		}
		if _, err := put("b", "of a client", nil); !errors.Is(err, persistence.ErrFull) {
			t.Errorf("another write: %v", err)
		}
		time.Sleep(time.Minute)
		if l.Blocked() == nil {
			t.Error("it says that it takes writes")
		}
		disk.full.Store(false)
		if l.Blocked() == nil {
			t.Error("it says that it takes writes, before it has written what waits")
		}
		time.Sleep(2 * time.Second)
		if got := seen(disk); !slices.Equal(got, after) {
			t.Errorf("with room the disk has %v", got)
		}
		if r, err := disk.Get(ctx, "n"); err != nil || string(r.Value) != "3" {
			t.Errorf("the counter on the disk: %s, %v", r.Value, err)
		}
		if err := l.Blocked(); err != nil {
			t.Errorf("then: %v", err)
		}
		if _, err := put("a/2", "over it", &first); err != nil {
			t.Errorf("a write over the revision that was given on the full disk: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
