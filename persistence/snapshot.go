package persistence

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Snapshot is what a store had at one moment, while changes go on. Close it soon: the
// store keeps until then what was changed since.
type Snapshot interface {
	// Revision is such that every record that is changed later has a higher one.
	Revision() uint64
	// Each hands over all records in key order. Its values must not be kept nor changed.
	Each(ctx context.Context, each func(Record) error) error
	Close()
}

// Snapshotter is a [Store] that can show what it had at one moment.
type Snapshotter interface {
	Snapshot(ctx context.Context) (Snapshot, error)
}

// KindOf is the kind of a record: the word that its key begins with.
func KindOf(key string) string { return kindOf(key) }

// Snapshot implements [Snapshotter]. A view of the last transaction serves it: writers go
// on, and Badger keeps what the view sees.
func (b *Badger) Snapshot(context.Context) (Snapshot, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return nil, ErrClosed
	}
	v, done := b.views.hold()
	if v == nil {
		return nil, ErrUnwritable
	}
	b.snapshots.Add(1)
	s := &badgerSnapshot{b: b, txn: v.txn, at: time.Now(), done: done}
	err := s.measure()
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("take a snapshot of the store: %w", err)
	}
	return s, nil
}

type badgerSnapshot struct {
	b      *Badger
	txn    *badger.Txn
	at     time.Time
	newest uint64
	done   func()
}

func (s *badgerSnapshot) Revision() uint64 { return s.newest }

func (s *badgerSnapshot) Close() {
	if s.done != nil {
		s.done()
		s.done = nil
		s.b.snapshots.Done()
	}
}

// measure finds the highest revision: all later changes have a higher one.
func (s *badgerSnapshot) measure() error {
	return s.each(context.Background(), func(_ *badger.Item, cur current) error {
		s.newest = max(s.newest, cur.revision)
		return nil
	})
}

func (s *badgerSnapshot) Each(ctx context.Context, each func(Record) error) error {
	return s.each(ctx, func(item *badger.Item, cur current) error {
		return each(Record{Key: string(item.Key()[len(recordPrefix):]), Value: cur.value, Revision: cur.revision, Expires: unstamp(cur.expires)})
	})
}

// each hands over what had not expired when the snapshot was taken.
func (s *badgerSnapshot) each(ctx context.Context, each func(*badger.Item, current) error) error {
	o := badger.DefaultIteratorOptions
	o.PrefetchValues = false // values are in the tables, beside their keys
	o.Prefix = keyOf("")
	it := s.txn.NewIterator(o)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		item := it.Item()
		err := item.Value(func(raw []byte) error {
			cur, err := decode(raw)
			if err != nil {
				return fmt.Errorf("read %q: %w", strings.TrimPrefix(string(item.Key()), recordPrefix), err)
			}
			if expired(cur.expires, s.at) {
				return nil
			}
			return each(item, cur)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
