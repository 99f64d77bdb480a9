package actors

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/persistence"
)

// sessionBook is the record of one session on disk. Its operations run one after
// the other, outside of the mailbox. Only the session's actor may call its
// methods.
type sessionBook struct {
	node *nodeParts

	mu   sync.Mutex
	todo []bookEntry // in this order
	busy bool        // one of them is being done

	// The operation in progress owns the following fields.
	revision uint64            // of the record; zero: there is none
	state    uint64            // the epoch of the state on disk
	stale    []staleSession    // what it was before it was renamed
	written  [sha256.Size]byte // the state, and until when it is kept
	expires  time.Time
	taken    bool // the session is not this node's any more: nothing is written
	over     bool // it was erased
}

// staleSession is what is left on disk of a session that was renamed.
type staleSession struct {
	id              string
	revision, state uint64
}

func newSessionBook(n *nodeParts, k recoveredSession) *sessionBook {
	return &sessionBook{node: n, revision: k.revision, state: k.rec.State}
}

// bookEntry is one operation, and what to call with its result; nil: nothing.
type bookEntry struct {
	f    func(context.Context) error
	over func(error)
}

// maxWrites bounds how many writes of one session may wait for a disk that
// takes none. Each has its own time once it begins, so this bounds how long the
// last of them waits, too.
const maxWrites = 16

// errWritesWait: so many writes of the session wait that no more may.
var errWritesWait = errors.New("too many earlier writes of the session are waiting for the disk")

func (b *sessionBook) then(f func(context.Context) error, over func(error)) {
	b.mu.Lock()
	b.todo = append(b.todo, bookEntry{f, over})
	first := !b.busy
	b.busy = true
	b.mu.Unlock()
	if first {
		b.node.background.Go(b.work)
	}
}

// work does operations until the queue is empty.
func (b *sessionBook) work() {
	for {
		b.mu.Lock()
		if len(b.todo) == 0 {
			b.todo, b.busy = nil, false
			b.mu.Unlock()
			return
		}
		next := b.todo[0]
		b.todo[0], b.todo = bookEntry{}, b.todo[1:]
		b.mu.Unlock()
		b.node.onDiskNow(next.f, next.over)
	}
}

// full reports whether too many writes wait.
func (b *sessionBook) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.todo) >= maxWrites
}

// write keeps the record, and the state if it has changed. It calls over when both would
// survive a loss of power; nil: nobody waits for that.
func (b *sessionBook) write(rec records.Session, state []byte, over func(error)) {
	rec.Saved = time.Now()
	if b.full() {
		b.node.background.Go(func() {
			b.node.onDiskNow(func(context.Context) error { return errWritesWait }, over)
		})
		return
	}
	b.then(func(ctx context.Context) error { return b.put(ctx, rec, state) }, over)
}

func (b *sessionBook) put(ctx context.Context, rec records.Session, state []byte) error {
	if b.taken {
		return api.ErrSessionTaken
	}
	r, expires, before := b.node.records, rec.Deadline.Add(records.SessionGrace), b.state
	sum := sha256.Sum256(append([]byte(rec.ID), state...))
	// An unchanged state is written again only to be kept longer.
	fresh := state != nil && (sum != b.written || b.expires.Before(rec.Deadline.Add(records.SessionGrace/2)))
	if rec.State = before; fresh {
		rec.State = rec.Epoch
	}
	record := func() error { return b.putRecord(ctx, rec, expires) }
	saved := func() error {
		if !fresh {
			return nil
		}
		return r.Sealed.Put(ctx, persistence.Item{
			Key: records.StateKey(rec.ID, rec.Epoch), Account: rec.Account, Value: state, Expires: expires, Durable: true,
		})
	}
	if err := b.both(record, saved, rec.State != before); err != nil {
		return fmt.Errorf("keep session: %w", err)
	}
	b.state = rec.State
	if fresh {
		b.written, b.expires = sum, expires
	}
	if rec.State != before {
		if err := r.Sealed.DeleteOf(ctx, rec.Account, records.StateKey(rec.ID, before), true); err != nil {
			return fmt.Errorf("remove a session's earlier state: %w", err)
		}
	}
	for state != nil && len(b.stale) > 0 {
		if err := b.eraseStale(ctx, rec.Account, b.stale[0]); err != nil {
			return err
		}
		b.stale = b.stale[1:]
	}
	return nil
}

// both writes the record and the state. A node with others writes no state over
// one that another owner may read: the record, which says so, is first. A
// state that has a place of its own is there before a record names it.
func (b *sessionBook) both(record, state func() error, moves bool) error {
	first, then := record, state
	switch {
	case moves:
		first, then = state, record
	case b.node.leases == nil:
		return records.InParallel([]func() error{record, state}, func(f func() error) error { return f() })
	}
	if err := first(); err != nil {
		return err
	}
	return then()
}

// putRecord writes the record over the one that is known, and finds out whose
// session it is where that is another one.
func (b *sessionBook) putRecord(ctx context.Context, rec records.Session, expires time.Time) error {
	about, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	for {
		over := b.revision
		revision, err := b.node.records.Store.Put(ctx, persistence.Write{
			Key: records.SessionPrefix + rec.ID, Value: about, Expires: expires, If: &over, Durable: true,
		})
		if err == nil {
			b.revision = revision
			return nil
		}
		if !errors.Is(err, persistence.ErrConflict) {
			return err
		}
		if err := b.reread(ctx, rec); err != nil {
			return err
		}
	}
}

// reread reads the record that is there instead of the known one. It may be one
// of our own writes whose answer was lost.
func (b *sessionBook) reread(ctx context.Context, rec records.Session) error {
	found, revision, err := b.node.records.SessionAt(ctx, rec.ID)
	switch {
	case errors.Is(err, persistence.ErrNotFound) && b.revision == 0:
		return nil
	case errors.Is(err, persistence.ErrNotFound) && b.node.leases == nil && !b.over:
		// Nobody else is there to remove it: the wall clock was set beyond the time
		// that it is kept, and the session's own time is not up.
		b.revision, b.written = 0, [sha256.Size]byte{}
		return nil
	case err == nil && found.SameOwner(rec):
		b.revision = revision
		return nil
	case err == nil || errors.Is(err, persistence.ErrNotFound):
		b.taken = true
		return api.ErrSessionTaken
	}
	return err
}

// rename tells that later writes replace the record under an earlier identifier.
func (b *sessionBook) rename(from string) {
	b.then(func(context.Context) error {
		b.stale = append(b.stale, staleSession{from, b.revision, b.state})
		b.revision = 0
		return nil
	}, nil)
}

// erase removes the session from the disk, unless it is another node's.
func (b *sessionBook) erase(rec records.Session, over func(error)) {
	b.then(func(ctx context.Context) error {
		if b.taken || b.over {
			return nil
		}
		var errs []error
		for _, old := range b.stale {
			errs = append(errs, b.eraseStale(ctx, rec.Account, old))
		}
		err := b.eraseRecord(ctx, rec)
		if errors.Is(err, api.ErrSessionTaken) {
			return errors.Join(errs...)
		}
		if err == nil {
			err = errors.Join(b.node.records.Sealed.DeleteOf(ctx, rec.Account, records.StateKey(rec.ID, b.state), true), b.node.records.SessionFiles.End(ctx, rec.Account, rec.ID))
		}
		b.over = err == nil
		return errors.Join(append(errs, err)...)
	}, over)
}

func (b *sessionBook) eraseRecord(ctx context.Context, rec records.Session) error {
	for {
		if b.revision == 0 { // no write of it was answered
			if err := b.reread(ctx, rec); err != nil || b.revision == 0 {
				return err
			}
		}
		over := b.revision
		err := b.node.records.Store.Delete(ctx, records.SessionPrefix+rec.ID, &over, true)
		if !errors.Is(err, persistence.ErrConflict) {
			return err
		}
		if err := b.reread(ctx, rec); err != nil {
			return err
		}
	}
}

// eraseStale leaves a record alone that somebody has changed since.
func (b *sessionBook) eraseStale(ctx context.Context, account string, old staleSession) error {
	if old.revision > 0 {
		err := b.node.records.Store.Delete(ctx, records.SessionPrefix+old.id, &old.revision, true)
		if err != nil && !errors.Is(err, persistence.ErrConflict) {
			return err
		}
	}
	return errors.Join(b.node.records.Sealed.Delete(ctx, records.StateKey(old.id, old.state), true), b.node.records.SessionFiles.End(ctx, account, old.id))
}
