package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/persistence"
	"troupe/testkit/need"
)

// TestSharesOfManyNodes: three nodes admit together exactly what a day allows,
// most of it without a write, and the count is exact when shares are given back.
func TestSharesOfManyNodes(t *testing.T) {
	need.All(t)
	t.Parallel()
	all := shared(t)
	emptied(t, all[0])
	const callers, each, limit = 6, 60, 900 // of 1080 that are asked for
	var nodes []*persistence.Usage
	var writes, atOnce atomic.Int64
	for _, m := range all {
		s := openStore(t, m)
		u := persistence.NewSharedUsage(counting{s, &writes}, persistence.QuotaSharing{
			Nodes: len(all), Majority: m.Majority, Recent: s.Copy().Get,
			Elsewhere: func(account string) (n int64) {
				for i, other := range all {
					if other != m {
						n += nodes[i].Held(time.Now())[account]
					}
				}
				return n
			},
		})
		t.Cleanup(u.Close)
		nodes = append(nodes, u)
	}
	now := time.Now()
	// What a node hears of others' shares is a moment behind what they take: so its
	// count comes right, with what they hold as without.
	reads := func(when string, want int64) {
		t.Helper()
		told := func(how string) {
			t.Helper()
			for i, u := range nodes {
				soon(t, fmt.Sprintf("%s, %s, node %d tells of %d tasks", when, how, i+1, want), func() bool {
					n, err := u.Read(ctx, "bob", now)
					return err == nil && n == want
				})
			}
		}
		told("with shares")
		for i, u := range nodes {
			soon(t, fmt.Sprintf("%s node %d holds nothing", when, i+1), func() bool {
				u.GiveAllBack(ctx)
				return u.Held(now)["bob"] == 0
			})
		}
		told("without")
	}
	admit := func(u *persistence.Usage, limit int64) bool {
		if u.TakeNow("bob", limit, now) {
			atOnce.Add(1)
			return true
		}
		_, ok, err := u.Take(ctx, "bob", limit, now)
		if err != nil {
			t.Error(err)
		}
		return ok
	}
	run := func(each int, limit int64) int64 {
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for _, u := range nodes {
			for range callers {
				wg.Go(func() {
					for range each {
						if admit(u, limit) {
							admitted.Add(1)
						}
					}
				})
			}
		}
		wg.Wait()
		return admitted.Load()
	}
	if n := run(20, limit); n != callers*20*int64(len(all)) {
		t.Errorf("%d tasks were admitted, and the limit is far", n)
	}
	reads("in the middle of the day", callers*20*int64(len(all)))
	if n := writes.Load(); n > 120 {
		t.Errorf("%d tasks took %d writes", callers*20*len(all), n)
	}
	n := run(each-20, limit) + callers*20*int64(len(all))
	if n != limit {
		t.Errorf("%d tasks were admitted of a day of %d", n, limit)
	}
	reads("at its end", limit)
	if r, err := openStore(t, all[0]).Get(ctx, "usage/bob/"+now.UTC().Format(time.DateOnly)); err != nil || string(r.Value) != fmt.Sprint(limit) {
		t.Errorf("the count is %s, %v", r.Value, err)
	}
	t.Logf("%d tasks, %d of them at once, with %d writes", n, atOnce.Load(), writes.Load())
}

// counting counts the writes that a store is asked for.
type counting struct {
	persistence.Store
	writes *atomic.Int64
}

func (c counting) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	c.writes.Add(1)
	return c.Store.Put(ctx, w)
}
