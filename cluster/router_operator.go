package cluster

import (
	"context"
	"fmt"

	"troupe/actors/api"
	"troupe/cluster/link"
)

// The operator's commands are carried out by the node that has the worker. A node
// that is named and does not answer is an error: nothing is kept for it.

// Edge is what this node shows to clients.
type Edge interface {
	// Drains says that no new tasks are taken; Pause lets it be so, or not.
	Drains() bool
	Pause(on bool)
	Status() api.Status
	// Looking returns how many clients use each link of an account.
	Looking(account string) map[string]int
}

// Pause lets a node take no more tasks, or take them again, and says how it is
// then; nil: it only says that. No name is this node.
func (c *Router) Pause(ctx context.Context, node string, on *bool) (api.Status, error) {
	if node == "" || node == c.cfg.Node {
		return *c.pauseHere(&link.PauseNode{On: on}), nil
	}
	x, err := c.remote.askNamed(ctx, node, &link.PauseNode{On: on}, replyTimeout)
	if err != nil {
		return api.Status{}, err
	}
	s, ok := x.(*api.Status)
	if !ok {
		return api.Status{}, fmt.Errorf("ask %s: it answers a pause with %T", node, x)
	}
	return *s, nil
}

func (c *Router) pauseHere(m *link.PauseNode) *api.Status {
	if m.On != nil {
		c.edge.Pause(*m.On)
		c.Changed(api.WorkerInfo{}) // the others are told soon
	}
	s := c.edge.Status()
	return &s
}

// Looking returns how many clients of other nodes use each link of an account.
func (c *Router) Looking(ctx context.Context, account string) map[string]int {
	all := map[string]int{}
	for _, x := range askAll[link.LinkViewersReply](ctx, &c.remote, &link.LinkViewers{Account: account}) {
		for id, n := range x.By {
			all[id] += n
		}
	}
	return all
}
