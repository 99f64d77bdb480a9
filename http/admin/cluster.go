package admin

import (
	"context"
	"errors"
	"time"

	"troupe/actors"
	"troupe/http/answer"
)

// ShowCluster returns what the node knows of all nodes.
type ShowCluster struct{}

func (ShowCluster) path() string { return "/cluster/show" }

// Do is part of [Command].
func (ShowCluster) Do(ctx context.Context, o *Admin) (answer.Cluster, error) {
	if o.Service != nil {
		if all, ok := o.Service.Cluster(ctx); ok {
			return all, nil
		}
	}
	return answer.Cluster{}, errors.New("the service is not a node of a cluster")
}

// ImportData brings what a single node has left in a folder of this machine into
// the cluster. It may take its time, and may be repeated.
type ImportData struct {
	From string `json:"from"`
}

func (ImportData) path() string { return "/cluster/import" }

func (i ImportData) about() string { return i.From }

func (ImportData) takes() time.Duration { return time.Hour }

// Do is part of [Command].
func (i ImportData) Do(ctx context.Context, o *Admin) (*actors.Imported, error) {
	if o.Import == nil {
		return nil, errors.New("the service is not a node of a cluster: only a cluster can import data")
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

func (RemoveNode) path() string { return "/cluster/remove" }

func (r RemoveNode) about() string { return r.Node }

func (RemoveNode) takes() time.Duration { return time.Minute }

// Do is part of [Command].
func (r RemoveNode) Do(ctx context.Context, o *Admin) (NodeRemoved, error) {
	if o.RemoveNode == nil {
		return NodeRemoved{}, errors.New("the service is not a node of a cluster")
	}
	return NodeRemoved(r), o.RemoveNode(ctx, r.Node)
}
