package persistence

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMemoryIsHandedBack: some time after the last of many writes, memory that is no
// longer used is the system's again, and not after few writes.
func TestMemoryIsHandedBack(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // so that nothing else collects
	debug.FreeOSMemory()
	const much = 64 << 20
	garbage := make([]byte, much)
	for i := 0; i < much; i += 4096 {
		garbage[i] = 1
	}
	runtime.KeepAlive(garbage)
	garbage = nil
	held := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapSys - m.HeapReleased)
	}
	before := held()
	var r rest
	r.written.Add(restAfter / 2)
	for range restLast + 2 {
		r.tick()
	}
	if now := held(); now < before-much/2 {
		t.Errorf("%d bytes were handed back after few writes", before-now)
	}
	r.written.Add(restAfter)
	for range restFirst + 1 {
		r.tick()
	}
	if now := held(); now > before-much/2 {
		t.Errorf("%d bytes of the heap are held, as before with %d", now, before)
	}
}
