package store

import "time"

// State is how a node stands to what all nodes keep in common.
type State string

const (
	// Well: everything can be read and written, and what the node keeps is current.
	Well State = "well"
	// Electing: there has been no leader for less time than an election takes. Writes
	// wait for one.
	Electing State = "electing"
	// Behind: the node's copy misses changes, or nobody knows whether it does: the node
	// has just come back. Another node's loss may be that of what this one misses.
	Behind State = "behind"
	// CutOff: the node sees no majority of all nodes. It writes nothing.
	CutOff State = "cut_off"
	// NoQuorum: the node sees a majority of all, but too few of those that keep the
	// store. Nobody writes anything.
	NoQuorum State = "no_quorum"
)

// States are all of them.
var States = []State{Well, Electing, Behind, CutOff, NoQuorum}

// Current reports whether the node has what it is to keep.
func (s State) Current() bool { return s == Well || s == Electing }

const (
	// maxElection is how long a group may be without a leader before that counts as
	// more than an election: it is as long as a write waits.
	maxElection = 12 * time.Second
	// maxReturn is the same for a node that has just come back: the engine elects
	// again then, and again. A rolling update must not take it for one
	// that has come through.
	maxReturn = time.Minute
	// maxAway is how long a node that has just come back may see no majority before it
	// counts as cut off: its connections have to be made again.
	maxAway = 10 * time.Second
	// maxSlow is how long a copy may miss changes that were there a second ago,
	// before that counts as more than a slow disk.
	maxSlow = 2 * time.Second
	// maxStandstill is how long a node may not have looked before it counts as one that
	// stood still.
	maxStandstill = 5 * time.Second
)

// sight is what a node sees at one moment.
type sight struct {
	majority bool // of all nodes
	leader   bool // each group has a leader that answers here and reaches enough copies
	current  bool // what the node keeps has all that was there a moment ago
}

// standing is a state and what it takes to leave it. The zero value is that of a node
// that has just started.
type standing struct {
	state  State
	quiet  time.Time // since then there is a majority and no leader; zero: it is otherwise
	away   time.Time // since then there is no majority; zero: it is otherwise
	misses time.Time // since then its copy misses changes that a leader has; zero: it does not
	looked time.Time
}

// stoodStill reports whether the node has not looked for so long that what it saw is
// past.
func (s standing) stoodStill(now time.Time) bool {
	return !s.looked.IsZero() && now.Sub(s.looked) > maxStandstill
}

// step takes in what a node sees.
func (s standing) step(v sight, now time.Time) standing {
	if s.state == "" || s.stoodStill(now) {
		s.state, s.quiet, s.away = Behind, time.Time{}, time.Time{}
	}
	s.looked = now
	if v.leader || !v.majority {
		s.quiet = time.Time{}
	} else if s.quiet.IsZero() {
		s.quiet = now
	}
	if v.leader || v.majority {
		s.away = time.Time{}
	} else if s.away.IsZero() {
		s.away = now
	}
	if !v.leader || v.current {
		s.misses = time.Time{}
	} else if s.misses.IsZero() {
		s.misses = now
	}
	switch {
	case v.leader && v.current:
		s.state = Well
	case v.leader:
		if s.state.Current() && now.Sub(s.misses) <= maxSlow {
			s.state = Well
		} else {
			s.state = Behind
		}
	case !v.majority:
		if s.state != Behind || now.Sub(s.away) > maxAway {
			s.state = CutOff
		}
	case s.state == Well || s.state == Electing:
		s.state = Electing
		if now.Sub(s.quiet) > maxElection {
			s.state = NoQuorum
		}
	case s.state != NoQuorum:
		s.state = Behind
		if now.Sub(s.quiet) > maxReturn {
			s.state = NoQuorum
		}
	}
	return s
}
