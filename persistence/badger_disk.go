package persistence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// checkDisk stops and allows writes by what the disk would take, whether or not anything
// is written. After a lack of space, writes continue when there is somewhat more than
// enough.
func (b *Badger) checkDisk() {
	if !b.thaw() {
		return
	}
	was := b.Blocked()
	least, probe := b.minFree, int64(4<<10)
	if was != nil {
		least, probe = b.enough(), 1<<20
		if !prepared(b.dir) {
			probe += logRoom
		}
	}
	now := b.space(least)
	if now == nil && (was != nil || b.dirty.Load()) {
		now = b.probe(probe)
	}
	if now == nil {
		b.restoreReserve()
	}
	if errors.Is(now, ErrFull) {
		b.releaseReserve()
	}
	switch {
	case now != nil:
		b.block(now)
	case was != nil:
		b.blocked.Store(nil)
		b.log.Warn().Msg("the store takes writes again")
	}
}

// restoreReserve makes the reserve where that leaves enough.
func (b *Badger) restoreReserve() {
	if info, err := os.Stat(reserveOf(b.dir)); err == nil && info.Size() == b.reserveSize {
		return
	}
	if b.minFree > 0 && b.space(b.enough()+b.reserveSize) == nil {
		if err := hold(b.dir, b.reserveSize); err != nil {
			b.log.Warn().Err(err).Msg("the store's reserve cannot be made")
		}
	}
}

// enough is how much must be free for writes to begin again.
func (b *Badger) enough() int64 {
	if b.minFree < 0 || b.minFree > 1<<60 {
		return b.minFree
	}
	return b.minFree + b.minFree/4
}

// block refuses writes from now on, until checkDisk allows them.
func (b *Badger) block(why error) {
	if b.blocked.Swap(&why) == nil {
		b.log.Error().Err(why).Msg("the store takes no writes")
	}
}

// releaseReserve gives the reserve up where Badger still makes tables of what it has and
// the disk has hardly any room for them.
func (b *Badger) releaseReserve() {
	if left, err := Free(b.dir); err != nil || left > b.minFree/2 {
		return
	}
	if names, _, err := logs(b.dir); err != nil || len(names) > 1 || b.pendingTables() > 0 {
		release(b.dir)
	}
}

// pendingTables is what Badger needs for the tables that it is about to put together.
func (b *Badger) pendingTables() (need int64) {
	levels := b.db.Levels()
	for i, l := range levels {
		if l.Score < 1 {
			continue
		}
		if i > 0 { // one table, and those below that it overlaps
			need += 11 * l.TargetFileSize
			continue
		}
		need += l.Size
		for _, base := range levels {
			if base.IsBaseLevel {
				need += base.Size
			}
		}
	}
	return need
}

// space looks at how much of the disk is free.
func (b *Badger) space(least int64) error {
	left, err := Free(b.dir)
	if err != nil {
		b.log.Warn().Err(err).Msg("the free space of the disk is unknown")
		return nil
	}
	if left < least {
		return ErrFull
	}
	return nil
}

// probe makes a file in the store's folder and gives it blocks, which is what
// Badger has to do for its next log or table.
func (b *Badger) probe(size int64) error {
	f, err := os.OpenFile(filepath.Join(b.dir, "probe"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err == nil {
		err = errors.Join(allocate(f, size), f.Close(), os.Remove(f.Name()))
	}
	return Unwritten(err)
}

// Unwritten says of a file that could not be written whether the disk is full
// ([ErrFull]) or takes nothing for another reason ([ErrUnwritable]).
func Unwritten(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrFull):
		return err
	case NoRoom(err):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("%w: %w", ErrUnwritable, err)
}
