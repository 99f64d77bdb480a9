package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"troupe/persistence/clock"
)

// Records that have expired are deleted, and changes that nobody needs any more
// removed, by the node that leads the stream; where it does not get to it, by
// any other somewhat later. Deleting is bound to the revision, so that two who
// do it do it once.
const (
	sweepAtOnce = 64
	// sweepAtLeast is how long the sweep waits at most.
	sweepAtLeast = time.Minute
	standIn      = 3 * time.Second
)

// sweep does what is due until ctx ends.
func (s *Store) sweep(ctx context.Context) {
	for ctx.Err() == nil {
		all, next := s.index.take(time.Now(), sweepAtOnce)
		leads := s.Leads()
		var wg sync.WaitGroup
		for _, d := range all {
			switch {
			case leads:
				wg.Go(func() { s.do(ctx, d) })
			case d.tidy:
				s.index.forget(d.key, d.seq)
			case d.waited:
				wg.Go(func() { s.do(ctx, d) })
			default:
				d.at, d.waited = d.at.Add(standIn), true
				s.index.again(d)
			}
		}
		wg.Wait()
		timer := time.NewTimer(max(clock.Soon(time.Until(next)), time.Millisecond))
		select {
		case <-timer.C:
		case <-s.index.sooner:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// Leads reports whether this node leads the store.
func (s *Store) Leads() bool {
	return !s.attached && s.member.Size() == 1 || s.member.LeadsStream(RecordStream)
}

// do carries out what is due.
func (s *Store) do(ctx context.Context, d due) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	if !d.tidy {
		if _, err := s.store(ctx, change{key: d.key, deleted: true}, &d.seq); err != nil && !errors.Is(err, errMismatch) {
			d.at = time.Now().Add(standIn)
			s.index.again(d)
		}
		return
	}
	upTo := d.seq // not included
	e, known := s.index.last(d.key)
	if known && !e.live && e.seq == d.seq {
		upTo++ // a deletion goes too
	}
	if err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(RecordSubject(d.key)), jetstream.WithPurgeSequence(upTo)); err != nil {
		d.at = time.Now().Add(tidyAfter)
		s.index.again(d)
		return
	}
	s.index.forget(d.key, d.seq)
}
