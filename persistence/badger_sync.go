package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
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
				runtime.Gosched() // on busy processors, what else is about to wait shares this sync
				waiting = b.pending(r)
			}
		case <-tick.C:
			b.checkDisk()
			b.rest.tick()
			if b.rest.calm.tick(b.rest.written.Load()) {
				b.pack()
			}
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

// descriptorAgain is how often it is tried whether the process has a descriptor again.
const descriptorAgain = 50 * time.Millisecond

// flush brings what is committed to the disk. It waits while the process has no descriptor
// for that, and the answers to what was written wait with it.
func (b *Badger) flush() error {
	said := false
	for {
		err := b.flushNow()
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
			return err
		}
		if !said {
			b.log.Error().Err(err).Msg("the store waits for a descriptor")
			said = true
		}
		time.Sleep(descriptorAgain)
	}
}

// flushNow syncs the logs: those that were synced since they were replaced are on the disk.
// Badger's own sync would know only the newest one, and would sync the log of large values
// each time, which stays empty.
func (b *Badger) flushNow() error {
	b.flushing.Lock()
	defer b.flushing.Unlock()
	newest := int(b.newest.Load())
	if b.flushLog == nil { // the first time: an earlier process may have left some
		names, _, err := logs(b.dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := syncLog(name); err != nil {
				return err
			}
		}
	} else if err := syncData(b.flushLog); err != nil || newest == b.flushed {
		return err
	}
	for n := max(b.flushed+1, newest-b.db.Opts().NumMemtables-1); n < newest; n++ {
		if err := syncLog(logName(b.dir, n)); err != nil {
			return err
		}
	}
	if b.flushLog != nil {
		b.flushLog.Close()
		b.flushLog = nil
	}
	log, err := os.Open(logName(b.dir, newest))
	if err == nil {
		b.flushLog, b.flushed = log, newest
		err = log.Sync()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, syncFile(b.dir))
}

// syncLog syncs a log. One that is missing has become a table, which Badger has synced.
func syncLog(name string) error {
	if err := syncFile(name); !errors.Is(err, fs.ErrNotExist) {
		return err
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
