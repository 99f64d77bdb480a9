package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/persistence"
)

// followPeers follows the renewals of other nodes.
func (l *Leases) followPeers() {
	for l.ctx.Err() == nil {
		events, err := l.store.Watch(l.ctx, Prefix)
		if err == nil {
			var list []persistence.Record
			if list, err = l.store.List(l.ctx, Prefix); err == nil {
				for _, r := range list {
					l.see(r)
				}
			}
			for e := range events {
				l.see(e.Record)
			}
		}
		select {
		case <-l.ctx.Done():
		case <-time.After(l.Duration / 10):
		}
	}
}

func (l *Leases) see(r persistence.Record) {
	var rec Record
	if json.Unmarshal(r.Value, &rec) != nil { // a deletion has none
		return
	}
	l.seen(strings.TrimPrefix(r.Key, Prefix), rec, r.Revision)
}

func (l *Leases) seen(node string, rec Record, revision uint64) seenLease {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.others[node]
	if s == nil {
		s = &seenLease{since: l.now()}
		l.others[node] = s
	}
	if s.revision < revision {
		s.see(rec, revision, l.now())
		close(l.changed)
		l.changed = make(chan struct{})
	}
	return *s
}

// Others are the other nodes that have had a lease, with the revisions of their records, as
// far as this one has heard.
func (l *Leases) Others() map[string]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]uint64, len(l.others))
	for node, s := range l.others {
		all[node] = s.revision
	}
	return all
}

// WaitAndRevoke waits until the lease of another node is over, and revokes it:
// that node's sessions may be taken then. It returns [ErrRenewed] when the node renews
// it meanwhile, and [ErrHeld] when ctx ends first.
func (l *Leases) WaitAndRevoke(ctx context.Context, node string) error {
	counts := map[string]uint64{}
	for first := (seenLease{}); ; {
		rec, revision, err := l.read(ctx, node)
		if err != nil {
			return fmt.Errorf("read the lease of %s: %w", node, err)
		}
		s := l.seen(node, rec, revision)
		switch {
		case first.revision == 0:
			first = s
		case s.revision > first.revision && !s.record.Over:
			return ErrRenewed
		}
		l.mu.Lock()
		rest, news := s.remaining(l.now(), l.Duration), l.changed
		l.mu.Unlock()
		carried := !s.record.Over && len(s.record.Keepers) > 0
		if carried {
			asked, err := l.askKeepers(ctx, node, s, rest > 0, counts)
			if err != nil {
				return err
			}
			rest = max(rest, asked)
		}
		if rest == 0 {
			// Written even where it is over: what was read may be out of date, and
			// that a majority has stored is not.
			over := s.end(node)
			revision, err = l.write(ctx, over, s.revision)
			if err == nil {
				l.seen(node, over, revision)
				return nil
			}
			if !errors.Is(err, persistence.ErrConflict) {
				return fmt.Errorf("end the lease of %s: %w", node, err)
			}
			rest = time.Millisecond
		}
		if l.workerNode || carried { // nobody tells it of a renewal
			rest = min(rest, l.Duration/10)
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-news:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ErrHeld
		}
	}
}
