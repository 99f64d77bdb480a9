package api

import "time"

// EndLease asks a node that keeps the store whether it helps to end the lease of a node,
// by the revision of its record. Reply: [LeaseEnds].
type EndLease struct {
	Node     string `json:"node"`
	Revision uint64 `json:"revision"`
	Look     bool   `json:"look"` // only for the count
}

// LeaseEnds answers [EndLease].
type LeaseEnds struct {
	OK    bool          `json:"ok"`
	Rest  time.Duration `json:"rest"`  // after which to ask again
	Count uint64        `json:"count"` // of the promises that the node of the lease got
}

func (*EndLease) reply(*LeaseEnds) {}

var _ = define(definition[EndLease, LeaseEnds]{number: 62, reply: 63})
