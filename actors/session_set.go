package actors

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
)

// sessionSet holds the sessions of the node's workers.
type sessionSet struct {
	mu  sync.Mutex
	all map[*actor.PID]bool
	// caches are what tasks share with their sessions, by the id of the actor.
	caches map[string]*engine.Cache
	// about is what their account may know of them, by the id of the actor.
	about map[string]aboutSession
	// profiles are those of the sessions that have one, by the id of the actor.
	profiles map[string]*sessionProfile
}

// aboutSession is a session as others see it.
type aboutSession struct {
	id   string
	held api.HeldSession
}

// describe says how a session is now. Its time stands while a task runs.
func (h *sessionSet) describe(s *actor.PID, rec *records.Session, runs bool) {
	a := aboutSession{rec.ID, api.HeldSession{Opened: rec.Started, Timeout: rec.Timeout, Label: rec.Label, Profile: aboutProfile(rec.Profile)}}
	if !runs {
		a.held.Expires = rec.Deadline
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.about == nil {
		h.about = map[string]aboutSession{}
	}
	h.about[s.Id] = a
}

// held is what is known of all sessions, by their identifiers.
func (h *sessionSet) held() map[string]*api.HeldSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[string]*api.HeldSession, len(h.about))
	for _, a := range h.about {
		all[a.id] = &a.held
	}
	return all
}

// addCache makes the cache of a session known to the task that begins in it.
func (h *sessionSet) addCache(s *actor.PID, c *engine.Cache) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.caches == nil {
		h.caches = map[string]*engine.Cache{}
	}
	h.caches[s.Id] = c
}

// cacheOf returns the cache of a session. If the session has ended meanwhile, the
// cache is a new one that nobody keeps.
func (h *sessionSet) cacheOf(s *actor.PID) *engine.Cache {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.caches[s.Id]; c != nil {
		return c
	}
	return engine.NewCache()
}

// addProfile gives a session its profile, which ends with the session's actor.
func (h *sessionSet) addProfile(s *actor.PID, p *sessionProfile) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.profiles == nil {
		h.profiles = map[string]*sessionProfile{}
	}
	h.profiles[s.Id] = p
}

// profileOf is the profile of a session; nil: it has none.
func (h *sessionSet) profileOf(s *actor.PID) *sessionProfile {
	if s == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.profiles[s.Id]
}

func (h *sessionSet) add(s *actor.PID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[*actor.PID]bool{}
	}
	h.all[s] = true
}

func (h *sessionSet) remove(s *actor.PID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, s)
	delete(h.caches, s.Id)
	delete(h.about, s.Id)
	delete(h.profiles, s.Id)
}

func (h *sessionSet) list() []*actor.PID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.all))
}

// onLeaseLost ends what runs for the node's sessions, and what another node may let begin
// again.
func (n *nodeParts) onLeaseLost() {
	if n.queue != nil {
		n.system.Root.Send(n.queue, &queueLapsed{})
	}
	for _, s := range n.sessions.list() {
		n.system.Root.Send(s, &sessionLeaseLost{})
	}
}

// confirmSessions finds out which sessions still belong to the node in a new term
// of its lease. It ends the others.
func (n *nodeParts) confirmSessions(ctx context.Context, term uint64) error {
	return records.InParallel(n.sessions.list(), func(s *actor.PID) error {
		c, err := ask[sessionConfirmed](ctx, n.system, s, &sessionConfirm{Term: term})
		if err == nil && c.Err != "" {
			err = errors.New(c.Err)
		}
		return err
	})
}
