package lease

import (
	"context"
	"slices"
	"sync"
	"time"
)

// minKeepers is how many nodes have to keep the store for their promises to carry leases:
// of fewer, a single one that is away would be missed.
const minKeepers = 3

// electors are the keepers that the next record of the lease names. The caller holds the
// lock.
func (l *Leases) electors() []string {
	if l.keepers == nil || l.ask == nil {
		return nil
	}
	all := l.keepers()
	if all == nil { // nobody knows now
		return l.own.last.Keepers
	}
	if len(all) < minKeepers {
		return nil
	}
	return all
}

// Stamp is what the node answers to a ping; empty: nothing.
func (l *Leases) Stamp() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.own.stamp(l.now())
	if !ok || l.ctx.Err() != nil {
		return ""
	}
	return s.String()
}

// Promise answers the stamp of another node. If it makes a promise, the stamp has to be
// told to that node.
func (l *Leases) Promise(node, stamp string) bool {
	if l == nil || l.workerNode || node == l.own.node {
		return false
	}
	s, ok := readStamp(stamp)
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.others[node]
	if !ok || seen == nil || l.promises.after == 0 || l.ctx.Err() != nil {
		return false
	}
	for _, other := range l.others {
		if other.revision > 0 && !other.record.Over && !other.record.Asks {
			return false // it may end a lease without asking
		}
	}
	return l.promises.give(node, s, *seen, l.now(), l.Duration)
}

// Promised takes over a keeper's promise.
func (l *Leases) Promised(keeper, stamp string) {
	if l == nil {
		return
	}
	s, ok := readStamp(stamp)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil || l.expiry == nil {
		return
	}
	l.own.promised(keeper, s, l.now())
	l.expiry.Reset(max(l.own.until-l.now(), 0))
}

// Agree is asked whether this node helps to end the lease of a node, by the revision of its
// record. Look: it is only asked for the count of its promises.
func (l *Leases) Agree(node string, revision uint64, look bool) Ends {
	if l == nil || l.workerNode {
		return Ends{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if look {
		return Ends{Count: l.promises.of(node).count}
	}
	if l.promises.after == 0 { // it has only begun
		return Ends{Rest: l.Duration / 10}
	}
	if node != l.own.node {
		newest := uint64(0)
		if seen := l.others[node]; seen != nil {
			newest = seen.revision
		}
		return l.promises.agree(node, revision, newest, now, l.Duration)
	}
	if l.own.holds(now) {
		return Ends{Rest: l.own.until - now}
	}
	e := l.promises.agree(node, revision, l.own.revision, now, l.Duration)
	if e.OK {
		l.own.resign(revision)
	}
	return e
}

// askWithin bounds the question to one keeper.
const askWithin = 2 * time.Second

// askKeepers asks the keepers of another node's lease to agree to its end. They do where
// rest is zero; else it is when to ask again. Counts are those of the question before: a
// keeper that has made a promise since then has seen the owner. Look asks for no more.
func (l *Leases) askKeepers(ctx context.Context, node string, s seenLease, look bool, counts map[string]uint64) (rest time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, min(askWithin, l.Duration/2))
	defer cancel()
	keepers := s.record.Keepers
	all := make([]Ends, len(keepers))
	var asked sync.WaitGroup
	for i, keeper := range keepers {
		asked.Go(func() {
			all[i] = Ends{Rest: l.Duration / 10}
			if keeper == l.own.node {
				all[i] = l.Agree(node, s.revision, look)
			} else if l.ask == nil {
				return
			} else if e, err := l.ask(ctx, keeper, node, s.revision, look); err == nil {
				all[i] = e
			}
		})
	}
	asked.Wait()
	rests := make([]time.Duration, len(keepers))
	for i, keeper := range keepers {
		if !all[i].OK {
			rests[i] = max(all[i].Rest, time.Millisecond)
		}
		if before, known := counts[keeper]; known && all[i].Count > before {
			return 0, ErrRenewed
		}
		if all[i].Count > 0 {
			counts[keeper] = all[i].Count
		}
	}
	if look {
		return 0, nil
	}
	slices.Sort(rests)
	return min(rests[majority(keepers)-1], l.Duration/10), nil
}
