package persistence

import (
	"errors"
	"os"
)

// Close implements [Store].
func (b *Badger) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	b.mu.Unlock()
	b.snapshots.Wait() // their owners end before the store

	close(b.requests)
	<-b.wrote
	close(b.unsynced)
	<-b.synced
	b.packing.Wait()
	b.hub.Close()
	b.views.close()
	if b.flushLog != nil {
		defer b.flushLog.Close()
	}
	if b.state == nil { // it was only read
		return errors.Join(b.db.Close(), b.lock.Close())
	}
	return errors.Join(b.end(), b.state.close(), b.lock.Close())
}

// end closes the database. On a disk that has no room for the tables that this
// makes it is left as a killed process leaves it: its logs are synced, and the
// next opening reads them.
func (b *Badger) end() error {
	names, _, err := logs(b.dir)
	if err == nil {
		err = makeRoom(b.dir, int64(max(len(names), 1))*tableRoom+b.pendingTables()+openRoom)
	}
	if err != nil {
		b.log.Warn().Err(err).Msg("the store is left with its logs, which the next start reads: closing it needs space")
		return b.flush()
	}
	err = b.db.Close()
	_ = os.Remove(logName(b.dir, b.journal.active+1)) // prepared, and empty
	return err
}
