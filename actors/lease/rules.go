package lease

import (
	"slices"
	"time"
)

// A node's sessions are its own for as long as it holds its lease: one small
// record for each node, which the node renews a few times per lease, and which
// only a majority can store. These are the rules, without a store or a clock:
// each side measures with its own, which nobody sets, and no time of one machine
// is ever compared with another's.
//
// The owner counts from before it sends a renewal, for nine tenths of a lease.
// Another node that wants its sessions counts a whole lease from when it saw the
// last renewal, which was later. Then it revokes the lease, on the condition that there was no
// renewal after that one. From there on the owner cannot renew: it has to take
// the lease anew, and to confirm each of its sessions, before it uses them again.

// Record is what is on disk of a node's lease.
type Record struct {
	Node string `json:"node"`
	Boot string `json:"boot"`           // the process that holds it
	Term uint64 `json:"term"`           // another one each time that the lease is taken anew
	Over bool   `json:"over,omitempty"` // its sessions may be taken
	// Keepers are the nodes whose promises carry the lease: see promises.go. None: only
	// its renewals do.
	Keepers []string `json:"keepers,omitempty"`
	// Asks: the process asks a lease's keepers before it ends it. Those of earlier
	// releases do not.
	Asks bool `json:"asks,omitempty"`
}

// ownLease is what a node knows of its own lease.
type ownLease struct {
	node, boot string
	lasts      time.Duration

	term      uint64 // 0: it has none
	until     time.Duration
	confirmed uint64 // the term in which its sessions are known to be its own

	last     Record // what is on disk, as far as is known
	revision uint64
	theirs   bool // another process of this name holds it

	stamps   map[string]time.Duration // the newest that each keeper has promised for
	carried  time.Duration            // until then promises carry it
	changing bool                     // a record with other keepers may be on disk
	resigned uint64                   // the newest record that it has agreed to end
}

// next is what to write, and over which revision; false: nothing, as somebody
// else holds the lease.
func (l *ownLease) next(keepers []string) (rec Record, over uint64, write bool) {
	rec = Record{Node: l.node, Boot: l.boot, Term: l.term, Keepers: keepers, Asks: true}
	if l.term == 0 {
		rec.Term = l.last.Term + 1
	}
	l.changing = l.changing || !slices.Equal(keepers, l.last.Keepers)
	return rec, l.revision, !l.theirs
}

// stored takes over that a renewal is on disk which began at a time.
func (l *ownLease) stored(rec Record, revision uint64, began time.Duration) {
	if l.changing || l.term != rec.Term {
		l.forgetPromises()
	}
	l.last, l.revision, l.term = rec, revision, rec.Term
	l.until = max(began+l.lasts*9/10, l.carried)
}

// met takes over the record that was on disk instead of the last renewal. That may be an
// earlier try without an answer: it loses nothing and extends nothing.
func (l *ownLease) met(rec Record, revision uint64) {
	if l.changing || l.term != rec.Term {
		l.forgetPromises()
	}
	l.last, l.revision = rec, revision
	mine := rec.Boot == l.boot && !rec.Over
	if mine && rec.Term == l.term {
		return
	}
	l.forgetPromises()
	l.until, l.term, l.theirs = 0, 0, revision > 0 && !rec.Over && !mine
	if mine {
		l.term = rec.Term
	}
}

// inherit takes over what an earlier process of the node has left, which has
// ended.
func (l *ownLease) inherit(rec Record, revision uint64) { l.last, l.revision = rec, revision }

// holds reports whether no other node can have the node's sessions.
func (l *ownLease) holds(now time.Duration) bool {
	return l.term != 0 && now < l.until
}

// serves reports whether the node may use its sessions.
func (l *ownLease) serves(now time.Duration) bool {
	return l.holds(now) && l.confirmed == l.term
}

// seenLease is what a node knows of another one's lease.
type seenLease struct {
	record   Record
	revision uint64
	since    time.Duration // when this revision was first seen
}

// see takes over a revision; an earlier one than the last comes late.
func (s *seenLease) see(rec Record, revision uint64, now time.Duration) {
	if revision > s.revision {
		s.record, s.revision, s.since = rec, revision, now
	}
}

// remaining is how long the lease may still be renewed or counted on; zero: no
// longer.
func (s *seenLease) remaining(now, lasts time.Duration) time.Duration {
	if s.record.Over {
		return 0
	}
	return max(s.since+lasts-now, 0)
}

// end is what ends it, to be written over the revision that was seen.
func (s *seenLease) end(node string) Record {
	return Record{Node: node, Boot: s.record.Boot, Term: s.record.Term, Over: true, Asks: true}
}
