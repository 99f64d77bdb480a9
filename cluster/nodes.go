package cluster

import (
	"slices"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
)

// Node is what is known of a node, and how old that is.
type Node struct {
	Name     string
	Up       bool
	Since    time.Time // of being up or down
	Heard    time.Time // of what follows
	Version  string
	Draining bool
	Waiting  int
	Workers  []api.WorkerInfo
	Store    *Health // as the node says itself; nil: it says nothing
	// Outside is which releases the node understands, where those are not this node's:
	// they have nothing to do with each other.
	Outside string
	Role    string // empty: it keeps the store, or may
}

// Health is how a node stands to the shared store.
type Health = link.Health

// Nodes lists all known nodes by name, this one included.
func (c *Router) Nodes() []Node {
	own := c.own.last.Load()
	all := []Node{nodeOf(own, true, c.began, own.Sent)}
	for _, p := range c.peers.known() {
		all = append(all, nodeOf(p.inventory, p.up, p.since, p.lastHeard))
	}
	for _, f := range c.releases.there(time.Now()) {
		n := nodeOf(f.inventory, true, f.heard, f.heard)
		n.Outside = f.inventory.Release().String()
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func nodeOf(i *link.Inventory, up bool, since, heard time.Time) Node {
	return Node{
		Name: i.Node, Up: up, Since: since, Heard: heard, Version: i.Version,
		Draining: i.Draining || i.Leaving, Waiting: i.Waiting, Workers: i.Workers, Store: i.Store, Role: i.Role,
	}
}

// Count is how many nodes are up, this one included.
func (c *Router) Count() int { return len(c.peers.upNodes(nil)) + 1 }

// maxHeld is more than a node holds of any account's day.
const maxHeld = 1 << 40

// Held is how much of an account's day the other nodes hold and have not used, by their
// last reports. The share of a node that is down counts as used.
func (c *Router) Held(account string) (n int64) {
	for _, p := range c.peers.known() {
		if p.up {
			n += min(max(p.inventory.Held[account], 0), maxHeld)
		}
	}
	return n
}
