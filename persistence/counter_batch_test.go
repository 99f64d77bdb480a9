package persistence_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence"
)

// slowCounter is a store whose additions take a second, or fail.
type slowCounter struct {
	persistence.Store
	adds  atomic.Int64
	fails atomic.Bool
}

var errOfTest = errors.New("the test says no")

func (s *slowCounter) Add(ctx context.Context, key string, delta, limit int64, expires time.Time) (int64, bool, error) {
	s.adds.Add(1)
	time.Sleep(time.Second)
	if s.fails.Load() {
		return 0, false, errOfTest
	}
	return s.Store.Add(ctx, key, delta, limit, expires)
}

func TestCountsBecomeOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowCounter{Store: persistence.NewMemory()}
		defer s.Close()
		u := persistence.NewUsage(s)
		now := time.Now()
		if err := u.Written(ctx, "bob"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		u.Count("bob", now)
		synctest.Wait() // it is being written
		for range 100 {
			u.Count("bob", now)
		}
		u.GiveBack("bob", now)
		u.Count("eve", now)
		if time.Since(began) > 0 {
			t.Error("counting waits")
		}
		if n, err := u.Read(ctx, "bob", now); n != 0 || err != nil {
			t.Errorf("%d are counted before the write has ended (%v)", n, err)
		}
		if err := u.Written(ctx, "bob"); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("written after %v (%v)", time.Since(began), err)
		}
		synctest.Wait()
		for account, want := range map[string]int64{"bob": 100, "eve": 1} {
			if n, err := u.Read(ctx, account, now); n != want || err != nil {
				t.Errorf("%d tasks of %s are counted (%v), want %d", n, account, err, want)
			}
		}
		if n := s.adds.Load(); n != 3 {
			t.Errorf("there were %d writes, want 3", n)
		}
		u.Count("eve", now)
		if err := u.Flush(ctx); err != nil {
			t.Error(err)
		}
		if n, err := u.Read(ctx, "eve", now); n != 2 || err != nil {
			t.Errorf("%d tasks of eve are counted (%v), want 2", n, err)
		}
	})
}

// TestCountThatCannotBeWrittenIsKept: however often the store refuses it, it is
// written with the next one of its account, by itself, and at a stop.
func TestCountThatCannotBeWrittenIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		then func(*persistence.Usage, time.Time) error
		want int64
	}{
		"with the next": {func(u *persistence.Usage, now time.Time) error { u.Count("bob", now); return u.Written(ctx, "bob") }, 2},
		"by itself":     {func(*persistence.Usage, time.Time) error { time.Sleep(5 * time.Second); return nil }, 1},
		"at a stop":     {func(u *persistence.Usage, _ time.Time) error { return u.Flush(ctx) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slowCounter{Store: persistence.NewMemory()}
				defer s.Close()
				u := persistence.NewUsage(s)
				now := time.Now()
				s.fails.Store(true)
				u.Count("bob", now)
				if err := u.Written(ctx, "bob"); !errors.Is(err, errOfTest) {
					t.Errorf("the error is %v", err)
				}
				if err := u.Flush(ctx); err != nil { // and does not try for ever
					t.Error(err)
				}
				time.Sleep(10 * time.Second)
				s.fails.Store(false)
				if err := c.then(u, now); err != nil {
					t.Error(err)
				}
				if n, err := u.Read(ctx, "bob", now); n != c.want || err != nil {
					t.Errorf("%d tasks are counted (%v), want %d", n, err, c.want)
				}
				if err := u.Flush(ctx); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestNodesGatherCounts: where several nodes count, what decides nothing is
// written now and then, and at once when somebody wants to know.
func TestNodesGatherCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowCounter{Store: persistence.NewMemory()}
		defer s.Close()
		u := persistence.NewSharedUsage(s, persistence.QuotaSharing{
			Nodes: 3, Majority: func() bool { return true }, Elsewhere: func(string) int64 { return 0 },
			Recent: func(key string) (persistence.Record, error) { return s.Get(ctx, key) },
		})
		defer u.Close()
		now := time.Now()
		for range 100 { // in ten seconds
			u.Count("bob", now)
			time.Sleep(100 * time.Millisecond)
		}
		if err := u.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		// Each write takes a second, and 0.2 s pass before it.
		if n := s.adds.Load(); n < 8 || n > 10 {
			t.Errorf("100 counts are %d writes", n)
		}
		if n, err := u.Read(ctx, "bob", now); n != 100 || err != nil {
			t.Errorf("%d tasks are counted (%v), want 100", n, err)
		}
		u.Count("bob", now)
		began := time.Now()
		if err := u.Written(ctx, "bob"); err != nil || time.Since(began) != time.Second {
			t.Errorf("who waits for a count waits for %v (%v), and a write takes a second", time.Since(began), err)
		}
		if err := u.Flush(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestManyNodesGatherLonger: nodes without a copy of the store ask those that have one, and
// the more of them there are the less often each of them does.
func TestManyNodesGatherLonger(t *testing.T) {
	for _, c := range []struct {
		nodes      int
		workerNode bool
		writes     int64 // in ten seconds
	}{{3, true, 50}, {100, true, 10}, {100, false, 50}} {
		synctest.Test(t, func(t *testing.T) {
			s := &countedAdds{Store: persistence.NewMemory()}
			defer s.Close()
			u := persistence.NewSharedUsage(s, persistence.QuotaSharing{
				Count: func() int { return c.nodes }, WorkerNode: c.workerNode,
				Recent: func(key string) (persistence.Record, error) { return s.Get(ctx, key) },
			})
			defer u.Close()
			for range 10_000 {
				u.Count("bob", time.Now())
				time.Sleep(time.Millisecond)
			}
			if err := u.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if n := s.adds.Load(); n < c.writes-1 || n > c.writes+1 {
				t.Errorf("%d nodes, worker node %v: %d writes in ten seconds, want %d", c.nodes, c.workerNode, n, c.writes)
			}
		})
	}
}

// countedAdds counts additions.
type countedAdds struct {
	persistence.Store
	adds atomic.Int64
}

func (s *countedAdds) Add(ctx context.Context, key string, delta, limit int64, expires time.Time) (int64, bool, error) {
	s.adds.Add(1)
	return s.Store.Add(ctx, key, delta, limit, expires)
}

func TestWrittenEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowCounter{Store: persistence.NewMemory()}
		defer s.Close()
		u := persistence.NewUsage(s)
		u.Count("bob", time.Now())
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		for name, err := range map[string]error{"written": u.Written(short, "bob"), "settled": u.Flush(short)} {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: the error is %v", name, err)
			}
		}
		if err := u.Flush(ctx); err != nil {
			t.Error(err)
		}
	})
}
