package answer

import (
	"troupe/actors/api"
)

// Cluster is what a node knows of all nodes. It is a hint: each entry has its age.
type Cluster struct {
	Success  bool          `json:"success"`
	Node     string        `json:"node"`             // the one that answers
	Leader   string        `json:"leader,omitempty"` // of what the nodes keep in common; empty: none is known
	Majority bool          `json:"majority"`         // the node sees enough others to write
	Nodes    []ClusterNode `json:"nodes"`
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
}
