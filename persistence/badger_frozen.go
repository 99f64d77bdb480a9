package persistence

import (
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// A store whose disk has no room to open it, not even with its reserve, is frozen: what is
// there can be read, each write is an [ErrFull], and the store opens as usual as soon as
// there is room. Opening it this way creates nothing, so it needs no space at all.

// openFrozen opens the database of a folder to read it.
func (b *Badger) openFrozen() (*badger.DB, error) {
	in, err := check(b.dir)
	if err != nil {
		return nil, err
	}
	if in.empty {
		return nil, errors.New("there is nothing to read")
	}
	if err := errors.Join(dropIdle(b.dir), in.trim()); err != nil {
		return nil, denied(b.dir, err)
	}
	return badger.OpenManaged(badgerOptions(b.dir, b.log).WithReadOnly(true))
}

// freeze opens the store to read it, after an opening that has failed for want of room.
func (b *Badger) freeze(why error) (err error) {
	if b.db, err = b.openFrozen(); err != nil {
		b.log.Debug().Err(err).Msg("the store cannot be read without space either")
		return why
	}
	b.frozen.Store(true)
	b.block(Unwritten(why))
	return nil
}

// thaw opens the store as usual when there is room again. It reports whether the store is
// open as usual.
func (b *Badger) thaw() bool {
	if !b.frozen.Load() {
		return true
	}
	if b.space(b.enough()) != nil || has(b.dir, roomToOpen) != nil {
		return false
	}
	b.mu.Lock() // readers wait
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.views.close()
	if err := b.db.Close(); err != nil {
		b.log.Warn().Err(err).Msg("the store that was only read cannot be closed")
	}
	var err error
	if b.db, err = open(b.dir, b.log); err == nil {
		if err = b.settle(); err == nil {
			b.frozen.Store(false)
			return true
		}
		err = errors.Join(err, b.db.Close())
	}
	var again error
	if b.db, again = b.openFrozen(); again != nil {
		b.fail(fmt.Errorf("open the store again: %w", errors.Join(err, again)))
		return false
	}
	b.log.Warn().Err(err).Msg("the store is only read: opening it has failed")
	b.views.renew(b.db, b.version)
	return false
}
