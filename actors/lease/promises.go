package lease

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// While a node is seen, its lease costs no writes. The nodes that keep the store ping it
// anyway, and each of its answers carries a stamp: the time of its own clock. With the
// next ping they promise to help nobody to end its lease, for a whole lease from when
// the stamp came. The owner counts from the stamp, for nine tenths of a lease. The
// lease's record names those nodes, its keepers. It goes on while a majority of them has
// promised, and is ended only once a majority has agreed: so at least one has done both.
//
// A keeper that has agreed to the end of a record promises nothing until it has seen a
// later one of that node. After a start it does not know its earlier promises. For one
// lease it agrees to no end, and it promises only for records that are newer than its
// start. An owner without a majority of promises renews its record.
//
// A node of an earlier release ends leases without asking. Its own record shows that, and
// while there is one nobody promises anything.

// Stamp is what an owner says with its answer to a ping, and hears again with a promise.
type Stamp struct {
	Boot  string
	Term  uint64
	At    time.Duration // by the owner's clock
	Lasts time.Duration
}

func (s Stamp) String() string {
	return fmt.Sprintf("%s %d %d %d", s.Boot, s.Term, s.At.Nanoseconds(), s.Lasts.Nanoseconds())
}

// readStamp reads a stamp; false: it is none.
func readStamp(text string) (s Stamp, ok bool) {
	n, err := fmt.Sscanf(text, "%s %d %d %d", &s.Boot, &s.Term, &s.At, &s.Lasts)
	return s, err == nil && n == 4
}

// promises are what a keeper has told owners and takers.
type promises struct {
	began time.Duration // when the process began
	after uint64        // the first record of its own lease: of earlier ones it knows nothing
	made  map[string]*promise
}

// promise is what it has told of one node's lease.
type promise struct {
	until time.Duration
	count uint64
	ended uint64 // the newest record that it has agreed to end
}

func (p *promises) of(node string) *promise {
	one := p.made[node]
	if one == nil {
		one = &promise{}
		if p.made == nil {
			p.made = map[string]*promise{}
		}
		p.made[node] = one
	}
	return one
}

// give makes a promise to a node whose newest known record is seen. False: it makes none.
func (p *promises) give(node string, s Stamp, seen seenLease, now, lasts time.Duration) bool {
	one := p.of(node)
	r := seen.record
	if seen.revision <= p.after || seen.revision <= one.ended || r.Over || r.Boot != s.Boot || r.Term != s.Term || s.Lasts > lasts {
		return false
	}
	one.until, one.count = max(one.until, now+lasts), one.count+1
	return true
}

// Ends is what a keeper says of the end of a lease.
type Ends struct {
	OK    bool
	Rest  time.Duration // after which to ask again
	Count uint64        // grows with each promise to the owner
}

// agree is asked to end a record. Newest is the newest one that it knows of that node.
func (p *promises) agree(node string, revision, newest uint64, now, lasts time.Duration) Ends {
	one := p.of(node)
	until := max(one.until, p.began+lasts)
	switch {
	case newest > revision:
		return Ends{Rest: lasts / 10, Count: one.count}
	case now < until:
		return Ends{Rest: until - now, Count: one.count}
	}
	one.ended = max(one.ended, revision)
	return Ends{OK: true, Count: one.count}
}

// majority is how many of a lease's keepers have to agree.
func majority(keepers []string) int { return len(keepers)/2 + 1 }

// stamp is what the owner answers to a ping; false: it has nothing to be promised.
func (l *ownLease) stamp(now time.Duration) (Stamp, bool) {
	return Stamp{l.boot, l.term, now, l.lasts}, l.term != 0 && len(l.last.Keepers) > 0
}

// promised takes over a keeper's promise. A node that is its own keeper keeps its promise
// by itself: it agrees to the end of its lease only once that has lapsed.
func (l *ownLease) promised(keeper string, s Stamp, now time.Duration) {
	if l.term == 0 || l.changing || s.Boot != l.boot || s.Term != l.term || s.At > now || !slices.Contains(l.last.Keepers, keeper) {
		return
	}
	if l.stamps == nil {
		l.stamps = map[string]time.Duration{}
	}
	l.stamps[keeper] = max(l.stamps[keeper], s.At)
	if slices.Contains(l.last.Keepers, l.node) && l.revision > l.resigned {
		l.stamps[l.node] = now
	}
	at := slices.Sorted(maps.Values(l.stamps))
	if need := majority(l.last.Keepers); len(at) >= need {
		l.carried = at[len(at)-need] + l.lasts*9/10
		l.until = max(l.until, l.carried)
	}
}

// isCarried reports whether promises carry the lease so long that nothing has to be
// written. A third of a lease is time for that.
func (l *ownLease) isCarried(now time.Duration, keepers []string) bool {
	return l.term != 0 && !l.changing && l.confirmed == l.term && l.carried-now >= l.lasts/3 && slices.Equal(keepers, l.last.Keepers)
}

// forgetPromises drops what was promised for another record, or by others.
func (l *ownLease) forgetPromises() { l.stamps, l.carried, l.changing = nil, 0, false }

// resign is the agreement of a node to the end of its own lease, which has lapsed: it does
// not count on itself any more, until it has written a later record.
func (l *ownLease) resign(revision uint64) {
	l.resigned = max(l.resigned, revision)
	delete(l.stamps, l.node)
}
