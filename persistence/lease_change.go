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

// change changes a day's count until the share is as it is to be.
func (l *leases) change(k leased, e *lease) {
	read := false // since the last change
	for {
		l.mu.Lock()
		now := time.Now()
		e.serve(now)
		n, waited := e.need(now, l.Nodes), slices.Clone(e.waiting)
		switch {
		case n == 0 && len(waited) == 0:
			l.rest(k, e, now)
			l.mu.Unlock()
			return
		case n == 0 && read && (e.over == e.known.revision || now.Sub(waited[0].since) >= leaseWait):
			e.over = e.known.revision
			e.answer(waited, nil)
			l.mu.Unlock()
			continue
		case n < 0: // nobody uses it from now on
			e.held += n
		}
		from := e.known
		e.writing, e.later = n != 0, known{}
		l.mu.Unlock()

		if n == 0 && read { // others may give back what they do not need
			time.Sleep(leasePause)
		}
		var err error
		if n != 0 {
			err = l.write(k, e, from, n)
			read = false
		}
		if n == 0 || errors.Is(err, ErrConflict) {
			err = l.read(k, e)
			read = err == nil
		}
		if err != nil {
			l.mu.Lock()
			e.answer(waited, err)
			more := len(e.waiting) > 0
			if !more {
				l.rest(k, e, now)
			}
			l.mu.Unlock()
			if !more {
				return
			}
		}
	}
}

// rest ends the changing of a share. The caller holds the lock.
func (l *leases) rest(k leased, e *lease, now time.Time) {
	e.changing = false
	l.retire(k, e, now)
	close(l.calm)
	l.calm = make(chan struct{})
}

// serve gives what is held to those who wait.
func (e *lease) serve(now time.Time) {
	for len(e.waiting) > 0 && e.known.total <= e.limit && e.use(now) {
		w := e.waiting[0]
		e.waiting = e.waiting[1:]
		w.used, w.ok = e.known.total-e.held, true
		close(w.done)
	}
}

// answer turns away those of some who still wait.
func (e *lease) answer(some []*leaseTaker, err error) {
	e.waiting = slices.DeleteFunc(e.waiting, func(w *leaseTaker) bool {
		if !slices.Contains(some, w) {
			return false
		}
		w.used, w.err = e.known.total, err
		close(w.done)
		return true
	})
}

// write adds n to a day's count over the one that is known, and to the share. It
// has added nothing where it gives [ErrConflict]. With any other error nobody
// knows, and what was to be taken or given back counts as used.
func (l *leases) write(k leased, e *lease, from known, n int64) error {
	ctx, cancel := context.WithTimeout(l.base, storeTimeout)
	defer cancel()
	key, expires := usageKey(k.account, k.day)
	total := from.total + n
	revision, err := l.store.Put(ctx, Write{Key: key, Value: strconv.AppendInt(nil, total, 10), Expires: expires, If: &from.revision})
	l.mu.Lock()
	defer l.mu.Unlock()
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
		return fmt.Errorf("take a share of %s: %w", key, err)
	}
	return nil
}

// read asks for a day's count.
func (l *leases) read(k leased, e *lease) error {
	ctx, cancel := context.WithTimeout(l.base, storeTimeout)
	defer cancel()
	key, _ := usageKey(k.account, k.day)
	last, err := knownBy(l.store.Get(ctx, key))
	if err != nil {
		return fmt.Errorf("take a share of %s: %w", key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.known = last
	return nil
}

// follow hears of what other nodes take and give back, until the end.
func (l *leases) follow() {
	for l.base.Err() == nil {
		events, err := l.store.Watch(l.base, usagePrefix)
		if err == nil {
			for e := range events {
				l.heard(e)
			}
		}
		select {
		case <-time.After(leaseRound):
		case <-l.base.Done():
		}
	}
}

func (l *leases) heard(event Event) {
	name := strings.TrimPrefix(event.Key, usagePrefix)
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return
	}
	at, err := time.Parse(time.DateOnly, name[i+1:])
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := leased{name[:i], at}
	e := l.shares[k]
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
		l.tend(k, e, time.Now())
	}
}
