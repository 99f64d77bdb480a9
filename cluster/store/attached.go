package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"troupe/cluster/member"
	"troupe/persistence"
)

// A worker node keeps no copy and gets no changes but those of hot keys. It writes as
// every node does: a change is a message for the leader, which the node passes on that
// it is connected to. So are reads of one record. Lists, keys and counters it asks of a
// node that keeps the store (a keeper): see keepers.go. Decision 0035 has the reasons.

// openAttached opens the store on a worker node, once it is there.
func openAttached(ctx context.Context, m *member.Member, hot []string) (*Store, error) {
	js, err := jetstream.New(m.Conn())
	if err != nil {
		return nil, fmt.Errorf("open the store of the cluster: %w", err)
	}
	s := &Store{
		member: m, js: js, log: m.Log(), index: newIndex(hot), recent: newRecent(), attached: true,
		counters: map[string]*counter{}, opened: time.Now(),
	}
	if s.publisher, err = newPublisher(m.Conn()); err != nil {
		return nil, fmt.Errorf("open the store of the cluster: %w", err)
	}
	if s.stream, err = findStream(ctx, m, js, RecordStream); err != nil {
		return nil, fmt.Errorf("open the store of the cluster: %w", err)
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.done.Go(func() { s.followHub(s.ctx) })
	s.done.Go(func() { s.feedHot(s.ctx, hot) })
	if err := s.caughtUp(ctx, 0); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// findStream finds a stream that the keepers have made, and waits for it until ctx ends.
func findStream(ctx context.Context, m *member.Member, js jetstream.JetStream, name string) (jetstream.Stream, error) {
	log := m.Log()
	for said := (time.Time{}); ; {
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		stream, err := js.Stream(try, name)
		cancel()
		if err == nil {
			return stream, nil
		}
		const why = "the start waits for the nodes that keep the store: none answers that has a majority"
		if ctx.Err() != nil {
			return nil, errors.Join(persistence.ErrNoQuorum, errors.New(why), err, context.Cause(ctx))
		}
		if time.Since(said) >= sayAgain {
			said = time.Now()
			log.Warn().Err(err).Str("connected", m.Hub()).Msg(why)
		}
		pause(ctx, retryPause)
	}
}

// below is the filter of a consumer for keys that begin with a prefix. It may let others
// through: those of the same parts.
func below(prefix string) string {
	i := strings.LastIndexByte(prefix, '/')
	if i < 0 {
		return recordSubjects + ">"
	}
	return RecordSubject(prefix[:i]) + ".>"
}

// feedHot keeps the hot records in memory, until ctx ends. What it has missed while it
// was cut off nobody tells it, so it begins anew then.
func (s *Store) feedHot(ctx context.Context, hot []string) {
	var filters []string
	for _, prefix := range hot {
		filters = append(filters, below(prefix))
	}
	for ctx.Err() == nil {
		s.index.reset()
		s.hub.CloseAll()
		if len(filters) == 0 {
			s.index.advance(0, true)
			<-ctx.Done()
			return
		}
		err := s.consumeOnly(ctx, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubjects: filters},
			func() { s.index.advance(s.index.at(), true) },
			func(c change, live bool) error {
				if event, told := s.index.apply(c); told && live {
					s.hub.Publish([]persistence.Event{event})
				}
				s.index.advance(max(c.seq, s.index.at()), live)
				return nil
			})
		if err != nil && ctx.Err() == nil {
			s.log.Debug().Err(err).Msg("the hot records are read again")
		}
		pause(ctx, retryPause/5)
	}
}

// consumeOnly takes changes in until one may be missing, or ctx ends. Whole is called
// once everything has come that was there before.
func (s *Store) consumeOnly(ctx context.Context, cfg jetstream.ConsumerConfig, whole func(), take func(c change, live bool) error) error {
	cfg.AckPolicy, cfg.MemoryStorage, cfg.Replicas, cfg.InactiveThreshold = jetstream.AckNonePolicy, true, 1, 10*time.Second
	opening, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	consumer, err := s.js.CreateConsumer(opening, RecordStream, cfg)
	if err != nil {
		pause(ctx, retryPause)
		return fmt.Errorf("follow changes: %w", err)
	}
	following, end := context.WithCancel(ctx)
	defer func() {
		end()
		ending, cancel := context.WithTimeout(context.Background(), tryTimeout)
		defer cancel()
		if s.js.Conn().IsConnected() {
			s.js.DeleteConsumer(ending, RecordStream, consumer.CachedInfo().Name)
		}
	}()
	if err := s.setSource(consumer, end); err != nil {
		return err
	}
	if err := s.reaches(following, consumer.CachedInfo().Name); err != nil {
		return err
	}
	it, err := consumer.Messages(jetstream.PullMaxMessages(64), jetstream.PullExpiry(idleFor), jetstream.PullHeartbeat(idleFor/3))
	if err != nil {
		return fmt.Errorf("follow changes: %w", err)
	}
	defer it.Stop()
	defer context.AfterFunc(following, it.Stop)()
	live := consumer.CachedInfo().NumPending == 0
	if live {
		whole()
	}
	for n := uint64(1); ; n++ {
		msg, err := it.Next()
		if err != nil {
			return fmt.Errorf("follow changes: %w", err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Consumer != n {
			return errGap
		}
		c, err := parseChange(msg.Subject(), msg.Headers(), msg.Data(), meta.Sequence.Stream)
		if err != nil {
			s.log.Error().Err(err).Str("subject", msg.Subject()).Msg("a record of the store cannot be read")
		} else if err := take(c, live); err != nil {
			return err
		}
		if !live && meta.NumPending == 0 {
			live = true
			whole()
		}
	}
}

// reaches waits until pulls arrive at a new consumer: the node that this one is connected to
// may not know yet where it is. A pull that is lost would be missed only by its heartbeats.
func (s *Store) reaches(ctx context.Context, consumer string) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	for patience := pullTry; ; {
		try, cancel := context.WithTimeout(ctx, patience)
		_, err := s.js.Conn().RequestWithContext(try, "$JS.API.CONSUMER.MSG.NEXT."+RecordStream+"."+consumer, []byte("{?")) // no pull: it is refused
		slow := try.Err() != nil
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", errUnreached, err)
		}
		if slow { // a busy node may take longer each time
			patience *= 2
		}
		pause(ctx, pullTry/20)
	}
}

// errUnreached says that nothing of a consumer was taken in yet: another one may be reached.
var errUnreached = errors.New("follow changes: nobody takes pulls")

// A watcher tries so many consumers, each for so long: one that is where nobody answers any
// more is never reached.
const (
	watchTries   = 2
	reachTimeout = 5 * time.Second
)

// pullTry bounds the first wait for the answer of a consumer.
const pullTry = 200 * time.Millisecond

// idleFor is how long a pull of a worker node waits. A third of it passes before a silent
// source is noticed twice: changes of hot records are rare, and nobody waits for them.
const idleFor = 30 * time.Second

// watchOnly follows the keys of one prefix that are not hot. Each such watcher of a
// worker node has its own source, from the leader's newest change on: the node that serves
// it may be a little behind.
func (s *Store) watchOnly(ctx context.Context, prefix string) (<-chan persistence.Event, error) {
	one := &persistence.Hub{}
	events, err := one.Watch(ctx, prefix)
	if err != nil {
		return nil, err
	}
	watching := make(chan error, 1)
	s.done.Go(func() {
		defer one.Close()
		both, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		last, err := s.lastOfLeader(both)
		if err == nil {
			cfg := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: last + 1, FilterSubject: below(prefix)}
			for try := 1; try == 1 || errors.Is(err, errUnreached) && try <= watchTries; try++ {
				err = s.consumeOnly(both, cfg, func() { watching <- nil }, func(c change, _ bool) error {
					if strings.HasPrefix(c.key, prefix) {
						one.Publish([]persistence.Event{c.event()})
					}
					return nil
				})
			}
		}
		select {
		case watching <- err:
		default:
		}
	})
	select {
	case err := <-watching:
		if err != nil {
			return nil, fmt.Errorf("watch %q: %w: %w", prefix, persistence.ErrNoQuorum, err)
		}
		return events, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-s.ctx.Done():
		return nil, persistence.ErrClosed
	}
}

// lastOfLeader asks the leader for the store's newest revision.
func (s *Store) lastOfLeader(ctx context.Context) (uint64, error) {
	asking, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	stream, err := s.js.Stream(asking, RecordStream)
	if err != nil {
		pause(ctx, retryPause)
		return 0, fmt.Errorf("ask for the newest change: %w", err)
	}
	return stream.CachedInfo().State.LastSeq, nil
}

// event is what watchers get of a change.
func (c *change) event() persistence.Event {
	e := persistence.Event{Record: persistence.Record{Key: c.key, Revision: c.seq}, Deleted: c.deleted}
	if !c.deleted {
		e.Value, e.Expires = c.value, c.expires
	}
	return e
}

// isHot reports whether all keys of a prefix are in memory.
func (s *Store) isHot(prefix string) bool {
	return slices.ContainsFunc(s.index.hot, func(hot string) bool { return strings.HasPrefix(prefix, hot) })
}
