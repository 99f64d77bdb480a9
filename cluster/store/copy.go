package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"troupe/persistence"
)

// Copy is the part of the store that this node has in memory. It answers without other
// nodes, also without a majority, and may be behind.
type Copy struct{ store *Store }

// Copy gives the view of this node. Of keys below the hot prefixes it has all
// values, of others the small ones.
func (s *Store) Copy() Copy { return Copy{s} }

// Get returns the last known state of a record. It does not find a record whose value is
// not in memory, and finds none while the copy is being rebuilt.
func (c Copy) Get(key string) (persistence.Record, error) {
	e, known := c.store.index.last(key)
	if !known || !e.kept || !e.visible(time.Now()) {
		return persistence.Record{}, persistence.ErrNotFound
	}
	return e.record(key), nil
}

// List returns the records below a prefix whose values are in memory, in key
// order.
func (c Copy) List(prefix string) []persistence.Record {
	var list []persistence.Record
	for _, f := range c.store.index.list(prefix) {
		if f.kept {
			list = append(list, f.Record)
		}
	}
	slices.SortFunc(list, func(a, b persistence.Record) int { return strings.Compare(a.Key, b.Key) })
	return list
}

const (
	checkEvery = 500 * time.Millisecond
	// stuckAfter is how long changes that are known to be there may not come by,
	// with nothing else coming either, before they are asked for elsewhere.
	stuckAfter = time.Second
)

// checkFeed asks whether the index misses anything, whenever nothing has come by for a
// while.
func (s *Store) checkFeed(ctx context.Context) {
	stuck, came := 0, int64(-1)
	for ; ctx.Err() == nil; pause(ctx, checkEvery) {
		heard := s.received.Load()
		if stuck == 0 && heard != came {
			came = heard
			continue
		}
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		info, err := s.ask(try, RecordStream)
		cancel()
		if err != nil {
			continue
		}
		try, cancel = context.WithTimeout(ctx, stuckAfter)
		err = s.caughtUp(try, info.State.LastSeq)
		cancel()
		switch {
		case err == nil:
			stuck = 0
		case s.received.Load() == heard:
			s.switchSource()
			if stuck++; stuck%3 == 0 { // they may be gone: what comes after them shows it
				try, cancel = context.WithTimeout(ctx, tryTimeout)
				s.beat(try)
				cancel()
			}
		}
	}
}
