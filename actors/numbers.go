package actors

import (
	"time"

	"troupe/actors/api"
)

// QueueNumbers are the queue and the batches in numbers. Of several nodes the one that orders
// the queue has them.
func (n *Node) QueueNumbers() api.QueueNumbers {
	p := n.parts
	q := api.QueueNumbers{Batches: p.feeder().Numbers()}
	if at := p.queueOldest.Load(); at != 0 {
		q.Oldest = max(p.cfg.Clock.Now().Sub(time.UnixMilli(at)), 0)
	}
	return q
}

// Notices are the notices in numbers. Of several nodes the one that orders the queue
// delivers them, and has what waits.
func (n *Node) Notices() api.NoticeNumbers {
	if leads := n.parts.noticeLead.Load(); leads != nil {
		return leads.Numbers()
	}
	return n.parts.notices.Numbers()
}

// Schedules are the schedules in numbers. Of several nodes, which all have them, the one
// that orders the queue tells of what is due.
func (n *Node) Schedules() api.ScheduleNumbers {
	p := n.parts
	s := p.schedules.Numbers()
	if p.sharesQueue() && p.orderer.Load() == nil {
		s.Active, s.Paused, s.Late = 0, 0, 0
	}
	return s
}
