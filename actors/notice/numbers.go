package notice

import (
	"sync/atomic"
	"time"

	"troupe/actors/api"
)

// Counts counts what became of notices. Of a node that delivers at times only, it goes on
// from one time to the next.
type Counts struct{ delivered, failed, off atomic.Int64 }

func (c *Counts) ended(s api.NoticeStatus) {
	switch s {
	case api.NoticeDelivered:
		c.delivered.Add(1)
	case api.NoticeFailed:
		c.failed.Add(1)
	case api.NoticeOff:
		c.off.Add(1)
	}
}

// Numbers are the notices of all accounts in numbers.
func (m *Notices) Numbers() (n api.NoticeNumbers) {
	if m == nil {
		return n
	}
	c := m.cfg.Counts
	n.Delivered, n.Failed, n.Off = c.delivered.Load(), c.failed.Load(), c.off.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	var oldest time.Time
	for _, a := range m.accounts {
		n.Waiting += len(a.entries)
		for _, e := range a.entries {
			if oldest.IsZero() || e.since.Before(oldest) {
				oldest = e.since
			}
		}
		for _, s := range a.states {
			if !s.Off.IsZero() && !a.gone {
				n.EndpointsOff++
			}
		}
	}
	if !oldest.IsZero() {
		n.Oldest = max(time.Since(oldest), 0)
	}
	return n
}
