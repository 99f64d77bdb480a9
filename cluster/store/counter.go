package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nuid"

	"troupe/persistence"
)

// counter gathers the additions of this node to one key. While one write is on
// its way the later ones add up, and become one write together: so nodes, not
// callers, compete for a counter, and every addition is decided by the total
// that it is part of.
type counter struct {
	waiting []*addition
	hurry   chan struct{} // has one: not all of them gather
}

// gatherAsked is how long additions of worker nodes add up after each write. They have
// added up at their nodes already; but the more nodes there are, the more of them come.
const gatherAsked = 200 * time.Millisecond

type addition struct {
	ctx     context.Context
	delta   int64
	limit   int64
	expires time.Time
	gathers bool // waits for others of worker nodes

	total int64
	ok    bool
	err   error
	done  chan struct{}
}

// Add implements [persistence.Store].
func (s *Store) Add(ctx context.Context, key string, delta, limit int64, expires time.Time) (int64, bool, error) {
	if err := s.enter(ctx); err != nil {
		return 0, false, err
	}
	if err := persistence.CheckKey(key); err != nil {
		return 0, false, err
	}
	if s.attached {
		return s.addAsked(ctx, AddQuestion{Key: []byte(key), Delta: delta, Limit: limit, Expires: expires})
	}
	return s.add(key, &addition{ctx: ctx, delta: delta, limit: limit, expires: expires})
}

// add waits until an addition is decided.
func (s *Store) add(key string, a *addition) (int64, bool, error) {
	ctx := a.ctx
	a.done = make(chan struct{})
	s.mu.Lock()
	c := s.counters[key]
	if c == nil {
		c = &counter{hurry: make(chan struct{}, 1)}
		s.counters[key] = c
		s.done.Go(func() { s.count(key, c) })
	}
	c.waiting = append(c.waiting, a)
	if !a.gathers {
		select {
		case c.hurry <- struct{}{}:
		default:
		}
	}
	s.mu.Unlock()
	select {
	case <-a.done:
		return a.total, a.ok, a.err
	case <-ctx.Done():
		return 0, false, context.Cause(ctx)
	}
}

// count does additions until none waits.
func (s *Store) count(key string, c *counter) {
	for {
		s.mu.Lock()
		all := c.waiting
		c.waiting = nil
		select {
		case <-c.hurry:
		default:
		}
		if len(all) == 0 {
			delete(s.counters, key)
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		var given []*addition
		for _, a := range all {
			if a.ctx.Err() == nil { // a caller that gave up has added nothing
				given = append(given, a)
				continue
			}
			close(a.done)
		}
		if err := s.addAll(key, given); err != nil {
			for _, a := range given {
				a.total, a.ok, a.err = 0, false, err
			}
		}
		for _, a := range given {
			close(a.done)
		}
		s.gather(c)
	}
}

// gather waits for further additions, until one comes that does not.
func (s *Store) gather(c *counter) {
	enough := time.NewTimer(gatherAsked)
	defer enough.Stop()
	select {
	case <-c.hurry:
	case <-enough.C:
	case <-s.ctx.Done():
	}
}

// addAll decides additions one after the other, and stores what they come to.
func (s *Store) addAll(key string, all []*addition) error {
	met, fresh := s.guess(key), false
	for end := time.Now().Add(s.patience()); ; {
		next, changes := decide(key, met, all)
		if !changes && fresh {
			return nil
		}
		if changes {
			next.write = nuid.Next()
			if _, err := s.store(s.ctx, next, &met.seq); !errors.Is(err, errMismatch) {
				return s.orClosed(err)
			}
		}
		read, err := s.last(s.ctx, key)
		switch {
		case err != nil:
			return s.orClosed(err)
		case changes && read.write == next.write: // a try without an answer
			return nil
		case changes && read.seq <= met.seq: // another change is on its way
			if time.Now().After(end) {
				return fmt.Errorf("add to %q: %w: %w", key, persistence.ErrNoQuorum, errMismatch)
			}
			pause(s.ctx, time.Millisecond+rand.N(3*time.Millisecond))
		}
		met, fresh = read, true
	}
}

// orClosed names the end of the store as the reason of what it has ended.
func (s *Store) orClosed(err error) error {
	if err != nil && s.ctx.Err() != nil {
		return persistence.ErrClosed
	}
	return err
}

// guess gives a counter as this node knows it; writing finds out whether that is
// so.
func (s *Store) guess(key string) change {
	e, known := s.index.last(key)
	if !known || e.live && !e.kept {
		return change{key: key}
	}
	return change{key: key, seq: e.seq, deleted: !e.live, value: e.value, expires: e.expires}
}

// decide applies additions to a counter. The total of each is what it is with
// those before it.
func decide(key string, met change, all []*addition) (next change, changes bool) {
	var value []byte
	if met.visible(time.Now()) {
		value = append([]byte{}, met.value...) // an empty value is no counter, and not none
	}
	next = change{key: key}
	for _, a := range all {
		sum, err := persistence.Sum(key, value, a.delta, a.limit)
		a.total, a.ok, a.err = sum.Total, sum.OK, err
		if err == nil && sum.Changes {
			value = strconv.AppendInt(nil, sum.Total, 10)
			next.value, next.expires, changes = value, a.expires, true
		}
	}
	return next, changes
}
