package store

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Changes come from one of the nodes that keep a copy. This node's own copy is the best
// source: nothing goes from node to node for it, and no other node's end interrupts it. The
// engine chooses the node of a consumer by chance, so it takes some tries.

const (
	// homeTries bounds the consumers that are created until one is on this node: with three
	// copies one of 600 starts finds none.
	homeTries = 16
	// homeTime bounds the time of these tries.
	homeTime = time.Second
	// homeWait is how long the own copy may take to have what has come by already.
	homeWait = 200 * time.Millisecond
	// homeAfter is how long another node is the source before the own copy is tried again.
	homeAfter = time.Minute
)

// source is where changes come from now.
type source struct {
	node  string
	since time.Time
	end   context.CancelFunc
}

// servedBy is the node that serves a consumer; empty: there is one node.
func servedBy(c jetstream.Consumer) string {
	if cluster := c.CachedInfo().Cluster; cluster != nil {
		return cluster.Leader
	}
	return ""
}

// openConsumer creates a consumer, at this node if its own copy has every change up to one.
func (s *Store) openConsumer(ctx context.Context, cfg jetstream.ConsumerConfig, has uint64) (jetstream.Consumer, error) {
	tries, began := 1, time.Now()
	if s.ownCopyHas(ctx, has) {
		tries = homeTries
	}
	for ; ; tries-- {
		opening, cancel := context.WithTimeout(ctx, tryTimeout)
		consumer, err := s.js.CreateConsumer(opening, RecordStream, cfg)
		cancel()
		if err != nil {
			return nil, err
		}
		if at := servedBy(consumer); at == s.member.Name() || at == "" || tries <= 1 || time.Since(began) > homeTime {
			return consumer, nil
		}
		s.done.Go(func() { s.drop(consumer) })
	}
}

// drop removes a consumer. One that cannot be removed ends by itself.
func (s *Store) drop(consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(s.ctx, tryTimeout)
	defer cancel()
	if s.js.Conn().IsConnected() && ctx.Err() == nil {
		_ = s.js.DeleteConsumer(ctx, RecordStream, consumer.CachedInfo().Name)
	}
}

// ownCopyHas reports whether this node keeps a copy that may serve changes, and that has
// every change up to one, or has it soon.
func (s *Store) ownCopyHas(ctx context.Context, seq uint64) bool {
	s.mu.Lock()
	avoided := s.avoided == s.member.Name()
	s.mu.Unlock()
	if avoided {
		return false
	}
	for end := time.Now().Add(homeWait); ctx.Err() == nil; pause(ctx, homeWait/20) {
		last, keeps := s.member.LastChanges()[RecordStream]
		if !keeps || last < seq && time.Now().After(end) {
			return false
		}
		if last >= seq {
			return true
		}
	}
	return false
}

// switchSource drops the node that changes come from, because it is behind, and takes
// another one. A node whose disk is full, for example, still serves what it has.
func (s *Store) switchSource() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source.end != nil {
		s.avoided = s.source.node
		s.source.end()
	}
}

// comeHome takes changes from this node's own copy again, after it was behind or avoided for
// a while and is current now.
func (s *Store) comeHome(self string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source.end == nil || s.source.node == "" || s.source.node == self || time.Since(s.source.since) < homeAfter {
		return
	}
	if s.avoided == self {
		s.avoided = ""
	}
	s.source.since = time.Now() // one that does not come about is not tried at once again
	s.source.end()
}

// setSource notes the source of changes, unless that is to be avoided.
func (s *Store) setSource(consumer jetstream.Consumer, end context.CancelFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.source = source{node: servedBy(consumer), since: time.Now(), end: end}
	if s.source.node != "" && s.source.node == s.avoided {
		return errSourceBehind
	}
	return nil
}
