package persistence

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
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
	calm        calm
}

// calm finds times of few writes, in which the store can be put together.
type calm struct {
	ticks        int
	seen, packed int64 // of what was written
	ever         bool  // it was put together since the store was opened
}

const (
	calmTicks = 30      // so long few writes must have been
	calmMost  = 1 << 20 // bytes: those of some tasks an hour, and what counts and leases write
)

// tick reports whether the last while was calm, after writes that are worth the work. The
// first calm time after an opening counts, too: nobody knows what was written before.
func (c *calm) tick(written int64) bool {
	if c.ticks++; c.ticks < calmTicks {
		return false
	}
	few := written-c.seen <= calmMost
	c.ticks, c.seen = 0, written
	if !few || c.ever && written-c.packed < restAfter {
		return false
	}
	c.ever, c.packed = true, written
	return true
}

// packMost is how large a store may be that is put together at rest. In a larger one, what was
// removed is a small part: Badger's own compactions see to it.
const packMost = 512 << 20

// pack puts the tables of the store together in the background, without what was removed or
// overwritten: Badger by itself leaves that until more is written. What says that something was
// removed may still be in the log: that becomes a table first. The end of the store waits for
// it.
func (b *Badger) pack() {
	if b.Blocked() != nil {
		return
	}
	var size int64
	for _, t := range b.db.Tables() {
		size += int64(t.OnDiskSize)
	}
	if size == 0 || size > packMost || b.space(b.enough()+size) != nil {
		return
	}
	b.packing.Go(func() {
		done := make(chan struct{})
		select {
		case b.pads <- done:
			<-done
		case <-b.wrote:
			return
		}
		for range 100 { // the log before becomes a table
			if all, _, err := logs(b.dir); err != nil || len(all) <= 1 {
				break
			}
			select {
			case <-b.wrote:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
		if err := b.db.Flatten(1); err != nil {
			b.log.Warn().Err(err).Msg("the store's tables cannot be put together")
			return
		}
		var left int64
		for _, t := range b.db.Tables() {
			left += int64(t.OnDiskSize)
		}
		b.log.Debug().Int64("before", size).Int64("after", left).Msg("the store's tables were put together")
	})
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

// paddingKey is written to fill a log.
const (
	paddingKey  = ownPrefix + "padding"
	paddingSize = 128 << 10
)

// pad fills the log in use, so that Badger makes a table of it. The writer calls it.
func (b *Badger) pad() {
	for n, first := 0, b.journal.active; n <= memTable/paddingSize && b.journal.active == first; n++ {
		if !b.padding(make([]byte, paddingSize)) {
			return
		}
	}
	b.padding(nil)
}

// padding writes a value of the padding, and reports whether it could.
func (b *Badger) padding(value []byte) bool {
	if b.frozen.Load() || b.Blocked() != nil {
		return false
	}
	t := b.begin()
	defer t.txn.Discard()
	if t.full != nil {
		return false
	}
	err := t.txn.Set([]byte(paddingKey), value)
	if err == nil {
		b.journal.logged += int64(len(value)) + 2*entryCost
		err = b.keep(t.txn, nil)
	}
	switch {
	case err == nil:
		b.dirty.Store(true)
	case !errors.Is(err, badger.ErrNoMemTable):
		b.fail(fmt.Errorf("fill the log: %w", err))
	}
	return err == nil
}
