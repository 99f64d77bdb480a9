package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"troupe/persistence"
)

// Snapshot implements [persistence.Snapshotter]. This node's index has the last change of
// every key up to one position of the stream, and most values. Other values are read from
// the stream by their positions. One that was replaced for so long that the stream has
// dropped it is not handed over as it was: the snapshot has the newer one then.
//
// It has no descriptions of files: those go with the files.
func (s *Store) Snapshot(ctx context.Context) (persistence.Snapshot, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	if s.attached {
		return nil, errors.New("take a snapshot: a worker node keeps no records: ask a node that does")
	}
	if err := s.upToDate(ctx); err != nil {
		return nil, fmt.Errorf("take a snapshot: %w", err)
	}
	all, at, ok := s.index.everything()
	if !ok {
		return nil, fmt.Errorf("take a snapshot: %w: this node's copy is being built anew", persistence.ErrNoQuorum)
	}
	slices.SortFunc(all, func(a, b found) int { return strings.Compare(a.Key, b.Key) })
	return &snapshot{s, all, at}, nil
}

// everything returns the records that readers see, in no order, and the position of the
// stream that they are of; false: the index is not complete.
func (x *index) everything() (all []found, at uint64, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	for part, shard := range x.shards {
		if part == FilePrefix {
			continue
		}
		for key, e := range shard {
			if e.visible(now) {
				all = append(all, found{persistence.Record{Key: key, Value: e.value, Revision: e.seq, Expires: e.expires}, e.kept})
			}
		}
	}
	return all, x.position, x.live
}

type snapshot struct {
	store *Store
	all   []found
	at    uint64
}

func (s *snapshot) Revision() uint64 { return s.at }

func (s *snapshot) Close() {}

// snapshotReads is how many values are read at a time.
const snapshotReads = 64

func (s *snapshot) Each(ctx context.Context, each func(persistence.Record) error) error {
	for rest := s.all; len(rest) > 0; {
		n, missing := 0, 0
		for n < len(rest) && missing < snapshotReads {
			if !rest[n].kept {
				missing++
			}
			n++
		}
		some := slices.Clone(rest[:n]) // large values are not kept
		rest = rest[n:]
		if err := s.store.fillAt(ctx, some); err != nil {
			return fmt.Errorf("read a snapshot: %w", err)
		}
		for _, f := range some {
			if !f.kept {
				continue // it was deleted since
			}
			if err := each(f.Record); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillAt reads the values that are not in memory, as they were at their positions.
func (s *Store) fillAt(ctx context.Context, all []found) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	places := make(chan struct{}, 16)
	for i := range all {
		f := &all[i]
		if f.kept {
			continue
		}
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			if err := s.fillOne(ctx, f); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (s *Store) fillOne(ctx context.Context, f *found) error {
	var c change
	err := s.untilAnswered(ctx, func(try context.Context) error {
		msg, err := s.stream.GetMsg(try, f.Revision)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			c = change{}
			return nil
		}
		if err == nil {
			c, err = parseChange(msg.Subject, msg.Header, msg.Data, msg.Sequence)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read %q: %w", f.Key, err)
	}
	if c.seq == f.Revision && c.key == f.Key {
		f.Value, f.kept = c.value, true
		return nil
	}
	r, err := s.Get(ctx, f.Key)
	switch {
	case err == nil:
		f.Record, f.kept = r, true
	case !errors.Is(err, persistence.ErrNotFound):
		return err
	}
	return nil
}

var _ persistence.Snapshotter = (*Store)(nil)
