package answer

import (
	"troupe/actors/api"
)

// Cluster is what a node knows of all nodes. It is a hint: each entry has its age.
type Cluster struct {
	Success  bool          `json:"success"`
	Node     string        `json:"node"`             // the one that answers
	Leader   string        `json:"leader,omitempty"` // of what the nodes keep in common; empty: none is known
	Majority bool          `json:"majority"`         // the node sees a majority of all nodes
	Nodes    []ClusterNode `json:"nodes"`

	// Health is how the node that answers stands to what the nodes keep in common: well,
	// electing, behind, cut_off or no_quorum. Reason says why it is not well.
	Health string `json:"health,omitempty"`
	Reason string `json:"reason,omitempty"`
	Writes bool   `json:"writes"` // it can be written here
	// Losses is how many more nodes may be lost, whichever they are, before it cannot.
	Losses int            `json:"losses"`
	Groups []ClusterGroup `json:"groups,omitempty"`
}

// ClusterGroup is the nodes that keep a part of what all have in common.
type ClusterGroup struct {
	Keeps  string        `json:"keeps"`            // records or files
	Leader string        `json:"leader,omitempty"` // empty: there is none, or it does not answer
	Quorum int           `json:"quorum"`           // so many of them have to be current
	Copies []ClusterCopy `json:"copies"`
}

// ClusterCopy is what one of them has.
type ClusterCopy struct {
	Node    string `json:"node"`
	Current bool   `json:"current"` // it is there and has everything, as far as is known
}

// ClusterNode is one node of them.
type ClusterNode struct {
	Node     string            `json:"node"`
	Up       bool              `json:"up"`
	Since    string            `json:"since"` // when that was noticed
	Age      int64             `json:"age"`   // of what follows, in milliseconds
	Version  string            `json:"version"`
	Draining bool              `json:"draining"`
	Waiting  int               `json:"waiting"` // requests
	Workers  map[api.State]int `json:"workers"` // by state
	// Lag is how many changes its copy of what the nodes keep in common is behind
	// the leader's; missing: it keeps none, or nobody knows.
	Lag *int64 `json:"lag,omitempty"`
	// Health is the node's own word on how it stands to that; missing: it gives none.
	Health string `json:"health,omitempty"`
	// Outside is which releases the node understands, if the node that answers is of none
	// of them: they have nothing to do with each other.
	Outside string `json:"outside,omitempty"`
	// Role is what the node is for, if it says so; missing: it keeps the records, or may,
	// and may have workers.
	Role string `json:"role,omitempty"`
}
