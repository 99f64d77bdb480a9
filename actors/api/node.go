package api

import "time"

// PeerCapacity is what another node last reported to have. It is a hint: only the
// workers there know, and may refuse what is sent to them.
type PeerCapacity struct {
	Node string
	Free int            // shared workers that would take a task
	Own  map[string]int // workers that would, by the account that they are for
	Held map[string]int // workers that sessions hold, by account
	// Usable is how many of its workers have a browser, and so may be free in a
	// while; zero: it takes no tasks, or is not there.
	Usable int
}

// For returns how many workers would take a task of an account.
func (o *PeerCapacity) For(account string) int { return o.Free + o.Own[account] }

// Drain asks for a stop: no new tasks, running ones may end until the grace is
// over and are then interrupted. Reply: [Drained], when no task runs any more.
type Drain struct{ Grace time.Duration }

// Drained answers [Drain].
type Drained struct{ Interrupted int }

// Status is the node in numbers.
type Status struct {
	Draining    bool `json:"Draining"`
	Workers     int  `json:"Workers"`
	Online      int  `json:"Online"`
	Reserved    int  `json:"Reserved"`
	Busy        int  `json:"Busy"`
	Offline     int  `json:"Offline"`
	Waiting     int  `json:"Waiting"`  // requests that wait for a worker
	PeerWorkers int  `json:"Abroad"`   // workers with a browser on other nodes that take tasks
	Sessions    int  `json:"Sessions"` // that hold a worker
	Queued      int  `json:"Queued"`   // tasks that wait in the queue
}

// Ready reports whether a request has a chance: at least one worker has a
// browser, here or on another node, and the node is not about to stop.
func (s Status) Ready() bool { return !s.Draining && (s.Workers > s.Offline || s.PeerWorkers > 0) }
