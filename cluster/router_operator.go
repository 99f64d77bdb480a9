package cluster

import (
	"context"
	"fmt"

	"troupe/actors/api"
	"troupe/cluster/link"
)

// The node that has the worker runs an operator's command. If a named node does not
// answer, the command fails: nothing is kept for that node.

// Edge is what this node shows to clients.
type Edge interface {
	// Drains reports whether new tasks are refused; Pause begins or ends that.
	Drains() bool
	Pause(on bool)
	Status() api.Status
	// LinkViewers returns how many clients use each link of an account.
	LinkViewers(account string) map[string]int
}

// Pause makes a node refuse tasks, or accept them again, and returns its status; nil
// changes nothing. An empty name is this node.
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
		c.Changed(api.WorkerInfo{}) // the others learn it soon
	}
	s := c.edge.Status()
	return &s
}

// LinkViewers returns how many clients of other nodes use each link of an account.
func (c *Router) LinkViewers(ctx context.Context, account string) map[string]int {
	all := map[string]int{}
	for _, x := range askAll[link.LinkViewersReply](ctx, &c.remote, &link.LinkViewers{Account: account}) {
		for id, n := range x.By {
			all[id] += n
		}
	}
	return all
}
