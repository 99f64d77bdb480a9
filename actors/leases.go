package actors

import (
	"context"
	"fmt"

	"troupe/actors/api"
	"troupe/actors/lease"
)

// openLeases makes the lease of the node, and its view of those of others.
func (n *nodeParts) openLeases() {
	cfg := lease.Config{Store: n.cfg.Store, Node: n.cfg.Node, Boot: n.boot, Duration: n.cfg.Session.Lease, WorkerNode: n.cfg.WorkerNode, Log: n.log}
	if n.cfg.Peers != nil {
		cfg.Keepers, cfg.Ask = n.cfg.Peers.Keepers, n.askKeeper
	}
	if n.leases = lease.New(cfg); n.leases != nil {
		n.leases.Notify(n.onLeaseLost, n.confirmSessions)
	}
}

// askKeeper asks a node that keeps the store to agree to the end of a lease.
func (n *nodeParts) askKeeper(ctx context.Context, keeper, node string, revision uint64, look bool) (lease.Ends, error) {
	x, err := n.cfg.Peers.Ask(ctx, keeper, &api.EndLease{Node: node, Revision: revision, Look: look})
	if err != nil {
		return lease.Ends{}, err
	}
	e, ok := x.(*api.LeaseEnds)
	if !ok {
		return lease.Ends{}, fmt.Errorf("ask %s to end a lease: the reply is a %T", keeper, x)
	}
	return lease.Ends{OK: e.OK, Rest: e.Rest, Count: e.Count}, nil
}

var _ = handleInNode(func(n *Node, _ context.Context, m *api.EndLease) (*api.LeaseEnds, error) {
	e := n.parts.leases.Agree(m.Node, m.Revision, m.Look)
	return &api.LeaseEnds{OK: e.OK, Rest: e.Rest, Count: e.Count}, nil
})

// LeaseStamp is what the node answers to pings of others; empty: nothing.
func (n *Node) LeaseStamp() string { return n.parts.leases.Stamp() }

// PromiseLease takes the stamp of another node. True: that node has to be told that this one
// promises something for it.
func (n *Node) PromiseLease(node, stamp string) bool { return n.parts.leases.Promise(node, stamp) }

// LeasePromised takes the promise of another node for a stamp of this one.
func (n *Node) LeasePromised(keeper, stamp string) { n.parts.leases.Promised(keeper, stamp) }
