package persistence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// change changes a day's count until the lease is as it is to be.
func (s *quotaLeases) change(k leaseKey, e *dayLease) {
	read := false // since the last change
	for {
		s.mu.Lock()
		now := time.Now()
		e.serve(now)
		n, waited := e.need(now, s.nodes()), slices.Clone(e.waiting)
		switch {
		case n == 0 && len(waited) == 0:
			s.endChange(k, e, now)
			s.mu.Unlock()
			return
		case n == 0 && read && (e.over == e.known.revision || now.Sub(waited[0].since) >= leaseWait):
			e.over = e.known.revision
			e.answer(waited, nil)
			s.mu.Unlock()
			continue
		case n < 0: // nobody uses it from now on
			e.held += n
		}
		from := e.known
		e.writing, e.later = n != 0, known{}
		s.mu.Unlock()

		if n == 0 && read { // others may give back what they do not need
			time.Sleep(leasePause)
		}
		var err error
		if n != 0 {
			err = s.write(k, e, from, n)
			read = false
		}
		if n == 0 || errors.Is(err, ErrConflict) {
			err = s.read(k, e)
			read = err == nil
		}
		if err != nil {
			s.mu.Lock()
			e.answer(waited, err)
			more := len(e.waiting) > 0
			if !more {
				s.endChange(k, e, now)
			}
			s.mu.Unlock()
			if !more {
				return
			}
		}
	}
}

// endChange ends the changing of a lease. The caller holds the lock.
func (s *quotaLeases) endChange(k leaseKey, e *dayLease, now time.Time) {
	e.changing = false
	s.retire(k, e, now)
	close(s.changed)
	s.changed = make(chan struct{})
}

// serve gives what is held to those who wait.
func (e *dayLease) serve(now time.Time) {
	for len(e.waiting) > 0 && e.known.total <= e.limit && e.use(now) {
		w := e.waiting[0]
		e.waiting = e.waiting[1:]
		w.used, w.ok = e.known.total-e.held, true
		close(w.done)
	}
}

// answer turns away those of some who still wait.
func (e *dayLease) answer(some []*leaseWaiter, err error) {
	e.waiting = slices.DeleteFunc(e.waiting, func(w *leaseWaiter) bool {
		if !slices.Contains(some, w) {
			return false
		}
		w.used, w.err = e.known.total, err
		close(w.done)
		return true
	})
}

// write adds n to a day's count over the one that is known, and to the lease. It
// has added nothing where it gives [ErrConflict]. With any other error nobody
// knows, and what was to be taken or given back counts as used.
func (s *quotaLeases) write(k leaseKey, e *dayLease, from known, n int64) error {
	ctx, cancel := context.WithTimeout(s.base, storeTimeout)
	defer cancel()
	key, expires := usageKey(k.account, k.day)
	total := from.total + n
	revision, err := s.store.Put(ctx, Write{Key: key, Value: strconv.AppendInt(nil, total, 10), Expires: expires, If: &from.revision})
	s.mu.Lock()
	defer s.mu.Unlock()
	e.writing = false
	switch {
	case err == nil:
		e.held += max(n, 0)
		e.known = known{total, revision}
	case errors.Is(err, ErrConflict):
		e.held -= min(n, 0)
	}
	if e.later.revision > e.known.revision {
		e.known = e.later
	}
	if err != nil {
		return fmt.Errorf("lease part of %s: %w", key, err)
	}
	return nil
}

// read asks for a day's count.
func (s *quotaLeases) read(k leaseKey, e *dayLease) error {
	ctx, cancel := context.WithTimeout(s.base, storeTimeout)
	defer cancel()
	key, _ := usageKey(k.account, k.day)
	last, err := knownBy(s.store.Get(ctx, key))
	if err != nil {
		return fmt.Errorf("lease part of %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.known = last
	return nil
}

// follow reads what other nodes take and give back, until ctx ends. Begins is called each
// time when changes come from then on.
func (s *quotaLeases) follow(ctx context.Context, prefix string, begins func()) {
	for ctx.Err() == nil {
		events, err := s.store.Watch(ctx, prefix)
		if err == nil {
			begins()
			for e := range events {
				s.heard(e)
			}
		}
		select {
		case <-time.After(leaseRound):
		case <-ctx.Done():
		}
	}
}

// followDay is follow for one day of an account. What has changed before it began it reads.
func (s *quotaLeases) followDay(ctx context.Context, k leaseKey) {
	key, _ := usageKey(k.account, k.day)
	s.follow(ctx, key, func() {
		if r, err := s.store.Get(ctx, key); err == nil {
			s.heard(Event{Record: r})
		}
	})
}

func (s *quotaLeases) heard(event Event) {
	name := strings.TrimPrefix(event.Key, usagePrefix)
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return
	}
	at, err := time.Parse(time.DateOnly, name[i+1:])
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := leaseKey{name[:i], at}
	e := s.byKey[k]
	if e == nil {
		return
	}
	if event.Deleted { // the account was removed
		e.held, e.returning = 0, true
		return
	}
	last, err := knownBy(event.Record, nil)
	switch {
	case err != nil:
	case e.writing:
		e.later = last
	case last.revision > e.known.revision:
		e.known = last
		s.adjust(k, e, time.Now())
	}
}
