package cluster

// heldMost is more than a node holds of any account's day.
const heldMost = 1 << 40

// Held is how much of an account's day the other nodes hold and have not used, as
// far as they have told. What one holds that is down counts as used.
func (c *Router) Held(account string) (n int64) {
	for _, p := range c.peers.known() {
		if p.up {
			n += min(max(p.inventory.Held[account], 0), heldMost)
		}
	}
	return n
}
