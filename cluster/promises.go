package cluster

import (
	"context"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"troupe/cluster/link"
)

// Pings carry the leases of the nodes: see actors/lease/promises.go. An answer has a stamp, and the
// next ping of a node that has promised something for it brings that stamp back. Both are
// headers, which earlier releases neither send nor read.

// promisedStamps are those that the next pings bring back.
type promisedStamps struct {
	mu   sync.Mutex
	told map[string]string // by node
}

func (p *promisedStamps) set(node, stamp string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told[node] = stamp
}

func (p *promisedStamps) take(node string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	stamp := p.told[node]
	delete(p.told, node)
	return stamp
}

// ping asks a node which process it is.
func (c *Router) ping(ctx context.Context, node string) (boot string, err error) {
	m := nats.NewMsg(link.Subject(node, "ping"))
	if stamp := c.promised.take(node); stamp != "" {
		m.Header.Set(link.PromisedHeader, stamp)
		m.Header.Set(link.KeeperHeader, c.cfg.Node)
	}
	r, err := c.cfg.Conn.RequestMsgWithContext(ctx, m)
	if err != nil {
		return "", err
	}
	if stamp := r.Header.Get(link.StampHeader); stamp != "" && c.local.PromiseLease(node, stamp) {
		c.promised.set(node, stamp)
	}
	return string(r.Data), nil
}

// onPing answers a ping.
func (c *Router) onPing(m *nats.Msg) {
	if stamp := m.Header.Get(link.PromisedHeader); stamp != "" {
		c.local.LeasePromised(m.Header.Get(link.KeeperHeader), stamp)
	}
	answer := nats.NewMsg(m.Reply)
	answer.Data = []byte(c.boot)
	if stamp := c.local.LeaseStamp(); stamp != "" {
		answer.Header.Set(link.StampHeader, stamp)
	}
	_ = m.RespondMsg(answer)
}

// Keepers implements [actors.Peers]: the nodes that keep the store, or may, once all of
// them are known.
func (c *Router) Keepers() []string {
	if c.cfg.Members == nil {
		return nil
	}
	var all []string
	if !c.peers.workerNode {
		all = append(all, c.cfg.Node)
	}
	for _, p := range c.peers.known() {
		if p.inventory.Version != "" && p.inventory.Role != link.RoleWorker { // of others only a message has come
			all = append(all, p.name)
		}
	}
	if len(all) != c.cfg.Members() {
		return nil
	}
	slices.Sort(all)
	return all
}
