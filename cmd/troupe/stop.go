package main

import (
	"context"
	"time"

	"troupe/actors/api"
)

// sessionsLook is how often a stopping node looks whether only its sessions keep it.
const sessionsLook = 50 * time.Millisecond

// serveSessions lets the node serve its sessions while other tasks run to their end, for
// half of the grace at most. Everything else is as in a drain. Another node can have the
// sessions only when this one has stopped, and their clients would be refused until then.
func (s *service) serveSessions(forced context.Context) {
	if s.router == nil || s.node.Status().Sessions == 0 {
		return
	}
	s.edge.Pause(true)
	ctx, cancel := context.WithTimeout(forced, s.Grace/2)
	defer cancel()
	tick := time.NewTicker(sessionsLook)
	defer tick.Stop()
	for s.playsOthers(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// playsOthers reports whether tasks run or wait that belong to no session.
func (s *service) playsOthers(ctx context.Context) bool {
	all, err := api.Ask(ctx, s.node, &api.SurveyWorkers{})
	if err != nil { // also when ctx has ended
		return false
	}
	for _, w := range all.Workers {
		if w.State == api.Busy && w.Session == "" {
			return true
		}
	}
	return false
}
