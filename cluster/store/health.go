package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Health is how a node sees what all nodes keep in common.
type Health struct {
	State  State
	Reason string // a sentence without a full stop; empty where all is well
	Since  time.Time

	Writes bool  // a write that comes now is stored, after an election perhaps
	Keeps  bool  // the node keeps a copy
	Behind int64 // changes that its copy misses, as far as is known
	Groups []Group
}

// Leader leads the records; empty: there is none, or it does not answer here.
func (h Health) Leader() string {
	for _, g := range h.Groups {
		if g.Stream == RecordStream {
			return g.Leader
		}
	}
	return ""
}

// Lags is how many changes each node's copy is behind, of the nodes that keep one and
// whose leader answers.
func (h Health) Lags() map[string]int64 {
	lags := map[string]int64{}
	for _, g := range h.Groups {
		for _, c := range g.Copies {
			if g.Leader != "" {
				lags[c.Node] += c.Lag
			}
		}
	}
	return lags
}

// observer makes a node's health of what it sees.
type observer struct {
	mu     sync.Mutex
	seen   standing
	health Health
	trails map[string]trail // of the streams whose leaders answered the time before
}

// trail is what was the newest change of a stream, now and a while ago: a copy that has
// the latter is current, whatever is on its way to it.
type trail struct{ older, newer mark }

type mark struct {
	at   time.Time
	last uint64
}

// next takes in what is the newest now.
func (t trail) next(now time.Time, last uint64) trail {
	m := mark{now, last}
	switch {
	case now.Sub(t.newer.at) > maxStandstill: // or there was none: what was before proves nothing
		return trail{m, m}
	case now.Sub(t.newer.at) < lookEvery-lookEvery/10:
		return t
	}
	return trail{t.newer, m}
}

// Health is what the last look has shown. It asks nobody.
func (s *Store) Health() Health {
	if s.attached {
		return s.healthAttached()
	}
	o := &s.observer
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.health
	h.Groups = slices.Clone(h.Groups)
	if o.seen.stoodStill(time.Now()) {
		h.State, h.Reason = Behind, "this node stood still, and does not know yet what it has missed"
	}
	return h
}

// Look asks the leaders again, unless they have just answered, and tells the health
// that comes of it.
func (s *Store) Look(ctx context.Context) (Health, error) {
	if s.attached {
		err := s.askHub(ctx)
		return s.Health(), err
	}
	err := s.askAll(ctx, lookEvery/4)
	s.look()
	return s.Health(), err
}

// observe looks at the groups until ctx ends.
func (s *Store) observe(ctx context.Context) {
	absent := map[string]absence{}
	for ; ctx.Err() == nil; pause(ctx, lookEvery) {
		_ = s.askAll(ctx, lookEvery-lookEvery/10) // who does not answer is seen by that
		s.look()
		s.easeReturns(absent)
	}
}

// look makes the health of what has been told.
func (s *Store) look() {
	o := &s.observer
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	v := sight{majority: s.member.Majority(), leader: true, current: true}
	h := Health{}
	trails := map[string]trail{}
	own, peers := s.member.LastChanges(), s.member.Peers()
	var without []string
	for _, name := range s.groups.names() {
		a := s.groups.last(name)
		g := a.group.seenFrom(s.member.Name(), peers)
		g.Stream = name
		if now.Sub(a.at) > answeredFor {
			g.Leader = ""
		}
		if g.Losses(nobody) < 0 { // one that reaches too few leads nobody
			g.Leader, v.leader = "", false
			h.Groups, without = append(h.Groups, g), append(without, lost(g))
			continue
		}
		h.Groups = append(h.Groups, g)
		trails[name] = o.trails[name].next(now, a.last)
		i := slices.IndexFunc(g.Copies, func(c Replica) bool { return c.Node == s.member.Name() })
		if i < 0 {
			continue
		}
		h.Keeps = true
		h.Behind += max(int64(a.last)-int64(own[name]), 0)
		v.current = v.current && own[name] >= trails[name].older.last && g.Copies[i].Reached
	}
	stopped := s.member.Stopped()
	v.current = v.current && stopped == ""
	o.trails = trails
	before := o.health.State
	o.seen = o.seen.step(v, now)
	h.State, h.Since = o.seen.state, o.health.Since
	h.Writes = v.majority && v.leader || h.State == Electing
	if h.State != before {
		h.Since = now
	}
	if h.Reason = reason(h, without); h.State == Behind && stopped != "" {
		h.Reason = stopped
	}
	o.health = h
	if h.State != before {
		s.tellState(before, h)
	}
	if h.State == Well && h.Keeps {
		s.comeHome(s.member.Name())
	}
}

func nobody(string) bool { return false }

// tellState lets the log say what has become of the node.
func (s *Store) tellState(before State, h Health) {
	e := s.log.Info()
	if h.State == CutOff || h.State == NoQuorum {
		e = s.log.Error()
	}
	e.Str("was", string(before)).Str("is", string(h.State)).Str("reason", h.Reason).Str("leader", h.Leader()).Int64("behind", h.Behind).
		Msg("what this node sees of the store that all nodes keep has changed")
}

// reason says why a state is not well.
func reason(h Health, without []string) string {
	switch h.State {
	case Electing:
		return "the nodes that keep the shared records have no leader now: writes wait for one"
	case Behind:
		if h.Behind > 0 {
			return fmt.Sprintf("this node's copy of the shared records is %d changes behind: do not stop another node", h.Behind)
		}
		return "this node does not know yet whether its copy of the shared records is current: do not stop another node"
	case CutOff:
		return "this node sees no majority of the cluster: it refuses writes until it does"
	case NoQuorum:
		return "nothing can be written: " + strings.Join(without, "; ")
	}
	return ""
}

// lost says which nodes a group misses.
func lost(g Group) string {
	what := "the records"
	if g.Stream == FileStream {
		what = "the files"
	}
	var nodes []string
	for _, c := range g.Copies {
		nodes = append(nodes, c.Node)
	}
	return fmt.Sprintf("of the nodes that keep %s (%s), %d must agree, and fewer are there", what, strings.Join(nodes, ", "), g.Quorum())
}
