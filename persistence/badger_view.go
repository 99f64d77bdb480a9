package persistence

import (
	"sync"

	"github.com/dgraph-io/badger/v4"
)

// views is what readers see: what the last transaction that was acknowledged has left. A
// read transaction of Badger's own would wait for the transaction that is being written.
type views struct {
	mu  sync.Mutex
	now *view // nil: the store is closed
}

// view is a transaction that only reads. Any number of goroutines may use it.
type view struct {
	txn     *badger.Txn
	readers int
}

// renew lets later readers see all that is committed, and returns its version.
func (v *views) renew(db *badger.DB) uint64 {
	next := &view{txn: db.NewTransaction(false)}
	v.swap(next)
	return next.txn.ReadTs()
}

// close ends the last view. Readers of it may still be at work.
func (v *views) close() { v.swap(nil) }

func (v *views) swap(next *view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := v.now
	if v.now = next; last != nil && last.readers == 0 {
		last.txn.Discard()
	}
}

// read calls f with the present view.
func (v *views) read(f func(*badger.Txn) error) error {
	v.mu.Lock()
	now := v.now
	now.readers++
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if now.readers--; now.readers == 0 && now != v.now {
			now.txn.Discard()
		}
	}()
	return f(now.txn)
}
