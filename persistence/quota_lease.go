package persistence

import (
	"math"
	"time"
)

// How much of a day a node takes at once. It follows the recent use, so that a busy node
// has enough while the nodes elect a leader. It is small when little is left, so that
// every node gets a part of the rest.
const (
	leaseFirst = 8                // for a node that has just begun
	leaseSpan  = 10 * time.Second // what "lately" is
	leaseAhead = 4                // that many times what was used lately
	leaseIdle  = 0.05             // used lately: smaller amounts count as zero
)

// quotaLease is what one node has of an account's day: tasks that the day's count has
// already and nobody has used. Its methods know no store and no clock.
//
// Invariant: the shared count is never lower than the use of all leases, whichever node
// is lost with its lease.
type quotaLease struct {
	held   int64
	recent float64   // tasks used, the older the less
	at     time.Time // of recent
}

// use takes one task out of the lease.
func (s *quotaLease) use(now time.Time) bool {
	if s.held <= 0 {
		return false
	}
	s.held--
	s.recent, s.at = s.lately(now)+1, now
	return true
}

// lately is how many tasks were used in the last seconds.
func (s *quotaLease) lately(now time.Time) float64 {
	if s.recent == 0 {
		return 0
	}
	age := max(now.Sub(s.at), 0)
	return s.recent * math.Exp(-age.Seconds()/leaseSpan.Seconds())
}

// day is an account's day as all nodes see it.
type day struct {
	total int64 // used, and held by nodes
	limit int64
	nodes int
}

// change is how much more of a day the lease is to take, or to give back where
// that is negative, while so many tasks wait for it. Within wide bounds it stays
// as it is.
func (s *quotaLease) change(now time.Time, waiting int64, d day) int64 {
	left := max(d.limit-d.total, 0)
	want := int64(0)
	if recent := s.lately(now) + float64(waiting); recent >= leaseIdle && d.total <= d.limit {
		fair := (left + s.held) / int64(2*d.nodes)
		want = min(leaseFirst+int64(leaseAhead*recent), fair)
	}
	switch spare := s.held - waiting; {
	case spare < 0, 4*spare < 3*want:
		return min(want-spare, left)
	case spare > 2*want:
		return want - spare
	}
	return 0
}
