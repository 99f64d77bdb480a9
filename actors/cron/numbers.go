package cron

import (
	"sync/atomic"

	"troupe/actors/api"
)

// counts counts what this process has made of times.
type counts struct{ begun, skipped, missed atomic.Int64 }

func (c *counts) dropped(run api.ScheduleRun) {
	times := int64(max(run.Times, 1))
	switch run.Status {
	case api.RunSkipped:
		c.skipped.Add(times)
	case api.RunMissed:
		c.missed.Add(times)
	}
}

// Numbers are the schedules of all accounts in numbers.
func (m *Schedules) Numbers() (n api.ScheduleNumbers) {
	if m == nil {
		return n
	}
	n.Begun, n.Skipped, n.Missed = m.counts.begun.Load(), m.counts.skipped.Load(), m.counts.missed.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.cfg.Clock.Now()
	for _, s := range m.all {
		if m.gone[s.st.Account] {
			continue
		}
		if c := s.st.Claim; c != nil { // what is claimed goes on in a pause, too
			n.Late = max(n.Late, now.Sub(c.At))
		}
		if s.st.Paused {
			n.Paused++
			continue
		}
		n.Active++
		if !s.st.Next.IsZero() {
			n.Late = max(n.Late, now.Sub(s.st.Begin))
		}
	}
	return n
}
