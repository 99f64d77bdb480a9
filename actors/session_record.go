package actors

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"troupe/engine"
	"troupe/persistence"
)

const (
	sessionPrefix = "session/"
	statePrefix   = "session-state/"
)

// unclaimed is how long a session's record is kept after its time is over, for
// the start of the service that would have ended it.
const unclaimed = 24 * time.Hour

// sessionRecord is what is on disk of a session, beside its state.
type sessionRecord struct {
	ID       string        `json:"id"`
	Account  string        `json:"account"`
	Worker   string        `json:"worker"`
	Timeout  time.Duration `json:"timeout"`
	Started  time.Time     `json:"started"`
	Until    time.Time     `json:"until,omitzero"` // it ends then in any case
	Deadline time.Time     `json:"deadline"`       // it ends then if nobody uses it
	Saved    time.Time     `json:"saved"`
}

// sessionState is what a session needs to go on in another browser. It is kept
// sealed: it has the cookies of a login.
type sessionState struct {
	Browser json.RawMessage `json:"browser,omitempty"` // nothing: a new one will do
	Cache   *engine.Cache   `json:"cache"`
}

// rest says when a session ends that is left alone from now on.
func (r *sessionRecord) rest(now time.Time) time.Time {
	if end := now.Add(r.Timeout); r.Until.IsZero() || end.Before(r.Until) {
		return end
	}
	return r.Until
}

// heed makes up for a clock that was set back while the service was off, which
// shows in a record from the future: it is as if it were written now.
func (r *sessionRecord) heed(now time.Time) {
	ahead := r.Saved.Sub(now)
	if ahead <= 0 {
		return
	}
	r.Saved, r.Started, r.Deadline = now, r.Started.Add(-ahead), r.Deadline.Add(-ahead)
	if !r.Until.IsZero() {
		r.Until = r.Until.Add(-ahead)
	}
}

// sessionBook is the record of one session on disk. What is to be done with it
// is done one after the other, beside the mailbox. Only the session's actor may
// call its methods.
type sessionBook struct {
	node *nodeParts
	tail chan struct{} // closed when all that was to be done is

	// What follows belongs to what is being done.
	stale   []string          // the session had these identifiers
	written [sha256.Size]byte // the state, and until when it is kept
	expires time.Time
}

func newSessionBook(n *nodeParts) *sessionBook {
	tail := make(chan struct{})
	close(tail)
	return &sessionBook{node: n, tail: tail}
}

func (b *sessionBook) then(f func(context.Context) error, over func(error)) {
	before, after := b.tail, make(chan struct{})
	b.tail = after
	b.node.beside(func(ctx context.Context) error {
		defer close(after)
		<-before
		return f(ctx)
	}, over)
}

// write keeps the record, and the state if it is another one. Over is told when
// that would survive a loss of power; nil: nobody waits for it.
func (b *sessionBook) write(rec sessionRecord, state []byte, over func(error)) {
	rec.Saved = time.Now()
	b.then(func(ctx context.Context) error { return b.put(ctx, rec, state) }, over)
}

func (b *sessionBook) put(ctx context.Context, rec sessionRecord, state []byte) error {
	r, expires := b.node.records, rec.Deadline.Add(unclaimed)
	about, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("keep session: %w", err)
	}
	sum := sha256.Sum256(append([]byte(rec.ID), state...))
	both := []func() error{func() error {
		_, err := r.store.Put(ctx, persistence.Write{Key: sessionPrefix + rec.ID, Value: about, Expires: expires, Durable: true})
		return err
	}}
	// What is the same is written again only to be kept longer.
	fresh := state != nil && (sum != b.written || b.expires.Before(rec.Deadline.Add(unclaimed/2)))
	if fresh {
		both = append(both, func() error {
			return r.sealed.Put(ctx, persistence.Item{
				Key: statePrefix + rec.ID, Account: rec.Account, Value: state, Expires: expires, Durable: true,
			})
		})
	}
	if err := together(both, func(f func() error) error { return f() }); err != nil {
		return fmt.Errorf("keep session: %w", err)
	}
	if fresh {
		b.written, b.expires = sum, expires
	}
	for state != nil && len(b.stale) > 0 {
		if err := r.eraseSession(ctx, b.stale[0]); err != nil {
			return err
		}
		b.stale = b.stale[1:]
	}
	return nil
}

// rename says that what is written from now on replaces what was kept under an
// earlier identifier.
func (b *sessionBook) rename(from string) {
	b.then(func(context.Context) error {
		b.stale = append(b.stale, from)
		return nil
	}, nil)
}

// erase removes the session from the disk.
func (b *sessionBook) erase(id string, over func(error)) {
	b.then(func(ctx context.Context) error {
		errs := []error{b.node.records.eraseSession(ctx, id)}
		for _, old := range b.stale {
			errs = append(errs, b.node.records.eraseSession(ctx, old))
		}
		return errors.Join(errs...)
	}, over)
}

func (r *records) eraseSession(ctx context.Context, id string) error {
	return errors.Join(r.store.Delete(ctx, sessionPrefix+id, nil, true), r.sealed.Delete(ctx, statePrefix+id, true))
}

// readState reads the state of a session. One that never was saved has none.
func (r *records) readState(ctx context.Context, id string) (sessionState, error) {
	s := sessionState{Cache: engine.NewCache()}
	err := readJSON(ctx, r.sealed, statePrefix+id, &s)
	if errors.Is(err, persistence.ErrNotFound) {
		return s, nil
	}
	return s, err
}
