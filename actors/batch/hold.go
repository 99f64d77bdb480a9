package batch

import (
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// Holds reports whether tasks of a batch are not to begin.
func (m *Batches) Holds(of *api.BatchRef, plan engine.Plan) bool {
	if m == nil || of == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.all[of.Batch]
	switch {
	case s == nil:
		return false
	case s.b.State == api.BatchPaused, s.b.State == api.BatchCancelled:
		return true
	case s.b.State != api.BatchRunning:
		return false
	}
	it := s.live[of.Item]
	return it != nil && it.Round == of.Round && (s.held == engine.CodePlanRequired || s.plan != plan)
}

// holdBack notes why no more items begin now; empty: they do. The mutex is held.
func (s *state) holdBack(why engine.Code) {
	if s.held == "" && why != "" {
		s.heldSince = time.Now()
	}
	s.held = why
}

// bar is why no task of an account begins now, and since when.
type bar struct {
	why   engine.Code
	since time.Time
}

// Barred tells that the queue begins no more tasks of an account, and why; empty: it does.
func (m *Batches) Barred(account string, why engine.Code) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch is, known := m.barred[account]; {
	case why == "":
		delete(m.barred, account)
	case !known:
		m.barred[account] = bar{why, time.Now()}
	default:
		m.barred[account] = bar{why, is.since}
	}
}

// heldBack is why no more items of a batch begin now, and since when: for a reason of its
// own, or one that holds for all tasks of its account. The mutex is held.
func (m *Batches) heldBack(s *state) (why engine.Code, since time.Time) {
	if s.held != "" {
		return s.held, s.heldSince
	}
	if s.b.State != api.BatchRunning || s.b.Items == s.ended+s.running { // nothing of it waits
		return "", time.Time{}
	}
	is := m.barred[s.account]
	return is.why, is.since
}
