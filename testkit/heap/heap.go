// Package heap measures what something takes of the heap.
package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Growth runs f, and returns by how many bytes the heap grew at most while it ran.
// Garbage counts as long as the collector leaves it.
func Growth(f func()) int64 {
	heap := func() int64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	runtime.GC()
	before, most := heap(), int64(0)
	over, seen := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(seen)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, heap()-before)
			select {
			case <-tick.C:
			case <-over:
				return
			}
		}
	}()
	func() {
		defer func() { close(over); <-seen }()
		f()
	}()
	return most
}

// Left runs f, and returns by how many bytes the heap has grown when it is over and all
// garbage is collected. What f returns is not collected before.
func Left(f func() any) int64 {
	live := func() int64 {
		runtime.GC()
		runtime.GC() // what had finalizers
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	before := live()
	kept := f()
	n := live() - before
	runtime.KeepAlive(kept)
	return n
}
