package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"troupe/cluster/member"
	"troupe/persistence"
)

const (
	RecordStream = "STORE"

	tryTimeout = 2 * time.Second
	retryPause = 250 * time.Millisecond

	// versions is how many changes of one key are stored at most, and tidyAfter
	// how long those are kept that a later one has replaced. A node that is
	// behind by more builds its copy anew.
	versions       = 1024
	tidyAfter      = 30 * time.Second
	maxOlder       = 64
	olderMostBytes = 64 << 10
	// repeats is how long a write may be repeated and count as one.
	repeats = 30 * time.Second
)

// Store keeps records on every node of a cluster, or on three of more. Each
// change is one message in a stream; a record's revision is where it stands
// there. A change that a majority has stored is never lost.
//
// Reads and writes go through the node that leads the stream. One that was just
// cut off may for a second and a half, until it knows, answer its own reads with
// what was true before; writes with a revision find that out.
type Store struct {
	member *member.Member
	js     jetstream.JetStream
	stream jetstream.Stream
	log    zerolog.Logger

	hub       persistence.Hub
	index     *index
	publisher *publisher

	groups   groups
	observer observer

	attached bool    // to another node: this one keeps nothing
	recent   *recent // of keys, on such a node
	view     hubView // of that other node

	mu       sync.Mutex
	counters map[string]*counter
	source   source
	avoided  string       // node that changes are not taken from
	received atomic.Int64 // messages that came by

	opened  time.Time
	pulse   atomic.Int64 // since then: when this process was last seen to run
	staleAt atomic.Int64 // since then: when it was last seen that it may be behind

	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup
}

// Open opens the store of the cluster, and creates a missing one. It
// waits for a majority until ctx ends. Hot are prefixes of keys whose values
// are kept in memory on this node, see [Store.Copy].
func Open(ctx context.Context, m *member.Member, hot ...string) (*Store, error) {
	if m.Attached() {
		return openAttached(ctx, m, hot)
	}
	js, err := jetstream.New(m.Conn())
	if err != nil {
		return nil, fmt.Errorf("open the store of the cluster: %w", err)
	}
	s := &Store{
		member: m, js: js, log: m.Log(), index: newIndex(hot),
		counters: map[string]*counter{}, opened: time.Now(),
	}
	if s.publisher, err = newPublisher(m.Conn()); err != nil {
		return nil, fmt.Errorf("open the store of the cluster: %w", err)
	}
	s.stream, err = openStream(ctx, m, js, jetstream.StreamConfig{
		Name: RecordStream, Subjects: []string{recordSubjects + ">", beatSubjects + "*"},
		Storage: jetstream.FileStorage, Replicas: m.Replicas(),
		MaxMsgsPerSubject: versions, Duplicates: repeats,
		AllowDirect: false, // a replica that is behind must not answer
	})
	if err != nil {
		return nil, fmt.Errorf("open the store of the cluster: %w", err)
	}
	s.groups.add(RecordStream, s.stream)
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.done.Go(func() { s.feed(s.ctx) })
	s.done.Go(func() { s.sweep(s.ctx) })
	s.done.Go(func() { s.checkFeed(s.ctx) })
	s.done.Go(func() { s.keepPulse(s.ctx) })
	s.done.Go(func() { s.observe(s.ctx) })
	if err := s.caughtUp(ctx, 0); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if m.Accepts() {
		if err := s.serveWorkers(s.ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.done.Go(func() { s.tellWorkers(s.ctx) })
	}
	return s, nil
}

// patience is how long the store waits for a majority.
func (s *Store) patience() time.Duration { return s.member.Patience() }

// enter reports why the store may not be used.
func (s *Store) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.ctx.Err() != nil {
		return persistence.ErrClosed
	}
	return nil
}

// Sync implements [persistence.Store]. Every acknowledged write is on the disks
// of a majority already, unless the cluster was told not to wait for that.
func (s *Store) Sync(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if s.attached {
		return nil
	}
	_, err := s.beat(ctx)
	return err
}

// Close lets go of the store; the cluster keeps it.
func (s *Store) Close() error {
	s.stop()
	s.done.Wait()
	s.hub.Close()
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

var _ persistence.Store = (*Store)(nil)
