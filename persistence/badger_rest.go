package persistence

import (
	"runtime/debug"
	"sync/atomic"
)

// A store that was written to a lot leaves much garbage: what its logs had in memory, and
// what tables were built in. The next collection may be minutes away when nothing happens
// any more, and hands little back to the system.

const (
	restAfter = 16 << 20 // bytes that were written before it is worth it
	restFirst = 3        // ticks of the syncer without a write
	restLast  = 24       // by then Badger has given up what it keeps for more tables
)

// rest hands memory back some time after the last of many writes.
type rest struct {
	written atomic.Int64 // bytes since the store was opened

	// The syncer owns the following fields.
	seen, freed int64
	quiet       int
}

// tick looks whether anything was written, and frees memory where it was much.
func (r *rest) tick() {
	now := r.written.Load()
	if now != r.seen {
		r.seen, r.quiet = now, 0
		return
	}
	r.quiet++
	if now-r.freed < restAfter || r.quiet != restFirst && r.quiet != restLast {
		return
	}
	debug.FreeOSMemory()
	if r.quiet == restLast {
		r.freed = now
	}
}
