package lease

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/actors/records"
)

// TestNobodySharesASession lets nodes renew, take and use one session in any
// order, with what they send on its way for as long as it likes, frozen at any
// moment, started anew, and with clocks that run apart. At no moment two of them
// use it. The rules are those of lease.go and of the session's record; only store,
// time and nodes are of the test.
func TestNobodySharesASession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newLeaseModel(t)
		for range rapid.IntRange(20, 400).Draw(t, "steps") {
			m.step()
			m.check()
		}
	})
}

const modelLease = 100 * time.Millisecond

// leaseModel is a store, and nodes that have nothing in common but that.
type leaseModel struct {
	t       *rapid.T
	now     time.Duration
	nodes   []*leaseNode
	seq     uint64
	leases  map[string]stampedLease
	session stampedSession
	boots   int
	keepers []string // that the next record names
}

type (
	stampedLease struct {
		rec      Record
		revision uint64
	}
	stampedSession struct {
		rec      records.Session
		revision uint64
	}
)

// leaseNode is one process. Its doings are a sequence of steps, and any time may
// pass between two of them.
type leaseNode struct {
	name   string
	rate   int // of its clock, in thousandths
	offset time.Duration
	own    ownLease
	seen   map[string]*seenLease
	kept   promises

	renewing, confirming, taking func() bool // the next step of what is under way; true: over
	pinged                       func() bool
	had                          *stampedSession
	term                         uint64 // in which the session is known to be its own
}

func newLeaseModel(t *rapid.T) *leaseModel {
	m := &leaseModel{t: t, leases: map[string]stampedLease{}, keepers: []string{"n1", "n2", "n3"}}
	for i := range 3 {
		n := &leaseNode{name: fmt.Sprint("n", i+1), rate: 1000 + rapid.IntRange(-20, 20).Draw(t, "rate"),
			offset: time.Duration(rapid.IntRange(0, 1000).Draw(t, "offset")) * time.Hour}
		m.nodes = append(m.nodes, n)
		m.start(n)
	}
	m.seq++
	m.session = stampedSession{records.Session{ID: "s", Node: "n1"}, m.seq}
	m.own(m.nodes[0], m.session)
	return m
}

// start begins a new process of a node, which reads what there is.
func (m *leaseModel) start(n *leaseNode) {
	m.boots++
	n.own = ownLease{node: n.name, boot: fmt.Sprint(m.boots), lasts: modelLease}
	n.seen, n.had, n.renewing, n.confirming, n.taking, n.pinged = map[string]*seenLease{}, nil, nil, nil, nil, nil
	l := m.leases[n.name]
	n.own.inherit(l.rec, l.revision)
	began := n.clock(m.now)
	rec, over, _ := n.own.next(m.keepers)
	revision, ok := m.putLease(rec, over)
	n.kept = promises{began: began, after: revision}
	if !ok {
		m.t.Fatal("nobody else writes while a node starts")
	}
	n.own.stored(rec, revision, began)
	n.own.confirmed = n.own.term
	if s := m.session; s.revision > 0 && s.rec.Node == n.name {
		took := s.rec.TakenBy(n.name, "")
		if revision, ok := m.putSession(took, s.revision); ok {
			m.own(n, stampedSession{took, revision})
		}
	}
}

func (m *leaseModel) own(n *leaseNode, s stampedSession) { n.had, n.term = &s, n.own.term }

// clock is the node's own time: nobody sets it, and it runs almost like others.
func (n *leaseNode) clock(now time.Duration) time.Duration {
	return n.offset + now/1000*time.Duration(n.rate)
}

func (m *leaseModel) putLease(rec Record, over uint64) (uint64, bool) {
	if m.leases[rec.Node].revision != over {
		return 0, false
	}
	m.seq++
	m.leases[rec.Node] = stampedLease{rec, m.seq}
	return m.seq, true
}

func (m *leaseModel) putSession(rec records.Session, over uint64) (uint64, bool) {
	if m.session.revision != over {
		return 0, false
	}
	m.seq++
	m.session = stampedSession{rec, m.seq}
	return m.seq, true
}

func (m *leaseModel) step() {
	n := rapid.SampledFrom(m.nodes).Draw(m.t, "node")
	switch rapid.SampledFrom([]string{"pass", "pass", "renew", "renew", "hear", "hear all", "ping", "ping", "ping all", "ping all", "ping all", "keepers", "confirm", "take all", "take all", "take all", "take", "take", "take", "take", "freeze", "restart"}).Draw(m.t, "what") {
	case "pass":
		m.now += time.Duration(rapid.IntRange(0, 30).Draw(m.t, "ms")) * time.Millisecond
	case "freeze": // of everybody: each for itself does nothing for as long as it is not drawn
		m.now += time.Duration(rapid.IntRange(50, 300).Draw(m.t, "ms")) * time.Millisecond
	case "restart":
		m.start(n)
	case "renew":
		advance(&n.renewing, func() func() bool { return m.renew(n) })
	case "hear": // of another one's lease, sooner or later
		m.see(n, rapid.SampledFrom(m.nodes).Draw(m.t, "whose").name)
	case "hear all":
		for _, n := range m.nodes {
			for _, o := range m.nodes {
				m.see(n, o.name)
			}
		}
	case "keepers":
		if rapid.IntRange(0, 2).Draw(m.t, "change") == 0 {
			m.keepers = rapid.SampledFrom([][]string{nil, {"n2", "n3"}, {"n1", "n2", "n3"}, {"n1", "n2", "n3"}, {"n1", "n2", "n3"}}).Draw(m.t, "keepers")
		}
	case "ping all":
		for _, keeper := range m.nodes {
			for ping := m.ping(n, keeper); !ping(); {
			}
		}
	case "take all":
		for take := m.take(n); !take(); {
		}
	case "ping":
		advance(&n.pinged, func() func() bool {
			return m.ping(n, rapid.SampledFrom(m.nodes).Draw(m.t, "keeper"))
		})
	case "confirm":
		if n.own.holds(n.clock(m.now)) && n.own.confirmed != n.own.term {
			advance(&n.confirming, func() func() bool { return m.confirm(n) })
		}
	case "take":
		advance(&n.taking, func() func() bool { return m.take(n) })
	}
}

// advance does the next step of something, and begins it if it is not under way.
func advance(going *func() bool, begin func() func() bool) {
	if *going == nil {
		*going = begin()
	}
	if (*going)() {
		*going = nil
	}
}

// sequence does one step at a time; each says whether to go on.
func sequence(steps ...func() bool) func() bool {
	return func() (over bool) {
		if goOn := steps[0](); !goOn {
			return true
		}
		steps = steps[1:]
		return len(steps) == 0
	}
}

// renew is what leases.renew does, each way to the store a step.
func (m *leaseModel) renew(n *leaseNode) func() bool {
	own := &n.own
	began := n.clock(m.now)
	rec, over, write := own.next(m.keepers)
	var revision uint64
	var ok bool
	return sequence(
		func() bool {
			if write {
				revision, ok = m.putLease(rec, over)
			}
			// The answer is lost now and then.
			return !ok || rapid.IntRange(0, 4).Draw(m.t, "answer") > 0
		},
		func() bool {
			if ok {
				own.stored(rec, revision, began)
			} else {
				own.met(m.leases[n.name].rec, m.leases[n.name].revision)
			}
			return true
		})
}

// ping is one of a keeper: the node's answer has a stamp, and the next ping may promise
// something. Each way takes as long as it likes.
func (m *leaseModel) ping(n, keeper *leaseNode) func() bool {
	s, ok := n.own.stamp(n.clock(m.now))
	return sequence(
		func() bool { return ok && keeper != n },
		func() bool {
			seen := keeper.seen[n.name]
			return seen != nil && keeper.kept.give(n.name, s, *seen, keeper.clock(m.now), modelLease)
		},
		func() bool { n.own.promised(keeper.name, s, n.clock(m.now)); return true })
}

// see takes in what is on disk of a node's lease.
func (m *leaseModel) see(n *leaseNode, owner string) {
	l := m.leases[owner]
	if n.seen[owner] == nil {
		n.seen[owner] = &seenLease{since: n.clock(m.now)}
	}
	n.seen[owner].see(l.rec, l.revision, n.clock(m.now))
}

// agree is what Leases.Agree does.
func (m *leaseModel) agree(keeper *leaseNode, owner string, revision uint64) bool {
	now, newest := keeper.clock(m.now), uint64(0)
	if owner == keeper.name {
		if keeper.own.holds(now) {
			return false
		}
		newest = keeper.own.revision
	} else if seen := keeper.seen[owner]; seen != nil {
		newest = seen.revision
	}
	e := keeper.kept.agree(owner, revision, newest, now, modelLease)
	if e.OK && owner == keeper.name {
		keeper.own.resign(revision)
	}
	return e.OK
}

// confirm is what leases.regain does with one session.
func (m *leaseModel) confirm(n *leaseNode) func() bool {
	term, had, ok := n.own.term, n.had, true
	var revision uint64
	return sequence(
		func() bool {
			if had == nil {
				return true
			}
			if revision, ok = m.putSession(had.rec, had.revision); !ok && m.session.rec.SameOwner(had.rec) {
				// An own write that was not heard of.
				revision, ok = m.putSession(had.rec, m.session.revision)
			}
			return true
		},
		func() bool {
			switch {
			case n.had != had || had == nil:
			case ok:
				n.had, n.term = &stampedSession{had.rec, revision}, term
			default:
				n.had = nil
			}
			n.own.confirmed = term
			return true
		})
}

// take is what Node.Restore does.
func (m *leaseModel) take(n *leaseNode) func() bool {
	term, s := n.own.term, m.session
	owner := s.rec.Node
	if owner == n.name {
		return func() bool { return true }
	}
	var seen seenLease
	var took records.Session
	asked, agreed := 0, map[string]bool{}
	ask := func() bool { // one keeper a step; the answer of an earlier one may be old
		if asked < len(seen.record.Keepers) && !seen.record.Over {
			for _, keeper := range m.nodes {
				if keeper.name == seen.record.Keepers[asked] && m.agree(keeper, owner, seen.revision) {
					agreed[keeper.name] = true
				}
			}
			asked++
		}
		return true
	}
	return sequence(
		func() bool {
			m.see(n, owner)
			seen = *n.seen[owner]
			return n.seen[owner].remaining(n.clock(m.now), modelLease) == 0
		},
		ask, ask, ask,
		func() bool {
			return seen.record.Over || len(seen.record.Keepers) == 0 || len(agreed) >= majority(seen.record.Keepers)
		},
		func() bool { _, ok := m.putLease(seen.end(owner), seen.revision); return ok },
		func() bool {
			took = s.rec.TakenBy(n.name, "")
			revision, ok := m.putSession(took, s.revision)
			s = stampedSession{took, revision}
			return ok && n.own.serves(n.clock(m.now)) // else it is its own by the record, and used by nobody
		},
		func() bool { n.had, n.term = &s, term; return true })
}

// uses reports whether a node would play a task in the session now.
func (m *leaseModel) uses(n *leaseNode) bool {
	return n.had != nil && n.own.serves(n.clock(m.now)) && n.own.term == n.term
}

func (m *leaseModel) check() {
	var users []string
	for _, n := range m.nodes {
		if m.uses(n) {
			users = append(users, fmt.Sprintf("%s in epoch %d", n.name, n.had.rec.Epoch))
			if n.had.rec.Epoch != m.session.rec.Epoch || n.name != m.session.rec.Node {
				m.t.Fatalf("%s uses the session, which by its record is %s's in epoch %d", users[len(users)-1], m.session.rec.Node, m.session.rec.Epoch)
			}
		}
	}
	if len(users) > 1 {
		m.t.Fatalf("the session is used by %v", users)
	}
}
