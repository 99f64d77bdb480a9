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

// Get implements [persistence.Store].
func (s *Store) Get(ctx context.Context, key string) (persistence.Record, error) {
	if err := s.enter(ctx); err != nil {
		return persistence.Record{}, err
	}
	if persistence.CheckKey(key) != nil {
		return persistence.Record{}, persistence.ErrNotFound
	}
	c, err := s.last(ctx, key)
	if err != nil {
		return persistence.Record{}, err
	}
	if !c.visible(time.Now()) {
		return persistence.Record{}, persistence.ErrNotFound
	}
	return persistence.Record{Key: key, Value: c.value, Revision: c.seq, Expires: c.expires}, nil
}

// visible reports whether readers see the record. The zero value is none.
func (c *change) visible(now time.Time) bool {
	return c.seq > 0 && !c.deleted && (c.expires.IsZero() || now.Before(c.expires))
}

// last reads a key's last change from the leader.
func (s *Store) last(ctx context.Context, key string) (change, error) {
	for end := time.Now().Add(s.patience()); ; {
		c, err := s.read(ctx, key)
		if err == nil && (s.maybeStale() || s.isBehind(c)) {
			err = s.confirm(ctx, c)
			if errors.Is(err, errStale) && time.Now().Before(end) {
				pause(ctx, 10*time.Millisecond)
				continue
			}
			if errors.Is(err, errStale) {
				err = fmt.Errorf("%w: %w", persistence.ErrNoQuorum, err)
			}
		}
		if err != nil {
			return c, fmt.Errorf("read %q: %w", key, err)
		}
		if s.attached {
			s.recent.note(c)
		}
		return c, nil
	}
}

// isBehind reports whether a change that was read is older than one that this node has
// heard of: a leader that has just been elected may not have caught up.
func (s *Store) isBehind(c change) bool {
	e, known := s.known(c.key)
	return known && e.live && e.seq > c.seq
}

// read asks the node that believes to be the leader.
func (s *Store) read(ctx context.Context, key string) (change, error) {
	var c change
	subject := RecordSubject(key)
	err := s.untilAnswered(ctx, func(try context.Context) error {
		msg, err := s.stream.GetLastMsgForSubject(try, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			c = change{key: key}
			return nil
		}
		if err == nil {
			c, err = parseChange(subject, msg.Header, msg.Data, msg.Sequence)
		}
		return err
	})
	return c, err
}

// untilAnswered repeats a request while the cluster has no leader to answer it.
func (s *Store) untilAnswered(ctx context.Context, request func(context.Context) error) error {
	end := time.Now().Add(s.patience())
	for {
		try, cancel := context.WithDeadline(ctx, earlier(end, time.Now().Add(tryTimeout)))
		err := request(try)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case s.ctx.Err() != nil, s.js.Conn().IsClosed():
			return persistence.ErrClosed
		case time.Now().Add(retryPause).After(end):
			return fmt.Errorf("%w: %w", persistence.ErrNoQuorum, err)
		}
		pause(ctx, retryPause)
	}
}

// List implements [persistence.Store].
func (s *Store) List(ctx context.Context, prefix string) ([]persistence.Record, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	if s.attached {
		return s.listAsked(ctx, prefix)
	}
	if err := s.upToDate(ctx); err != nil {
		return nil, fmt.Errorf("list %q: %w", prefix, err)
	}
	all := s.index.list(prefix)
	if err := s.fill(ctx, all); err != nil {
		return nil, fmt.Errorf("list %q: %w", prefix, err)
	}
	list := make([]persistence.Record, 0, len(all))
	for _, f := range all {
		if f.kept {
			list = append(list, f.Record)
		}
	}
	slices.SortFunc(list, func(a, b persistence.Record) int { return strings.Compare(a.Key, b.Key) })
	return list, nil
}

// fill reads the values that are not in memory, several at a time. Records that were
// deleted in the meantime stay marked as not kept.
func (s *Store) fill(ctx context.Context, all []found) error {
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
			r, err := s.Get(ctx, f.Key)
			switch {
			case err == nil:
				f.Record, f.kept = r, true
			case !errors.Is(err, persistence.ErrNotFound):
				cancel(err)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Keys implements [persistence.Store]. It answers from the index, or that of a keeper.
func (s *Store) Keys(ctx context.Context, prefix, after string, most int) ([]persistence.KeySize, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	if s.attached {
		return s.keysAsked(ctx, prefix, after, most)
	}
	if err := s.upToDate(ctx); err != nil {
		return nil, fmt.Errorf("list the keys of %q: %w", prefix, err)
	}
	return s.index.keys(prefix, after, most), nil
}

// Watch implements [persistence.Store].
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan persistence.Event, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	switch {
	case s.attached && !s.isHot(prefix):
		return s.watchOnly(ctx, prefix)
	case s.attached: // the hot records may be read anew just now
		bound, cancel := context.WithTimeoutCause(ctx, s.patience(), persistence.ErrNoQuorum)
		defer cancel()
		if err := s.caughtUp(bound, 0); err != nil {
			return nil, fmt.Errorf("watch %q: %w", prefix, err)
		}
		return s.hub.Watch(ctx, prefix)
	}
	if err := s.upToDate(ctx); err != nil {
		return nil, fmt.Errorf("watch %q: %w", prefix, err)
	}
	return s.hub.Watch(ctx, prefix)
}

// upToDate waits until the index has everything that was stored before.
func (s *Store) upToDate(ctx context.Context) error {
	var seq uint64
	var err error
	if s.maybeStale() {
		seq, err = s.beat(ctx)
	} else {
		seq, err = s.lastSeq(ctx)
	}
	if err != nil {
		return err
	}
	bound, cancel := context.WithTimeoutCause(ctx, s.patience(), persistence.ErrNoQuorum)
	defer cancel()
	return s.caughtUp(bound, seq)
}

// lastSeq asks the leader for the store's newest revision.
func (s *Store) lastSeq(ctx context.Context) (uint64, error) {
	var seq uint64
	err := s.untilAnswered(ctx, func(try context.Context) error {
		info, err := s.ask(try, RecordStream)
		if err == nil {
			seq = info.State.LastSeq
		}
		return err
	})
	return seq, err
}

// caughtUp waits until the index has a revision.
func (s *Store) caughtUp(ctx context.Context, seq uint64) error {
	for {
		reached, moved := s.index.reached(seq)
		if reached {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.ctx.Done():
			return persistence.ErrClosed
		}
	}
}
