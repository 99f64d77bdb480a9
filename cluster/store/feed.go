package store

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"troupe/persistence"
)

var (
	errGap          = errors.New("changes are missing")
	errInterrupted  = errors.New("interrupted while reading what is stored")
	errSourceBehind = errors.New("the node that would send the changes is behind")
)

// change is a stored change.
type change struct {
	key     string
	seq     uint64
	value   []byte
	deleted bool
	expires time.Time
	write   string // which write made it
}

// The headers of a change.
const (
	ExpiresHeader = "Troupe-Expires" // nanoseconds since the epoch
	DeletedHeader = "Troupe-Deleted"
	WriteHeader   = "Troupe-Write"
)

func parseChange(subject string, header nats.Header, value []byte, seq uint64) (change, error) {
	key, err := keyOf(subject)
	if err != nil {
		return change{}, err
	}
	c := change{key: key, seq: seq, value: value, deleted: header.Get(DeletedHeader) != "", write: header.Get(WriteHeader)}
	if text := header.Get(ExpiresHeader); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return change{}, err
		}
		c.expires = time.Unix(0, n).UTC()
	}
	return c, nil
}

// feed follows every change of the store until ctx ends, over the loss of nodes.
// A node that was away for so long that changes are gone builds its index anew.
func (s *Store) feed(ctx context.Context) {
	for ctx.Err() == nil {
		s.index.reset()
		s.hub.CloseAll()
		if err := s.follow(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn().Err(err).Msg("the copy of the store in memory is built anew")
			pause(ctx, retryPause)
		}
	}
}

// follow builds the index and keeps it up to date, until changes are missing.
//
// The node that serves the changes may be behind. When a beat arrives that was stored
// after the start, everything before it has arrived.
func (s *Store) follow(ctx context.Context) error {
	beat, err := s.beat(ctx)
	if err != nil {
		return err
	}
	cfg := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubject: ">"}
	for {
		err := s.consume(ctx, cfg, beat)
		if errors.Is(err, errSourceBehind) {
			continue
		}
		if err != nil || ctx.Err() != nil {
			return err
		}
		reached, _ := s.index.reached(beat)
		if !reached { // lost in the middle of building
			pause(ctx, retryPause)
			return errInterrupted
		}
		cfg = jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: s.index.at() + 1}
		pause(ctx, retryPause/5)
	}
}

// consume takes in what a consumer brings, until that falls silent.
func (s *Store) consume(ctx context.Context, cfg jetstream.ConsumerConfig, beat uint64) error {
	cfg.Description = "changes for " + s.member.Name()
	cfg.AckPolicy, cfg.MemoryStorage, cfg.Replicas, cfg.InactiveThreshold = jetstream.AckNonePolicy, true, 1, 10*time.Second
	consumer, err := s.openConsumer(ctx, cfg, max(beat, s.index.at()))
	if err != nil {
		pause(ctx, retryPause)
		return nil // again: there is no leader yet
	}
	following, end := context.WithCancel(ctx)
	defer s.drop(consumer)
	defer end()
	if err := s.setSource(consumer, end); err != nil {
		return err
	}
	// The bound is a number of messages: the engine leaves out the one at which
	// a bound of bytes is passed, and says nothing.
	it, err := consumer.Messages(jetstream.PullMaxMessages(64), jetstream.PullExpiry(5*time.Second), jetstream.PullHeartbeat(500*time.Millisecond))
	if err != nil {
		return nil
	}
	defer it.Stop()
	defer context.AfterFunc(following, it.Stop)()
	for n := uint64(1); ; n++ {
		msg, err := it.Next()
		if err != nil {
			return nil // the node that served it is gone or silent
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Consumer != n {
			return nil // a message was lost on the way
		}
		if err := s.take(msg, meta.Sequence.Stream, beat); err != nil {
			return err
		}
	}
}

// take takes one message in.
func (s *Store) take(msg jetstream.Msg, seq, beat uint64) error {
	s.received.Add(1)
	live, _ := s.index.reached(beat)
	if live && seq != s.index.at()+1 {
		return errGap
	}
	if !strings.HasPrefix(msg.Subject(), beatSubjects) {
		c, err := parseChange(msg.Subject(), msg.Headers(), msg.Data(), seq)
		if err != nil {
			s.log.Error().Err(err).Str("subject", msg.Subject()).Msg("a record of the store cannot be read")
		} else if event, told := s.index.apply(c); told && live {
			s.hub.Publish([]persistence.Event{event})
		}
	}
	if live || seq >= beat {
		s.index.advance(seq, true)
	}
	return nil
}
