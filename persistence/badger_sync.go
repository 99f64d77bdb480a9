package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// syncAll is the syncer: one sync for all the changes that wait for one, and
// one now and then for those that do not. It ends when unsynced is closed.
func (b *Badger) syncAll(o Options) {
	defer close(b.synced)
	tick := time.NewTicker(o.SyncEvery)
	defer tick.Stop()
	var broken error // after a failed sync nobody knows what is on the disk
	for {
		var waiting []*request
		open := true
		select {
		case r, ok := <-b.unsynced:
			if open = ok; ok {
				waiting = b.pending(r)
			}
		case <-tick.C:
			b.checkDisk(o.MinFree)
		}
		if b.dirty.Swap(false) && broken == nil {
			if broken = b.flush(); broken != nil {
				b.log.Error().Err(broken).Msg("the store cannot be synced")
			}
		}
		for _, r := range waiting {
			if broken != nil {
				r.answer = answer{err: fmt.Errorf("sync: %w", broken)}
			}
			r.reply()
		}
		if !open {
			return
		}
	}
}

// pending takes what else waits for a sync.
func (b *Badger) pending(first *request) []*request {
	waiting := []*request{first}
	for len(waiting) < cap(b.unsynced) {
		select {
		case r, ok := <-b.unsynced:
			if !ok {
				return waiting
			}
			waiting = append(waiting, r)
		default:
			return waiting
		}
	}
	return waiting
}

// flush brings what is committed to the disk. Badger's Sync knows only the
// newest log: one that was just replaced and is not a table yet is synced here.
func (b *Badger) flush() error {
	if err := b.db.Sync(); err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(b.dir, "*.mem"))
	if err != nil || len(logs) < 2 {
		return err
	}
	for _, log := range append(logs, b.dir) {
		if err := syncFile(log); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// checkDisk stops and allows writes by what the disk would take. It has to be
// known before Badger meets it: that writes through mapped memory, and needs a new
// file only once in a while.
func (b *Badger) checkDisk(least int64) {
	was := b.Blocked()
	now := b.space(least)
	if now == nil && (was != nil || b.dirty.Load()) {
		now = b.probe()
	}
	switch {
	case now != nil:
		b.blocked.Store(&now)
		if was == nil {
			b.log.Error().Err(now).Msg("the store takes no writes")
		}
	case was != nil:
		b.blocked.Store(nil)
		b.log.Warn().Msg("the store takes writes again")
	}
}

// space looks at how much of the disk is free.
func (b *Badger) space(least int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(b.dir, &disk); err != nil {
		b.log.Warn().Err(err).Msg("the free space of the disk is unknown")
		return nil
	}
	if int64(disk.Bavail)*int64(disk.Bsize) < least {
		return ErrFull
	}
	return nil
}

// probe makes a file in the store's folder, which is what Badger has to do for
// its next log or table.
func (b *Badger) probe() error {
	name := filepath.Join(b.dir, "probe")
	return Unwritten(errors.Join(os.WriteFile(name, []byte{0}, 0o600), os.Remove(name)))
}

// Unwritten says of a file that could not be written whether the disk is full
// ([ErrFull]) or takes nothing for another reason ([ErrUnwritable]).
func Unwritten(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("%w: %w", ErrUnwritable, err)
}

// syncFile syncs a file or a folder by its name.
func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
