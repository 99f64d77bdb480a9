package schedule

import "troupe/actors/api"

// PeerCapacity is what pool knows of other nodes, by name: hints, each from the
// node's last offer.
type PeerCapacity map[string]*api.PeerCapacity

// Update replaces the last offer of a node. An offer of nothing removes the node.
func (a PeerCapacity) Update(o *api.PeerCapacity) *api.PeerCapacity {
	copied := *o
	if a[o.Node] = &copied; o.Free == 0 && o.Usable == 0 && len(o.Own) == 0 && len(o.Held) == 0 {
		delete(a, o.Node)
	}
	return &copied
}

// Best is the node that has the most workers for an account; nil: none has any.
func (a PeerCapacity) Best(account string) *api.PeerCapacity {
	var best *api.PeerCapacity
	for _, o := range a {
		n := o.For(account)
		if n > 0 && (best == nil || n > best.For(account) || n == best.For(account) && o.Node < best.Node) {
			best = o
		}
	}
	return best
}

// Held is how many workers the sessions of an account hold on other nodes.
func (a PeerCapacity) Held(account string) (n int) {
	for _, o := range a {
		n += o.Held[account]
	}
	return n
}

// Usable is how many workers other nodes have that take tasks.
func (a PeerCapacity) Usable() (n int) {
	for _, o := range a {
		n += o.Usable
	}
	return n
}
