package persistence

import (
	"context"
	"errors"
	"time"
)

// Errors that every Store gives.
var (
	// ErrNotFound: there is no record with that key, or it has expired.
	ErrNotFound = errors.New("no such record")
	// ErrConflict: the record has another revision than the write wanted.
	ErrConflict = errors.New("the record has changed")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrTooLarge: the key is empty or longer than MaxKey, or the value is
	// longer than MaxValue and belongs in Files.
	ErrTooLarge = errors.New("the key or the value is too large for the store, or empty")
	// ErrNoQuorum: the nodes that share the store had no majority for as long as
	// a write may wait. A write that gives it may still take effect later.
	ErrNoQuorum = errors.New("the cluster has no majority")
)

// Patience is how long a replicated store waits for a majority before it returns
// [ErrNoQuorum]: electing a new leader takes up to nine seconds. Callers should
// allow more time than that, so that they get the store's answer.
const Patience = 12 * time.Second

// Bounds that every Store keeps to, in bytes.
const (
	MaxKey   = 1 << 10
	MaxValue = 1<<20 - 1<<10
)

// Record is one value with its key. Revision grows with each write of any key
// and is never used twice. A zero Expires never comes.
type Record struct {
	Key      string
	Value    []byte
	Revision uint64
	Expires  time.Time
}

// Write is a change to one record.
type Write struct {
	Key     string
	Value   []byte
	Expires time.Time
	// If bounds the write: nil writes whatever is there, a pointer to zero
	// only where there is no record, another number only over the record of
	// that revision. Otherwise the write fails with ErrConflict.
	If *uint64
	// Known is what the caller knows of the record that is there.
	Known Known
	// Durable waits until the write would survive a loss of power. Without it
	// the write survives the end of the process, and is synced soon after.
	Durable bool
}

// Known is what a caller knows of a record before an unconditional change of it. A store
// then need not look, which takes longer than the change.
type Known uint8

// What is known of a record. Whoever is wrong about it makes the counts of records wrong,
// which are for reports, and hides one deletion from watchers.
const (
	Unknown Known = iota
	Absent        // nothing has the key, or has had it lately
	Present       // a record has it that does not expire
)

// Event is a change that a watcher receives. A deletion or an expiry has Deleted
// set and no value.
type Event struct {
	Record
	Deleted bool
}

// KeySize is a key, and how many bytes the value of its record has. Of a store elsewhere it
// is not known when the record expires.
type KeySize struct {
	Key     string
	Size    int
	Expires time.Time
}

// Store keeps records. Keys are made of parts joined with "/", and a prefix is
// a string that keys begin with. Every method may be called from any
// goroutine. Values that are handed in or out may be kept and changed by the
// caller afterwards.
type Store interface {
	// Get returns a record, or ErrNotFound.
	Get(ctx context.Context, key string) (Record, error)
	// Put carries out a write and returns the record's new revision.
	Put(ctx context.Context, w Write) (uint64, error)
	// Delete removes a record. With a non-nil revision it does so only if the
	// record still has that revision, and returns ErrConflict otherwise. Deleting
	// a missing record is no error, unless a revision was given.
	Delete(ctx context.Context, key string, revision *uint64, durable bool) error
	// List returns the records whose keys begin with prefix, in key order.
	List(ctx context.Context, prefix string) ([]Record, error)
	// Keys returns the keys that begin with prefix and follow after in key order, up to
	// so many of them. An empty after is before all.
	Keys(ctx context.Context, prefix, after string, most int) ([]KeySize, error)
	// Watch sends every change of keys that begin with prefix, from the moment it
	// returns, in order, until ctx ends. A slow watcher loses the channel (it is
	// closed), never single events.
	Watch(ctx context.Context, prefix string) (<-chan Event, error)
	// Add adds delta to the counter at key and returns the new total. If that
	// would be above limit, it changes nothing and returns the current total and
	// false. A limit of zero or less is no limit. A total never goes below zero.
	// Expires is for the whole counter; the last Add sets it. A counter is a
	// record whose value is the total in decimal digits; adding to any other value
	// is an error.
	Add(ctx context.Context, key string, delta, limit int64, expires time.Time) (int64, bool, error)
	// Sync returns when everything written so far would survive a loss of
	// power.
	Sync(ctx context.Context) error
	// Close syncs what was written and ends the store.
	Close() error
}
