package persistence

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// groupSize is how many changes share a transaction.
const groupSize = 256

// revisionBlock is how many revisions are reserved at once. The rest of a block is never
// used after the end of a process.
const revisionBlock = 1 << 16

// collectAfter is how long after its own time Badger may collect a record:
// its clock has whole seconds and may be a second early.
const collectAfter = 5 * time.Second

// write is the writer: it ends when requests is closed and empty.
func (b *Badger) write() {
	defer close(b.wrote)
	alarm := time.NewTimer(b.due.wait(time.Now()))
	defer alarm.Stop()
	for {
		select {
		case r, ok := <-b.requests:
			if !ok {
				return
			}
			runtime.Gosched() // on busy processors, what else is about to come shares the transaction
			b.commit(b.gather(r))
		case <-alarm.C:
			b.commit(b.due.take(time.Now(), groupSize))
		case done := <-b.pads:
			b.pad()
			close(done)
		}
		alarm.Reset(b.due.wait(time.Now()))
	}
}

// gather takes what else is waiting.
func (b *Badger) gather(first *request) []*request {
	group := append([]*request{first}, first.rest...)
	for len(group) < groupSize {
		select {
		case r, ok := <-b.requests:
			if !ok {
				return group
			}
			group = append(append(group, r), r.rest...)
		default:
			return group
		}
	}
	return group
}

// batch is a transaction being made.
type batch struct {
	txn      *badger.Txn
	full     error            // why only what makes room can be written
	records  map[string]int64 // how many more there are, by their kind
	requests []*request
	events   []Event
	due      []deadline
}

// commit decides and carries out the requests, in as few transactions as they
// fit in, and answers those that need not wait for a sync.
func (b *Badger) commit(group []*request) {
	if b.frozen.Load() {
		b.refuseAll(group)
		return
	}
	t := b.begin()
	for _, r := range group {
		if r.ctx != nil && r.ctx.Err() != nil {
			r.err = context.Cause(r.ctx)
		} else if r.after != nil {
			r.err = r.after.err
		}
		if r.err != nil {
			t.requests = append(t.requests, r) // what went before it is to be there with the answer
			continue
		}
		if err := b.admit(t, r); err != nil {
			r.answer = answer{err: fmt.Errorf("write %q: %w", r.key, err)}
			t.requests = append(t.requests, r)
			if r.kind == expire { // it is looked at again
				b.due.add(deadline{at: stamp(time.Now().Add(expireAgain)), key: r.key})
			}
			continue
		}
		err := b.apply(t, r)
		if errors.Is(err, badger.ErrTxnTooBig) {
			b.finish(t)
			if t = b.begin(); t.full == nil || b.admit(t, r) == nil {
				err = b.apply(t, r)
			} else {
				err = t.full
			}
		}
		if err != nil {
			r.answer = answer{err: fmt.Errorf("write %q: %w", r.key, err)}
		}
		t.requests = append(t.requests, r)
	}
	b.finish(t)
}

// refuseAll answers requests to a store that is only read.
func (b *Badger) refuseAll(group []*request) {
	why := ErrFull
	if err := b.Blocked(); err != nil {
		why = err
	}
	for _, r := range group {
		if r.kind == expire {
			b.due.add(deadline{at: stamp(time.Now().Add(expireAgain)), key: r.key})
			continue
		}
		r.answer = answer{err: fmt.Errorf("write %q: %w", r.key, why)}
		r.reply()
	}
}

// expireAgain is how long a record whose time is over, but which cannot be
// removed, is left alone. Readers do not see it meanwhile.
const expireAgain = 30 * time.Second

// begin begins a transaction. Before Badger finds out by the end of the process
// that the disk has no room, this does: the log in use and the next one have
// blocks, and where the log is to be replaced the disk takes the table it becomes.
func (b *Badger) begin() *batch {
	t := &batch{txn: b.db.NewTransactionAt(b.version, true), records: map[string]int64{}}
	if err := t.txn.Set([]byte(lastKey), nil); err != nil {
		t.full = err
		return t
	}
	t.full = b.journal.prepare()
	if t.full == nil && b.minFree >= 0 {
		t.full = b.space(b.minFree)
	}
	if t.full != nil {
		t.full = Unwritten(t.full)
		b.block(t.full)
	}
	return t
}

// admit says why a request cannot be written down now, or nil.
func (b *Badger) admit(t *batch, r *request) error {
	if err := b.refuses(r.change); err != nil {
		return err
	}
	size := int64(len(r.key) + len(r.value) + 2*entryCost)
	if t.full != nil && (r.kind == put || r.kind == add || !b.journal.fits(size)) {
		return t.full
	}
	b.journal.logged += size
	b.rest.written.Add(size)
	return nil
}

// apply decides one request within a transaction. Its error says that the
// transaction could not take it.
func (b *Badger) apply(t *batch, r *request) error {
	var cur *current
	switch {
	case r.only != nil || r.known == Unknown || r.kind != put && r.kind != remove:
		var err error
		if cur, err = t.current(r.key); err != nil {
			return err
		}
	case r.known == Present:
		cur = &current{}
	}
	if cur != nil && expired(cur.expires, time.Now()) {
		if err := b.drop(t, r.key); err != nil {
			return err
		}
		cur = nil
	}
	if r.kind == expire {
		if cur != nil {
			t.due = append(t.due, deadline{at: cur.expires, key: r.key})
		}
		return nil
	}
	v := r.decide(cur)
	r.answer = answer{total: v.total, ok: v.ok, err: v.err}
	var err error
	switch {
	case v.drop:
		err = b.drop(t, r.key)
	case v.set:
		if err = b.set(t, r.key, v, r.known); err == nil && cur == nil {
			t.records[kindOf(r.key)]++
		}
	default:
		return nil
	}
	r.answer.revision = b.revision
	return err
}

// current reads what is there, with what the transaction has changed so far.
func (t *batch) current(key string) (*current, error) {
	item, err := t.txn.Get(keyOf(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var cur current
	err = item.Value(func(raw []byte) error {
		cur, err = decode(raw)
		return err
	})
	return &cur, err
}

func (b *Badger) set(t *batch, key string, v decision, known Known) error {
	revision, err := b.next()
	if err != nil {
		return err
	}
	e := badger.NewEntry(keyOf(key), encode(v.value, revision, v.expires))
	if v.expires != 0 {
		e.ExpiresAt = uint64(unstamp(v.expires).Add(collectAfter).Unix() + 1)
		t.due = append(t.due, deadline{at: v.expires, key: key, once: known != Unknown})
	}
	if err := t.txn.SetEntry(e); err != nil {
		return err
	}
	t.events = append(t.events, Event{Record: Record{Key: key, Value: v.value, Revision: revision, Expires: unstamp(v.expires)}})
	return nil
}

func (b *Badger) drop(t *batch, key string) error {
	revision, err := b.next()
	if err != nil {
		return err
	}
	if err := t.txn.Delete(keyOf(key)); err != nil {
		return err
	}
	t.records[kindOf(key)]--
	t.events = append(t.events, Event{Record: Record{Key: key, Revision: revision}, Deleted: true})
	return nil
}

// finish commits a transaction, tells the watchers, and answers.
func (b *Badger) finish(t *batch) {
	defer t.txn.Discard()
	if len(t.events) > 0 {
		err := b.keep(t.txn, t.records)
		if errors.Is(err, badger.ErrNoMemTable) { // nothing of it was written
			err = Unwritten(err)
			b.block(err)
		} else if err != nil {
			b.fail(fmt.Errorf("commit: %w", err))
			err = *b.failed.Load()
		}
		if err != nil {
			for _, r := range t.requests {
				if r.kind == expire { // it is looked at again
					b.due.add(deadline{at: stamp(time.Now().Add(expireAgain)), key: r.key})
				}
				r.answer = answer{err: err}
				r.reply()
			}
			return
		}
		b.dirty.Store(true) // before any answer, so that a sync covers it
		b.hub.Publish(t.events)
	}
	for _, d := range t.due {
		b.due.add(d)
	}
	for _, r := range t.requests {
		if r.durable && r.err == nil {
			b.unsynced <- r
		} else {
			r.reply()
		}
	}
}

// keep commits a transaction, and shows it to readers.
func (b *Badger) keep(txn *badger.Txn, records map[string]int64) error {
	if err := txn.CommitAt(b.version+1, nil); err != nil {
		return err
	}
	b.version++
	b.follow()
	b.views.renew(b.db, b.version)
	return b.state.committed(b.version, b.reserved, records)
}

// follow lets the next sync know which log has what was committed.
func (b *Badger) follow() {
	b.journal.follow()
	b.newest.Store(int64(b.journal.active))
}

// next gives a revision that was never given before.
func (b *Badger) next() (uint64, error) {
	if b.revision >= b.reserved {
		if err := b.reserve(); err != nil {
			return 0, fmt.Errorf("reserve revisions: %w", err)
		}
	}
	b.revision++
	return b.revision, nil
}

// reserve writes down, synced, how far revisions may go before the next call.
func (b *Badger) reserve() error {
	bound := binary.BigEndian.AppendUint64(nil, b.reserved+revisionBlock)
	txn := b.db.NewTransactionAt(b.version, true)
	defer txn.Discard()
	if err := errors.Join(txn.Set([]byte(lastKey), nil), txn.Set([]byte(boundKey), bound)); err != nil {
		return err
	}
	if err := b.keep(txn, nil); err != nil {
		return err
	}
	if err := b.flush(); err != nil {
		return err
	}
	b.reserved += revisionBlock
	return b.state.committed(b.version, b.reserved, nil)
}
