package actors

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestGoroutinesAreReused would not end if a goroutine were left: the bubble waits
// for all of them.
func TestGoroutinesAreReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &goroutinePool{}
		var ran atomic.Int64
		for range 1000 {
			h.do(func() { ran.Add(1) })
			synctest.Wait()
		}
		if len(h.idle) != 1 || ran.Load() != 1000 {
			t.Errorf("%d goroutines ran %d functions, want 1 and 1000", len(h.idle), ran.Load())
		}
		h.close()
		h.do(func() { ran.Add(1) })
		synctest.Wait()
		if ran.Load() != 1001 {
			t.Error("after the end nothing is run any more")
		}
	})
}

func TestGoroutinePoolWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &goroutinePool{}
		stop := make(chan struct{})
		var all sync.WaitGroup
		for range 2 * maxIdle {
			all.Add(1)
			h.do(func() { all.Done(); <-stop })
		}
		all.Wait() // all of them run at the same time
		close(stop)
		synctest.Wait()
		if len(h.idle) != maxIdle {
			t.Errorf("%d goroutines are kept, want %d", len(h.idle), maxIdle)
		}
		h.close()
	})
}
