package cluster

import "sync/atomic"

// Counters is how often something has happened since the node began.
type Counters struct {
	Forwarded int64 // requests for tasks that went to another node, as far as that took them
	Lost      int64 // of those, the ones that ended with the other node
}

type counters struct{ forwarded, lost atomic.Int64 }

// Counters counts what this node's clients have of the others.
func (c *Router) Counters() Counters {
	return Counters{Forwarded: c.counters.forwarded.Load(), Lost: c.counters.lost.Load()}
}
