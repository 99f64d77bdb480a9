package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// syncAll is the syncer: one sync for all the changes that wait for one, and
// one now and then for those that do not. It ends when unsynced is closed.
func (b *Badger) syncAll(o Options) {
	defer close(b.synced)
	tick := time.NewTicker(o.SyncEvery)
	defer tick.Stop()
	for {
		var waiting []*request
		open := true
		select {
		case r, ok := <-b.unsynced:
			if open = ok; ok {
				waiting = b.pending(r)
			}
		case <-tick.C:
			b.checkDisk()
		}
		if b.dirty.Swap(false) && b.failed.Load() == nil {
			version := b.state.version()
			err := b.flush()
			if err == nil {
				err = b.state.synced(version)
			}
			if err != nil {
				b.fail(fmt.Errorf("sync: %w", err))
			}
		}
		for _, r := range waiting {
			if err := b.failed.Load(); err != nil {
				r.answer = answer{err: *err}
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
	names, _, err := logs(b.dir)
	if err != nil || len(names) < 2 {
		return err
	}
	for _, name := range append(names, b.dir) {
		if err := syncFile(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// fail ends all writing: nobody knows what is on the disk.
func (b *Badger) fail(err error) {
	err = fmt.Errorf("%w: %w", ErrFailed, err)
	if b.failed.CompareAndSwap(nil, &err) {
		b.log.Error().Err(err).Msg("the store takes no writes until the service is started again")
	}
}

// syncFile syncs a file or a folder by its name.
func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
