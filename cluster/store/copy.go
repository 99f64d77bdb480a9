package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

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
		info, err := s.stream.Info(try)
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

// Lags returns the leader of the store, and how many changes of records and files the
// copy of each node is behind it. For a node that is down, it is the last known number.
func (s *Store) Lags(ctx context.Context) (leader string, behind map[string]int64, err error) {
	behind = map[string]int64{}
	for _, name := range []string{RecordStream, FileStream} {
		stream, err := s.js.Stream(ctx, name)
		if name == FileStream && errors.Is(err, jetstream.ErrStreamNotFound) { // files are elsewhere
			continue
		}
		if err != nil {
			return "", nil, fmt.Errorf("ask who leads the store: %w", err)
		}
		c := stream.CachedInfo().Cluster
		if c == nil { // there is one node
			return s.member.Name(), map[string]int64{s.member.Name(): 0}, nil
		}
		if name == RecordStream {
			leader = c.Leader
		}
		if c.Leader != "" {
			behind[c.Leader] += 0
		}
		for _, r := range c.Replicas {
			behind[r.Name] += int64(r.Lag)
		}
	}
	return leader, behind, nil
}
