package main

import (
	"context"
	"time"

	"troupe/actors/api"
	"troupe/cluster"
	"troupe/cluster/store"
	"troupe/http/answer"
	"troupe/http/telemetry"
)

// ownHealth is what this node tells the others of how it stands to the store.
func (s *service) ownHealth() *cluster.Health {
	h := s.shared.Health()
	return &cluster.Health{State: string(h.State), Behind: h.Behind}
}

// away says of which nodes the copies do not count: of those that are down, and of
// those that say that they are behind. A node that says nothing is of another release:
// its leader's word counts.
func away(nodes []cluster.Node) func(node string) bool {
	gone := map[string]bool{}
	for _, n := range nodes {
		gone[n.Name] = !n.Up || n.Store != nil && !store.State(n.Store.State).Current()
	}
	return func(node string) bool {
		out, known := gone[node]
		return out || !known
	}
}

// losses is how many more nodes may be lost, whichever they are, before nothing can be
// written.
func (s *service) losses(h store.Health, away func(string) bool) int {
	n := s.member.Losses()
	if s.member.Attached() && n >= 0 { // it is connected to one node, whichever
		n = s.member.Members()
	}
	for _, g := range h.Groups {
		n = min(n, g.Losses(away))
	}
	return max(n, 0)
}

// clusterStatus has the state of the nodes; nil: there are no others.
func (s *service) clusterStatus() func(context.Context) answer.Cluster {
	if s.router == nil {
		return nil
	}
	return func(ctx context.Context) answer.Cluster {
		h, _ := s.shared.Look(ctx) // a leader that does not answer is seen by that
		nodes := s.router.Nodes()
		out := away(nodes)
		c := answer.Cluster{
			Success: true, Node: s.Cluster.Node, Leader: h.Leader(), Majority: s.member.Majority(),
			Health: string(h.State), Reason: h.Reason, Writes: h.Writes, Losses: s.losses(h, out),
		}
		for _, g := range h.Groups {
			c.Groups = append(c.Groups, groupAnswer(g, out))
		}
		lags := h.Lags()
		for _, n := range nodes {
			one := nodeAnswer(n)
			if lag, known := lags[n.Name]; known {
				if n.Store != nil { // the leader counts what has arrived, and the node what it has taken in
					lag = max(lag, n.Store.Behind)
				}
				one.Lag = &lag
			}
			c.Nodes = append(c.Nodes, one)
		}
		return c
	}
}

func nodeAnswer(n cluster.Node) answer.ClusterNode {
	one := answer.ClusterNode{
		Node: n.Name, Up: n.Up, Since: n.Since.UTC().Format(time.RFC3339Nano), Age: time.Since(n.Heard).Milliseconds(),
		Version: n.Version, Draining: n.Draining, Waiting: n.Waiting, Workers: map[api.State]int{}, Outside: n.Outside, Role: n.Role,
	}
	for _, w := range n.Workers {
		one.Workers[w.State]++
	}
	if n.Up && n.Store != nil {
		one.Health = n.Store.State
	}
	return one
}

func groupAnswer(g store.Group, away func(string) bool) answer.ClusterGroup {
	keeps := "records"
	if g.Stream == store.FileStream {
		keeps = "files"
	}
	one := answer.ClusterGroup{Keeps: keeps, Leader: g.Leader, Quorum: g.Quorum(), Copies: []answer.ClusterCopy{}}
	for _, c := range g.Copies {
		one.Copies = append(one.Copies, answer.ClusterCopy{Node: c.Node, Current: g.Leader != "" && c.Reached && !away(c.Node)})
	}
	return one
}

// clusterNumbers has the same for the metrics of this node.
func (s *service) clusterNumbers() telemetry.Cluster {
	told, h, nodes := s.router.Counters(), s.shared.Health(), s.router.Nodes()
	out := away(nodes)
	c := telemetry.Cluster{
		Size: s.member.Members(), Majority: s.member.Majority(), Leads: h.Leader() == s.Cluster.Node,
		Writes: h.Writes, Losses: s.losses(h, out), State: string(h.State),
		Forwarded: told.Forwarded, Lost: told.Lost,
	}
	for _, state := range store.States {
		c.States = append(c.States, string(state))
	}
	for _, n := range nodes {
		switch {
		case n.Outside != "":
			c.Outside++
		case n.Up:
			c.Up++
			c.Age = max(c.Age, time.Since(n.Heard))
		}
	}
	// Of the records and the files those count that have fewer current copies.
	for i, g := range h.Groups {
		current := 0
		for _, one := range groupAnswer(g, out).Copies {
			if one.Current {
				current++
			}
		}
		if i == 0 || len(g.Copies)-current > c.Copies-c.Current {
			c.Copies, c.Current = len(g.Copies), current
		}
	}
	if c.Leads { // or each lag would be an alarm of every node
		for _, lag := range h.Lags() {
			c.Lag = max(c.Lag, lag)
		}
	}
	return c
}

// clusterNotices are what the operator of a node has to know although it runs.
func (s *service) clusterNotices() (all []string) {
	if h := s.shared.Health(); h.Reason != "" && h.State != store.Behind { // which is why it is not ready
		all = append(all, h.Reason)
	}
	return all
}

// degraded reports whether nothing can be written down although tasks run.
func (s *service) degraded() bool {
	if s.shared == nil {
		return false
	}
	state := s.shared.Health().State
	return state == store.CutOff || state == store.NoQuorum
}

// unready says why this service should be given no requests now. A rolling update
// waits for it, so that another one does not stop before this one has what only
// the two have.
func (s *service) unready() string {
	if s.member == nil {
		return s.blocked()
	}
	if no := s.member.Stopped(); no != "" {
		return no
	}
	if no := s.router.Outside(); no != "" {
		return no
	}
	if !s.member.Whole() {
		return "this node is still fetching the cluster's data: do not stop another node"
	}
	if h := s.shared.Health(); h.State == store.Behind {
		return h.Reason
	}
	return s.blocked()
}
