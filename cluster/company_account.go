package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"troupe/actors"
)

// RemoveAccount ends what an account has on all nodes that are up: see
// [actors.Node.RemoveAccount]. One that is down has its own to end at its next
// start, before it takes any task; should it only have been away, it is told when
// it is back.
func (c *Company) RemoveAccount(ctx context.Context, m *actors.RemoveAccount) (*actors.AccountRemoved, error) {
	for _, p := range c.peers.known() {
		if !p.up {
			c.trips.giveUp(p.name, m)
		}
	}
	nodes := c.peers.ups(nil)
	counts, errs := make([]*actors.AccountRemoved, len(nodes)), make([]error, len(nodes))
	var asked sync.WaitGroup
	for i, node := range nodes {
		asked.Go(func() {
			alive, up := c.peers.aliveness(node)
			if !up {
				c.trips.giveUp(node, m)
				return
			}
			ctx, cancel := within(ctx, alive, pollMost)
			defer cancel(nil)
			counts[i], errs[i] = askFor[actors.AccountRemoved](ctx, c.wires, node, m)
			if undelivered(errs[i]) || lost(errs[i]) {
				errs[i] = nil                                    // it is down now
				if c.trips.giveUp(node, m); c.peers.isUp(node) { // and back already
					c.tellGivenUp(node)
				}
			}
		})
	}
	all, err := c.local.RemoveAccount(ctx, m)
	asked.Wait()
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("remove an account on all nodes: %w", err)
	}
	for _, n := range counts {
		if n != nil {
			all.Tasks, all.Sessions, all.Workers = all.Tasks+n.Tasks, all.Sessions+n.Sessions, all.Workers+n.Workers
		}
	}
	return all, nil
}

// heldMost is more than a node holds of any account's day.
const heldMost = 1 << 40

// Held is how much of an account's day the other nodes hold and have not used, as
// far as they have told. What one holds that is down counts as used.
func (c *Company) Held(account string) (n int64) {
	for _, p := range c.peers.known() {
		if p.up {
			n += min(max(p.inventory.Held[account], 0), heldMost)
		}
	}
	return n
}
