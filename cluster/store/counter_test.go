package store

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Additions of worker nodes wait for each other; one that decides something waits for nobody,
// and neither does what came before it.
func TestGatherAdditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{counters: map[string]*counter{}}
		s.ctx, s.stop = context.WithCancel(t.Context())
		c := &counter{hurry: make(chan struct{}, 1)}
		s.counters["n"] = c // so that nobody writes
		asks := func(gathers bool) {
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			go s.add("n", &addition{ctx: ctx, delta: 1, gathers: gathers})
			synctest.Wait()
		}
		took := func() time.Duration {
			began := time.Now()
			s.gather(c)
			return time.Since(began)
		}
		asks(true)
		asks(true)
		if d := took(); d != gatherAsked {
			t.Errorf("two of worker nodes wait %v, want %v", d, gatherAsked)
		}
		asks(false)
		asks(false)
		if d := took(); d != 0 {
			t.Errorf("with one that decides something they wait %v", d)
		}
		go func() {
			time.Sleep(gatherAsked / 4)
			asks(false)
		}()
		if d := took(); d != gatherAsked/4 {
			t.Errorf("they wait %v, want until one comes that decides something", d)
		}
		if len(c.waiting) != 5 {
			t.Errorf("%d additions wait, want 5", len(c.waiting))
		}
		s.stop()
		if d := took(); d != 0 {
			t.Errorf("with the end of the store they wait %v", d)
		}
	})
}
