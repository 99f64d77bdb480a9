package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/persistence"
	"troupe/persistence/storetest"
	"troupe/testkit/need"
)

// three are nodes that tests share which do not end any of them. Each test has
// the store to itself.
var three struct {
	sync.Mutex
	once    sync.Once
	members []*member.Member
}

// shared gives the three nodes, until the test ends.
func shared(t *testing.T) []*member.Member {
	t.Helper()
	three.Lock()
	t.Cleanup(three.Unlock)
	three.once.Do(func() {
		for _, cfg := range configs(t, 3) {
			cfg.Dir = tempDir(t)
			m, err := member.Join(context.Background(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			three.members = append(three.members, m)
		}
		ready(t, three.members...)
	})
	return three.members
}

// opened opens the store through a node.
func openStore(t testing.TB, m *member.Member, hot ...string) *store.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	s, err := store.Open(ctx, m, hot...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// askLags asks who leads the store, and how far the copies are behind.
func askLags(ctx context.Context, s *store.Store) (leader string, behind map[string]int64, err error) {
	h, err := s.Look(ctx)
	return h.Leader(), h.Lags(), err
}

// emptied removes what an earlier test has stored.
func emptied(t testing.TB, m *member.Member) {
	t.Helper()
	js, err := jetstream.New(m.Conn())
	if err != nil {
		t.Fatal(err)
	}
	soon(t, "nothing is stored", func() bool { // an answer may be lost with the node that led
		list := js.ListStreams(t.Context())
		for s := range list.Info() {
			if err := js.DeleteStream(t.Context(), s.Config.Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				t.Logf("%s is not deleted yet: %v", s.Config.Name, err)
				return false
			}
		}
		return list.Err() == nil
	})
}

// The store keeps what every store promises, through whichever node.
func TestStore(t *testing.T) {
	need.Time(t)
	t.Parallel()
	all := shared(t)
	n := 0
	storetest.Run(t, func(t *testing.T) persistence.Store {
		emptied(t, all[0])
		n++
		for i, m := range all { // as in a service: the leader tidies up
			if i != n%len(all) {
				openStore(t, m)
			}
		}
		return openStore(t, all[n%len(all)])
	})
}

// Additions from every node at once give the exact total, and none passes the
// limit.
func TestCountersOfManyNodes(t *testing.T) {
	t.Parallel()
	all := shared(t)
	emptied(t, all[0])
	const callers, each, limit = 8, 40, 700 // of 960 that are asked for
	var stores []*store.Store
	for _, m := range all {
		stores = append(stores, openStore(t, m))
	}
	var taken atomic.Int64
	var mu sync.Mutex
	seen := map[int64]int{}
	start := time.Now()
	var wg sync.WaitGroup
	for _, s := range stores {
		for range callers {
			wg.Go(func() {
				for range each {
					if _, _, err := s.Add(ctx, "free", 1, 0, time.Time{}); err != nil {
						t.Errorf("Add: %v", err)
					}
					total, ok, err := s.Add(ctx, "n", 1, limit, time.Time{})
					if err != nil {
						t.Errorf("Add: %v", err)
					}
					if total > limit || !ok && total != limit {
						t.Errorf("a total of %d, %v", total, ok)
					}
					if ok {
						taken.Add(1)
						mu.Lock()
						seen[total]++
						mu.Unlock()
					}
				}
			})
		}
	}
	wg.Wait()
	took := time.Since(start)
	if taken.Load() != limit || len(seen) != limit {
		t.Errorf("%d of %d were taken, with %d different totals", taken.Load(), limit, len(seen))
	}
	for i, s := range stores {
		for key, want := range map[string]string{"n": fmt.Sprint(limit), "free": fmt.Sprint(len(all) * callers * each)} {
			if r, err := s.Get(ctx, key); err != nil || string(r.Value) != want {
				t.Errorf("node %d: %s is %q, %v; want %s", i+1, key, r.Value, err, want)
			}
		}
	}
	t.Logf("%d additions from 3 nodes × %d callers in %v", 2*len(all)*callers*each, callers, took.Round(time.Millisecond))
}

// One of many conditional writers wins, wherever they are; a chain of
// conditional writes loses no step.
func TestContendedWrites(t *testing.T) {
	t.Parallel()
	all := shared(t)
	emptied(t, all[0])
	const callers, steps = 3, 40
	var stores []*store.Store
	for _, m := range all {
		stores = append(stores, openStore(t, m))
	}
	if _, err := stores[0].Put(ctx, persistence.Write{Key: "chain", Value: []byte("0")}); err != nil {
		t.Fatal(err)
	}
	var conflicts atomic.Int64
	start := time.Now()
	var wg sync.WaitGroup
	for _, s := range stores {
		for range callers {
			wg.Go(func() {
				for done := 0; done < steps; {
					r, err := s.Get(ctx, "chain")
					if err != nil {
						t.Errorf("Get: %v", err)
						return
					}
					var n int
					fmt.Sscan(string(r.Value), &n)
					_, err = s.Put(ctx, persistence.Write{Key: "chain", Value: fmt.Append(nil, n+1), If: &r.Revision})
					switch {
					case err == nil:
						done++
					case isConflict(err):
						conflicts.Add(1)
					default:
						t.Errorf("Put: %v", err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	r, err := stores[1].Get(ctx, "chain")
	if want := fmt.Sprint(len(all) * callers * steps); err != nil || string(r.Value) != want {
		t.Errorf("after %s steps the chain is at %q, %v", want, r.Value, err)
	}
	t.Logf("%d conditional writes to one key from 3 nodes × %d callers in %v, %d conflicts", len(all)*callers*steps, callers, time.Since(start).Round(time.Millisecond), conflicts.Load())
}
