package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence"
)

// distant is a store that several nodes share, as one of them has it: what it is
// asked takes time, and may be lost on the way, there or back.
type distant struct {
	persistence.Store
	rng    *rand.Rand
	mu     *sync.Mutex // of rng
	faulty bool
	gone   atomic.Bool // the node was killed
	cut    atomic.Bool // there is no majority
	asked  atomic.Int64
}

func (d *distant) chance(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

// way takes a while. It reports whether what is under way is lost.
func (d *distant) way() bool {
	time.Sleep(time.Duration(d.chance(20)) * time.Millisecond)
	if d.faulty && d.chance(20) == 0 {
		time.Sleep(time.Duration(d.chance(6000)) * time.Millisecond)
	}
	return d.gone.Load() || d.faulty && d.chance(25) == 0
}

func (d *distant) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	d.asked.Add(1)
	if d.cut.Load() || d.way() {
		return 0, persistence.ErrNoQuorum
	}
	revision, err := d.Store.Put(ctx, w)
	if d.way() {
		return 0, persistence.ErrNoQuorum
	}
	return revision, err
}

func (d *distant) Add(ctx context.Context, key string, delta, limit int64, expires time.Time) (int64, bool, error) {
	if d.cut.Load() {
		time.Sleep(persistence.Patience)
		return 0, false, persistence.ErrNoQuorum
	}
	return d.Store.Add(ctx, key, delta, limit, expires)
}

func (d *distant) Get(ctx context.Context, key string) (persistence.Record, error) {
	d.asked.Add(1)
	if d.cut.Load() || d.way() {
		return persistence.Record{}, persistence.ErrNoQuorum
	}
	return d.Store.Get(ctx, key)
}

// testCluster is some nodes that count together.
type testCluster struct {
	t      *testing.T
	store  persistence.Store
	stores []*distant
	nodes  []*persistence.Usage
}

// newTestCluster starts nodes. It has to be in a bubble.
func newTestCluster(t *testing.T, nodes int, seed uint64, faulty bool) *testCluster {
	c := &testCluster{t: t, store: persistence.NewMemory()}
	rng, mu := rand.New(rand.NewPCG(seed, 1)), new(sync.Mutex)
	for i := range nodes {
		d := &distant{Store: c.store, rng: rng, mu: mu, faulty: faulty}
		c.stores = append(c.stores, d)
		copied := (uint64(i)+seed)%2 == 0 // what the node knows of the store without asking
		c.nodes = append(c.nodes, persistence.NewSharedUsage(d, persistence.QuotaSharing{
			Nodes:      nodes,
			Majority:   func() bool { return !d.cut.Load() },
			WorkerNode: !copied,
			Recent: func(key string) (persistence.Record, error) {
				if !copied {
					return persistence.Record{}, persistence.ErrNotFound
				}
				return c.store.Get(ctx, key)
			},
			Elsewhere: func(account string) (n int64) {
				for j, other := range c.nodes {
					if j != i && !c.stores[j].gone.Load() {
						n += other.Held(time.Now())[account]
					}
				}
				return n
			},
		}))
	}
	return c
}

func (c *testCluster) close() {
	for _, u := range c.nodes {
		u.Close()
	}
	c.store.Close()
}

// admit counts a task as admission does.
func admit(u *persistence.Usage, account string, limit int64) (bool, error) {
	now := time.Now()
	if u.TakeNow(account, limit, now) {
		return true, nil
	}
	within, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	_, ok, err := u.Take(within, account, limit, now)
	return ok, err
}

// total is the count that all nodes have in common.
func (c *testCluster) total(account string) int64 {
	c.t.Helper()
	key := "usage/" + account + "/" + time.Now().UTC().Format(time.DateOnly)
	r, err := c.store.Get(ctx, key)
	if errors.Is(err, persistence.ErrNotFound) {
		return 0
	}
	n, err2 := strconv.ParseInt(string(r.Value), 10, 64)
	if err := errors.Join(err, err2); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// TestSharesOfADay: nodes with shares of one day admit together what the limit
// allows and no task more, whatever is slow, lost or killed, and what they have
// admitted is never missing from the count.
func TestSharesOfADay(t *testing.T) {
	for seed := range uint64(60) {
		faulty := seed%3 > 0
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 2))
				nodes, limit := 2+rng.IntN(4), int64(1+rng.IntN(400))
				c := newTestCluster(t, nodes, seed, faulty)
				defer c.close()
				var admitted atomic.Int64
				var callers sync.WaitGroup
				for i, u := range c.nodes {
					for n := range 1 + rng.IntN(4) {
						own := rand.New(rand.NewPCG(seed, uint64(i*100+n)))
						rest := time.Duration(1 + rng.IntN(300))
						callers.Go(func() {
							for range 150 {
								if c.stores[i].gone.Load() {
									return
								}
								ok, err := admit(u, "bob", limit)
								if err != nil && !faulty {
									t.Errorf("node %d: %v", i, err)
								}
								if ok {
									n := admitted.Add(1)
									if n > limit {
										t.Errorf("%d tasks were admitted, of %d", n, limit)
									}
									if total := c.total("bob"); total < n || total > limit {
										t.Errorf("%d tasks were admitted and %d are counted, of %d", n, total, limit)
									}
									if own.IntN(10) == 0 {
										admitted.Add(-1)
										u.GiveBack("bob", time.Now())
									}
								}
								time.Sleep(time.Duration(own.Int64N(int64(rest))) * time.Millisecond)
							}
						})
					}
				}
				if faulty { // one is killed with what it holds
					time.Sleep(time.Duration(rng.IntN(20_000)) * time.Millisecond)
					c.stores[0].gone.Store(true)
				}
				callers.Wait()
				for _, u := range c.nodes {
					if err := u.Written(ctx, "bob"); err != nil && !faulty {
						t.Error(err)
					}
					within, cancel := context.WithTimeout(ctx, time.Minute)
					u.GiveAllBack(within)
					cancel()
					if held := u.Held(time.Now())["bob"]; held != 0 && !faulty {
						t.Errorf("%d are held after everything was given back", held)
					}
				}
				got, total := admitted.Load(), c.total("bob")
				if total < got || total > limit {
					t.Errorf("%d tasks were admitted and %d are counted, of %d", got, total, limit)
				}
				if !faulty && total != got {
					t.Errorf("nothing was lost, %d tasks were admitted, and %d are counted", got, total)
				}
				if asked := 150 * int64(nodes); !faulty && got < min(limit, asked)-asked/10 && got < limit {
					t.Errorf("%d tasks were admitted: there were more, and the limit is %d", got, limit)
				}
			})
		})
	}
}

// TestTheLastTasksGoToAnybody: what one node holds at the end of a day, another
// one may use.
func TestTheLastTasksGoToAnybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 3, 7, false)
		defer c.close()
		const limit = 100
		for range 20 { // the first node is busy and holds much
			if ok, err := admit(c.nodes[0], "bob", limit); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		time.Sleep(100 * time.Millisecond) // what is on its way comes through
		if held := c.nodes[0].Held(time.Now())["bob"]; held < 7 {
			t.Fatalf("a busy node holds %d", held)
		}
		for n := range limit - 20 {
			if ok, err := admit(c.nodes[1+n%2], "bob", limit); !ok || err != nil {
				t.Fatalf("task %d of %d is refused (%v), and the first node holds %d",
					n+21, limit, err, c.nodes[0].Held(time.Now())["bob"])
			}
		}
		for i, u := range c.nodes {
			if ok, err := admit(u, "bob", limit); ok || err != nil {
				t.Errorf("node %d admits one more (%v)", i, err)
			}
			began := time.Now()
			if ok, err := admit(u, "bob", limit); ok || err != nil || time.Since(began) > 100*time.Millisecond {
				t.Errorf("and the next is %v (%v) after %v", ok, err, time.Since(began))
			}
			if n, err := u.Read(ctx, "bob", time.Now()); n != limit || err != nil {
				t.Errorf("node %d tells of %d (%v), want %d", i, n, err, limit)
			}
		}
	})
}

// TestAShareIsGivenBack: what nobody uses, and what is left of yesterday, does not
// stay with a node, and what is told of a day is what was used.
func TestAShareIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 3, 8, false)
		defer c.close()
		time.Sleep(time.Until(time.Now().UTC().Truncate(24 * time.Hour).Add(24*time.Hour - 40*time.Second)))
		u, other := c.nodes[0], c.nodes[1]
		tells := func(when string, want int64) {
			t.Helper()
			for i, u := range c.nodes {
				if n, err := u.Read(ctx, "bob", time.Now()); n != want || err != nil {
					t.Errorf("%s node %d tells of %d (%v), want %d", when, i, n, err, want)
				}
			}
			if n, err := u.ReadLocal(ctx, "bob", time.Now()); n != want || err != nil {
				t.Errorf("%s a glance shows %d (%v), want %d", when, n, err, want)
			}
		}
		tells("at first", 0)
		for range 3 {
			if ok, err := admit(u, "bob", 1000); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		time.Sleep(100 * time.Millisecond) // what is on its way comes through
		tells("after three tasks", 3)
		if total := c.total("bob"); total < 11 {
			t.Errorf("%d are counted with the share, want some more than the three", total)
		}
		for range 2 {
			if !u.TakeNow("bob", 1000, time.Now()) {
				t.Error("the share has nothing")
			}
		}
		if ok, err := admit(other, "bob", 1000); !ok || err != nil {
			t.Fatal(ok, err)
		}
		tells("after three more", 6)
		u.GiveBack("bob", time.Now()) // one was refused after it was counted
		tells("after one was given back", 5)

		time.Sleep(time.Minute) // the day is over
		tells("the next day", 0)
		yesterday := time.Now().Add(-24 * time.Hour)
		if r, err := c.store.Get(ctx, "usage/bob/"+yesterday.UTC().Format(time.DateOnly)); err != nil || string(r.Value) != "5" {
			t.Errorf("of yesterday %s are counted (%v), want 5", r.Value, err)
		}
		if ok, err := admit(u, "bob", 1000); !ok || err != nil {
			t.Fatal(ok, err)
		}
		tells("of the new day", 1)
		time.Sleep(5 * time.Minute)
		if total := c.total("bob"); total != 1 {
			t.Errorf("nobody uses the share, and %d are counted, want 1", total)
		}
		if ok, err := admit(u, "bob", 1000); !ok || err != nil {
			t.Fatal(ok, err)
		}
		began := time.Now()
		u.GiveAllBack(ctx)
		if total, took := c.total("bob"), time.Since(began); total != 2 || took > 100*time.Millisecond {
			t.Errorf("%d are counted %v after everything was given back, want 2", total, took)
		}
	})
}

// TestAShareWithoutMajority: what is held can be used, nothing is lost that
// cannot be given back, and what is lost counts as used.
func TestAShareWithoutMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 3, 9, false)
		defer c.close()
		u := c.nodes[0]
		for range 5 {
			if ok, err := admit(u, "bob", 1000); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		time.Sleep(100 * time.Millisecond) // what is on its way comes through
		c.stores[0].cut.Store(true)
		held := u.Held(time.Now())["bob"]
		if held < 4 {
			t.Fatalf("%d are held", held)
		}
		time.Sleep(10 * time.Minute) // nobody uses it: it cannot be given back now
		for n := range held {
			if !u.TakeNow("bob", 1000, time.Now()) {
				t.Fatalf("task %d of the %d that were held is not admitted", n+1, held)
			}
		}
		if u.TakeNow("bob", 1000, time.Now()) {
			t.Error("there is one too many")
		}
		if ok, err := admit(u, "bob", 1000); ok || !errors.Is(err, persistence.ErrNoQuorum) {
			t.Errorf("without a share: %v, %v", ok, err)
		}
		if n, err := u.Read(ctx, "bob", time.Now()); n != 5+held || err != nil {
			t.Errorf("it tells of %d (%v), want %d", n, err, 5+held)
		}
		began := time.Now()
		u.Count("carl", began)
		u.GiveAllBack(ctx)
		if err := u.Flush(ctx); time.Since(began) > 3*time.Second {
			t.Errorf("a stop waits %v for a majority (%v)", time.Since(began), err)
		}
		c.stores[0].cut.Store(false)
		time.Sleep(2 * persistence.Patience)
		if n := c.total("carl"); n != 1 {
			t.Errorf("%d are counted with a majority again, want 1", n)
		}
		if ok, err := admit(u, "bob", 1000); !ok || err != nil {
			t.Errorf("with a majority again: %v, %v", ok, err)
		}
		time.Sleep(100 * time.Millisecond) // what is on its way comes through
		spare := u.Held(time.Now())["bob"]
		c.stores[0].gone.Store(true) // and the node is killed with the rest
		if n, err := c.nodes[1].Read(ctx, "bob", time.Now()); n != 5+held+1+spare || spare == 0 || err != nil {
			t.Errorf("a lost share of %d: %d were used (%v), want %d", spare, n, err, 5+held+1+spare)
		}
	})
}
