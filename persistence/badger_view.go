package persistence

import (
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

// views is what readers see: what the last transaction that was acknowledged has left. A
// read transaction of Badger's own would wait for the transaction that is being written.
//
// The store numbers its transactions itself, there is one writer. Where Badger does, each new
// transaction waits for a goroutine that notes the end of the last one: on busy processors
// that took several times as long as the commit.
type views struct {
	mu  sync.Mutex
	now *view   // nil: the store is closed
	old []*view // of earlier ones, those that still have readers; the oldest first
}

// view is a transaction that only reads. Any number of goroutines may use it.
type view struct {
	txn     *badger.Txn
	readers int
}

// renew lets later readers see all up to a version. What no reader can see any more, Badger
// may drop when it merges tables.
func (v *views) renew(db *badger.DB, version uint64) {
	next := &view{txn: db.NewTransactionAt(version, false)}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.swap(next)
	oldest := next
	if len(v.old) > 0 {
		oldest = v.old[0]
	}
	db.SetDiscardTs(oldest.txn.ReadTs())
}

// close ends the last view. Readers of it may still be at work.
func (v *views) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.swap(nil)
}

// swap replaces the view. The caller has the lock.
func (v *views) swap(next *view) {
	switch last := v.now; {
	case last == nil:
	case last.readers == 0:
		last.txn.Discard()
	default:
		v.old = append(v.old, last)
	}
	v.now = next
}

// read calls f with the present view.
func (v *views) read(f func(*badger.Txn) error) error {
	now, done := v.hold()
	if now == nil {
		return ErrUnwritable
	}
	defer done()
	return f(now.txn)
}

// hold keeps the present view until done is called; nil: there is none.
func (v *views) hold() (now *view, done func()) {
	v.mu.Lock()
	now = v.now
	if now == nil {
		v.mu.Unlock()
		return nil, nil
	}
	now.readers++
	v.mu.Unlock()
	return now, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if now.readers--; now.readers == 0 && now != v.now {
			v.old = slices.DeleteFunc(v.old, func(o *view) bool { return o == now })
			now.txn.Discard()
		}
	}
}
