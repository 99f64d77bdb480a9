package http

import (
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// Cluster is what a node knows of all nodes. It is a hint: how old what is said
// of a node is stands beside it.
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

// cluster tells of the nodes.
func (s *Server) cluster(ctx *fasthttp.RequestCtx, _ persistence.Account) *refusal {
	if s.cfg.Cluster == nil {
		return refuseText(engine.CodeNotFound, "This service is no node of a cluster")
	}
	sendJSON(ctx, fasthttp.StatusOK, s.cfg.Cluster(s.base))
	return nil
}

// ShowCluster tells the operator the same.
type ShowCluster struct{}

func (ShowCluster) path() string { return "/cluster/show" }

// Do is part of [Order].
func (ShowCluster) Do(ctx context.Context, o *Office) (Cluster, error) {
	if o.Edge == nil || o.Edge.cfg.Cluster == nil {
		return Cluster{}, errors.New("the service is no node of a cluster")
	}
	return o.Edge.cfg.Cluster(ctx), nil
}

// ImportData brings what a single node has left in a folder of this machine into
// the cluster. It may take its time, and may be repeated.
type ImportData struct {
	From string `json:"from"`
}

func (ImportData) path() string         { return "/cluster/import" }
func (i ImportData) about() string      { return i.From }
func (ImportData) takes() time.Duration { return time.Hour }

// Do is part of [Order].
func (i ImportData) Do(ctx context.Context, o *Office) (*actors.Imported, error) {
	if o.Import == nil {
		return nil, errors.New("the service is no node of a cluster: data is brought into one only")
	}
	return o.Import(ctx, i.From)
}

// RemoveNode takes a node that is down out of the cluster for ever.
type RemoveNode struct {
	Node string `json:"node"`
}

// NodeRemoved answers it.
type NodeRemoved struct {
	Node string `json:"node"`
}

func (RemoveNode) path() string         { return "/cluster/remove" }
func (r RemoveNode) about() string      { return r.Node }
func (RemoveNode) takes() time.Duration { return time.Minute }

// Do is part of [Order].
func (r RemoveNode) Do(ctx context.Context, o *Office) (NodeRemoved, error) {
	if o.RemoveNode == nil {
		return NodeRemoved{}, errors.New("the service is no node of a cluster")
	}
	return NodeRemoved(r), o.RemoveNode(ctx, r.Node)
}
