package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"troupe/persistence"
)

const (
	storeStream = "STORE"

	// patience is how long a read or a write waits for a majority: the election
	// of a new leader takes up to nine seconds.
	patience   = 12 * time.Second
	tryTimeout = 2 * time.Second
	retryPause = 250 * time.Millisecond

	// versions is how many changes of one key are stored at most, and tidyAfter
	// how long those are kept that a later one has replaced. A node that is
	// behind by more builds its copy anew.
	versions       = 1024
	tidyAfter      = 30 * time.Second
	olderMost      = 64
	olderMostBytes = 64 << 10
	// repeats is how long a write may be repeated and count as one.
	repeats = 30 * time.Second
)

// Store keeps records on every node of a cluster, or on three of more. Each
// change is one message in a stream; a record's revision is where it stands
// there. What a majority has stored is never taken back.
//
// Reads and writes go through the node that leads the stream. One that was cut
// off or frozen may for a moment answer reads with what was true before; writes
// with a revision find that out.
type Store struct {
	member *Member
	js     jetstream.JetStream
	stream jetstream.Stream
	log    zerolog.Logger

	hub   persistence.Hub
	index *index

	mu       sync.Mutex
	counters map[string]*counter
	roused   chan struct{}
	current  atomic.Int64 // when the index was last known to miss nothing

	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup
}

// OpenStore opens the store of the cluster, and makes it if there is none. It
// waits for a majority until ctx ends. Hot are prefixes of keys whose values
// are kept in memory on this node, see [Store.Copy].
func OpenStore(ctx context.Context, m *Member, hot ...string) (*Store, error) {
	js, err := jetstream.New(m.Conn())
	if err != nil {
		return nil, fmt.Errorf("open the store of the cluster: %w", err)
	}
	s := &Store{
		member: m, js: js, log: m.cfg.Log, index: newIndex(hot),
		counters: map[string]*counter{}, roused: make(chan struct{}, 1),
	}
	s.stream, err = openStream(ctx, js, jetstream.StreamConfig{
		Name: storeStream, Subjects: []string{recordSubjects + ">", beatSubjects + "*"},
		Storage: jetstream.FileStorage, Replicas: m.replicas(),
		MaxMsgsPerSubject: versions, Duplicates: repeats,
		AllowDirect: false, // a replica that is behind must not answer
	})
	if err != nil {
		return nil, fmt.Errorf("open the store of the cluster: %w", err)
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.done.Go(func() { s.feed(s.ctx) })
	s.done.Go(func() { s.sweep(s.ctx) })
	s.done.Go(func() { s.look(s.ctx) })
	if err := s.caughtUp(ctx, 0); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// replicas is how many nodes keep what is stored.
func (m *Member) replicas() int { return min(m.Size(), 3) }

// openStream makes a stream on all nodes, however many of them do so at once.
func openStream(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	var last error
	for {
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		stream, err := js.CreateOrUpdateStream(try, cfg)
		cancel()
		if err == nil {
			return stream, nil
		}
		if ctx.Err() != nil {
			return nil, errors.Join(persistence.ErrNoQuorum, last, context.Cause(ctx))
		}
		last = err
		pause(ctx, retryPause)
	}
}

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
	if !c.there(time.Now()) {
		return persistence.Record{}, persistence.ErrNotFound
	}
	return persistence.Record{Key: key, Value: c.value, Revision: c.seq, Expires: c.expires}, nil
}

// there reports whether readers see the record. The zero value is none.
func (c *stored) there(now time.Time) bool {
	return c.seq > 0 && !c.deleted && (c.expires.IsZero() || now.Before(c.expires))
}

// last reads a key's last change from the leader.
func (s *Store) last(ctx context.Context, key string) (stored, error) {
	var c stored
	subject := subjectOf(key)
	err := s.untilAnswered(ctx, func(try context.Context) error {
		msg, err := s.stream.GetLastMsgForSubject(try, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			c = stored{key: key}
			return nil
		}
		if err == nil {
			c, err = storedAs(subject, msg.Header, msg.Data, msg.Sequence)
		}
		return err
	})
	if err != nil {
		return c, fmt.Errorf("read %q: %w", key, err)
	}
	return c, nil
}

// untilAnswered repeats a request while the cluster has no leader to answer it.
func (s *Store) untilAnswered(ctx context.Context, request func(context.Context) error) error {
	end := time.Now().Add(patience)
	for {
		try, cancel := context.WithDeadline(ctx, earlier(end, time.Now().Add(tryTimeout)))
		err := request(try)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case s.ctx.Err() != nil:
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

// fill reads the values that are not in memory, several at a time. What has
// been deleted meanwhile stays marked as not kept.
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

// Watch implements [persistence.Store].
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan persistence.Event, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	if err := s.upToDate(ctx); err != nil {
		return nil, fmt.Errorf("watch %q: %w", prefix, err)
	}
	return s.hub.Watch(ctx, prefix)
}

// upToDate waits until the index has everything that was stored before.
func (s *Store) upToDate(ctx context.Context) error {
	var seq uint64
	err := s.untilAnswered(ctx, func(try context.Context) error {
		info, err := s.stream.Info(try)
		if err == nil {
			seq = info.State.LastSeq
		}
		return err
	})
	if err != nil {
		return err
	}
	bound, cancel := context.WithTimeoutCause(ctx, patience, persistence.ErrNoQuorum)
	defer cancel()
	return s.caughtUp(bound, seq)
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

// Sync implements [persistence.Store]. Every acknowledged write is on the disks
// of a majority already, unless the cluster was told not to wait for that.
func (s *Store) Sync(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
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
