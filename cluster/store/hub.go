package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"troupe/persistence"
)

// A worker node's health is that of the node that it is connected to, which says it again
// and again. It is one short message a second and worker node, whatever is stored.

const (
	hubSubjects = "troupe.keeper.health." // followed by the node that keeps the store
	wholeHealth = "troupe.keeper.whole."  // the same, for questions
	tellEvery   = lookEvery
	// hubSilent is how long a node that keeps the store may be silent before a worker
	// node takes another one.
	hubSilent = 3 * time.Second
)

// HubHealth is what a node that keeps the store says to its worker nodes.
type HubHealth struct {
	State    State  `json:"state"`
	Reason   string `json:"reason,omitempty"`
	Writes   bool   `json:"writes"`
	Majority bool   `json:"majority"`
	Members  int    `json:"members"` // nodes that count for the majority
	Leader   string `json:"leader,omitempty"`
	// Groups are told to those who ask for them.
	Groups []Group `json:"groups,omitempty"`
}

// tellWorkers tells this node's worker nodes its health, until ctx ends.
func (s *Store) tellWorkers(ctx context.Context) {
	sub, err := s.member.Conn().Subscribe(wholeHealth+s.member.Name(), func(m *nats.Msg) {
		if b, err := json.Marshal(s.hubHealth(true)); err == nil {
			_ = m.Respond(b)
		}
	})
	if err != nil {
		s.log.Error().Err(err).Msg("worker nodes cannot ask for the health of the store")
		return
	}
	defer sub.Unsubscribe()
	for ; ctx.Err() == nil; pause(ctx, tellEvery) {
		b, err := json.Marshal(s.hubHealth(false))
		if err == nil {
			err = s.member.Conn().Publish(hubSubjects+s.member.Name(), b)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn().Err(err).Msg("worker nodes could not be told the health of the store")
		}
	}
}

func (s *Store) hubHealth(whole bool) HubHealth {
	h := s.Health()
	t := HubHealth{State: h.State, Reason: h.Reason, Writes: h.Writes, Majority: s.member.Majority(), Members: s.member.Members(), Leader: h.Leader()}
	if whole {
		t.Groups = h.Groups
	}
	return t
}

// hubView is what a worker node has heard.
type hubView struct {
	mu     sync.Mutex
	heard  time.Time // zero: nothing yet
	health HubHealth
	since  time.Time
	state  State
}

// step makes the state of a worker node of what it has heard. It keeps no copy, so it is
// behind only before it has heard anything.
func (v *hubView) step(connected bool, now time.Time) State {
	switch silent := now.Sub(v.heard); {
	case v.heard.IsZero():
		return Behind
	case silent <= hubSilent && v.health.State == Behind && v.health.Writes:
		return Well
	case silent <= hubSilent && v.health.State == Behind:
		return Electing
	case silent <= hubSilent && v.health.State != CutOff:
		return v.health.State
	case silent <= hubSilent && connected && v.state.Current() && now.Sub(v.since) <= hubSilent:
		return Electing // another one is tried
	}
	return CutOff
}

// followHub hears the node that this worker node is connected to, and takes another one
// if it is silent or sees no majority.
func (s *Store) followHub(ctx context.Context) {
	var sub *nats.Subscription
	followed := "" // the node that sub is for
	v := &s.view
	defer func() {
		if sub != nil {
			_ = sub.Unsubscribe()
		}
	}()
	for began := time.Now(); ctx.Err() == nil; pause(ctx, lookEvery/4) {
		hub := s.member.Hub()
		if hub != "" && (sub == nil || hub != followed) {
			if sub != nil {
				_ = sub.Unsubscribe()
			}
			next, err := s.member.Conn().Subscribe(hubSubjects+hub, func(m *nats.Msg) { s.hearHub(hub, m.Data) })
			if err != nil {
				continue
			}
			sub, followed, began = next, hub, time.Now()
		}
		s.lookAttached()
		v.mu.Lock()
		silent := time.Since(v.heard) > hubSilent && time.Since(began) > hubSilent
		cut := v.health.State == CutOff && v.heard.After(began)
		v.mu.Unlock()
		switch {
		case hub == "":
			began = time.Now()
		case silent:
			s.member.Move("it says nothing")
		case cut:
			s.member.Move("it sees no majority")
		}
	}
}

func (s *Store) hearHub(hub string, text []byte) {
	var h HubHealth
	if json.Unmarshal(text, &h) != nil || hub != s.member.Hub() {
		return
	}
	s.member.HubSees(h.Majority, h.Members)
	s.view.mu.Lock()
	h.Groups = s.view.health.Groups
	s.view.health, s.view.heard = h, time.Now()
	s.view.mu.Unlock()
	s.lookAttached()
}

// lookAttached makes the health of a worker node of what it has heard.
func (s *Store) lookAttached() {
	v := &s.view
	v.mu.Lock()
	now, before := time.Now(), v.state
	next := v.step(s.member.Hub() != "", now)
	if v.state = next; next != before {
		v.since = now
	}
	v.mu.Unlock()
	if next != before {
		s.tellState(before, s.healthAttached())
	}
}

// healthAttached is [Store.Health] of a worker node.
func (s *Store) healthAttached() Health {
	v := &s.view
	v.mu.Lock()
	defer v.mu.Unlock()
	h := Health{State: v.state, Since: v.since, Groups: v.health.Groups}
	h.Writes = v.health.Writes && h.State.Current() || h.State == Electing
	switch {
	case h.State == v.health.State:
		h.Reason = v.health.Reason
	case h.State == Behind:
		h.Reason = "this worker node has not reached a node yet that keeps the store"
	case h.State == CutOff:
		h.Reason = "this worker node reaches no node that keeps the store and sees a majority: it refuses writes until it does"
	case h.State == Electing:
		h.Reason = reason(h, nil)
	}
	if len(h.Groups) == 0 && v.health.Leader != "" {
		h.Groups = []Group{{Stream: RecordStream, Leader: v.health.Leader}}
	}
	return h
}

// askHub asks for everything that the node knows that this one is connected to.
func (s *Store) askHub(ctx context.Context) error {
	hub := s.member.Hub()
	if hub == "" {
		return persistence.ErrNoQuorum
	}
	ctx, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	h, err := askKeeper[HubHealth](ctx, s, wholeHealth+hub, struct{}{})
	if err != nil {
		return fmt.Errorf("ask %s for the health of the store: %w", hub, errors.Join(persistence.ErrNoQuorum, err))
	}
	s.member.HubSees(h.Majority, h.Members)
	s.view.mu.Lock()
	s.view.health, s.view.heard = *h, time.Now()
	s.view.mu.Unlock()
	s.lookAttached()
	return nil
}
