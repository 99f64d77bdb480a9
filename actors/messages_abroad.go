package actors

import "time"

// What nodes tell each other of what is free.

// Offer is what another node was last heard to have. It is a hint: only the
// workers there know, and may refuse what is sent to them.
type Offer struct {
	Node string
	Free int            // shared workers that would take a task
	Own  map[string]int // workers that would, by the account that they are for
	Held map[string]int // workers that sessions hold, by account
	// Usable is how many of its workers have a browser, and so may be free in a
	// while; zero: it takes no tasks, or is not there.
	Usable int
}

// Elsewhere is in the refusal of a task that may roam: another node is said to
// have a worker for it. A task that is refused there, too, is sent again with
// its Place.
type Elsewhere struct {
	Node  string `json:"Node"`
	Place Place  `json:"Place"`
}

// Restore asks a node to go on with a session whose own node is not there any
// more. Reply: [Restored].
type Restore struct {
	Session string  `json:"Session"`
	Account Account `json:"Account"`
	Worker  string  `json:"Worker"` // that the request names; empty: none
	Lost    string  `json:"Lost"`   // the node that does not answer; empty: none is known to
	// Away: the node takes no more tasks, and so no session.
	Away bool `json:"-"`
}

// Restored answers [Restore]: a refusal, or the node that has the session now, by
// its record. That is the one that was asked, if it has restored it.
type Restored struct {
	Node    string   `json:"Node"`
	Refusal *Refusal `json:"Refusal"`
}

// Place is what a task keeps of its waiting while it tries its luck elsewhere.
// Its fields are for the pool that has given it.
type Place struct {
	Until   time.Time `json:"Until"` // it waits no longer
	Arrival uint64    `json:"Arrival"`
	Turn    uint64    `json:"Turn"`
	Refused string    `json:"Refused"` // the node that had nothing free after all
}
