package batch

import (
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// Numbers are the batches that have not ended, in numbers.
func (m *Batches) Numbers() (n api.BatchNumbers) {
	if m == nil {
		return n
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for _, s := range m.all {
		switch s.b.State {
		case api.BatchPaused:
			n.Paused++
		case api.BatchRunning:
			n.Running++
			if why, since := m.heldBack(s); why != "" {
				n.Held++
				n.HeldFor = max(n.HeldFor, now.Sub(since))
			}
		}
	}
	return n
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
