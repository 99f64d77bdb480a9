package clock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence/clock"
	"troupe/testkit/need"
)

// TestManyWaits: thousands of waits for a day cost no more looks than one. With a timer for
// each this takes minutes.
func TestManyWaits(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		c, ctx := &clock.Clock{}, t.Context()
		at := c.Stored(c.Now().Add(24 * time.Hour))
		var wg sync.WaitGroup
		for range 2000 {
			wg.Add(1)
			c.AfterFunc(at, wg.Done)
			wg.Go(func() {
				if !c.Until(ctx, at) {
					t.Error("a wait was given up")
				}
			})
		}
		before := time.Now()
		wg.Wait()
		if took := time.Since(before); took != 24*time.Hour {
			t.Errorf("they took %s", took)
		}
	})
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// TestRandomWaits: of waits of every kind that begin, are stopped and end while the clock is
// set, each ends once, when its time has come or is noticed to have, and not before.
func TestRandomWaits(t *testing.T) {
	seeds := uint64(8)
	switch {
	case need.Race: // which takes many times as long
		seeds = 2
	case need.AllAsked():
		seeds = 40
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomWaits(t, rand.New(rand.NewPCG(seed, 45))) })
		})
	}
}

// wait is one of [TestRandomWaits], with what has become of it.
type wait struct {
	due     clock.Due
	came    time.Time // since when its time has come without a break
	ended   time.Time
	stopped bool
	stop    func()
}

func randomWaits(t *testing.T, r *rand.Rand) {
	c := &clock.Clock{}
	var mu sync.Mutex
	var all []*wait
	any := func(most time.Duration) time.Duration { return time.Duration(r.Int64N(int64(most))) - most/8 }
	begin := func() *wait {
		w, now := &wait{}, time.Now()
		switch d := any(20 * time.Minute); r.IntN(3) {
		case 0:
			w.due = c.Stored(c.Now().Add(d))
		case 1:
			w.due = c.After(now, d)
		default:
			w.due = c.Within(c.Now().Add(d), now, any(20*time.Minute))
		}
		ends := func() {
			mu.Lock()
			defer mu.Unlock()
			switch now := time.Now(); {
			case w.stopped:
				t.Error("a wait that was stopped has ended")
			case !w.ended.IsZero():
				t.Error("a wait has ended twice")
			case !c.Came(w.due, now):
				t.Errorf("a wait has ended %s too early", c.Left(w.due, now))
			default:
				w.ended = now
			}
		}
		if r.IntN(2) == 0 {
			w.stop = c.AfterFunc(w.due, ends).Stop
			return w
		}
		ctx, cancel := context.WithCancel(t.Context())
		w.stop = cancel
		go func() {
			if c.Until(ctx, w.due) {
				ends()
			}
		}()
		return w
	}
	const step = time.Second
	for range 3600 {
		mu.Lock()
		switch n := r.IntN(200); {
		case n < 10:
			all = append(all, begin())
		case n == 10:
			c.Set(any(time.Hour))
		case n < 14 && len(all) > 0:
			if w := all[r.IntN(len(all))]; w.ended.IsZero() && !c.Came(w.due, time.Now()) {
				w.stopped = true
				w.stop()
			}
		}
		now := time.Now()
		for _, w := range all {
			switch came := c.Came(w.due, now); {
			case !came || w.stopped || !w.ended.IsZero():
				w.came = time.Time{}
			case w.came.IsZero():
				w.came = now
			case now.Sub(w.came) > clock.Look:
				t.Fatalf("a time has come, and the wait goes on since %s", now.Sub(w.came))
			}
		}
		mu.Unlock()
		time.Sleep(step)
	}
	mu.Lock()
	defer mu.Unlock()
	ended := 0
	for _, w := range all {
		if !w.ended.IsZero() {
			ended++
		}
		w.stop()
	}
	if ended < 20 {
		t.Errorf("%d of %d have ended", ended, len(all))
	}
}
