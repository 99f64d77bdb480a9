package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"troupe/cluster/link"
)

// A node that keeps the store hears of all nodes, and tells its worker nodes in digests:
// soon what has changed, up to a bound, and everything in turn. So what a worker node
// hears does not grow with the number of nodes. Decision 0035 says more.

const (
	// digestEvery is the least time between two digests.
	digestEvery = 500 * time.Millisecond
	// digestRest is how often some of the nodes are told that have not changed, and
	// digestTurn how many.
	digestRest = 2 * time.Second
	digestTurn = 4
	// digestNodes bounds the nodes in one digest, and answerNodes those in an answer.
	digestNodes = 24
	answerNodes = 64
	// digestWorkers bounds the workers of the nodes in a digest.
	digestWorkers = 1500
	// digestSilent is how long a node that keeps the store may tell nothing before it is
	// asked for everything.
	digestSilent = 3 * digestRest
)

// digester remembers what the worker nodes have been told.
type digester struct {
	told map[string]*link.Inventory
	news string // the last node that was told because it had changed
	turn string // the last node that was told in turn
	rest time.Time
}

func byNode(a, b *link.Inventory) int { return strings.Compare(a.Node, b.Node) }

// inventories are those of all nodes, this one included, by name. Nodes that are down say
// that they leave: to worker nodes it makes no difference.
func (c *Router) inventories() []*link.Inventory {
	all := []*link.Inventory{c.own.last.Load()}
	for _, p := range c.peers.known() {
		i := p.inventory
		if !p.up && !i.Leaving {
			gone := *i
			gone.Leaving, gone.Workers, gone.Held = true, nil, nil
			i = &gone
		}
		all = append(all, i)
	}
	slices.SortFunc(all, byNode)
	return all
}

// next are the inventories of the next digest.
func (d *digester) next(all []*link.Inventory, now time.Time) (some []*link.Inventory) {
	there, workers := map[string]bool{}, 0
	rest := now.Sub(d.rest) >= digestRest-digestEvery/2
	if rest {
		d.rest = now
	}
	var others []*link.Inventory
	first := max(slices.IndexFunc(all, func(i *link.Inventory) bool { return i.Node > d.news }), 0) // none is passed over for long
	for _, i := range slices.Concat(all[first:], all[:first]) {
		there[i.Node] = true
		told := d.told[i.Node]
		switch {
		case told == i:
		case (told == nil || told.Boot != i.Boot || told.Leaving != i.Leaving || i.Changed(told) || i.Capacity().Free != told.Capacity().Free) && len(some) < digestNodes && workers < digestWorkers:
			some, workers, d.news = append(some, i), workers+len(i.Workers), i.Node
			continue
		}
		others = append(others, i)
	}
	maps.DeleteFunc(d.told, func(node string, _ *link.Inventory) bool { return !there[node] })
	slices.SortFunc(others, byNode)
	if rest && len(others) > 0 {
		at := slices.IndexFunc(others, func(i *link.Inventory) bool { return i.Node > d.turn })
		for k := range min(digestTurn, len(others)) {
			if workers >= digestWorkers && k > 0 {
				break
			}
			i := others[(max(at, 0)+k)%len(others)]
			some, d.turn, workers = append(some, i), i.Node, workers+len(i.Workers)
		}
	}
	for _, i := range some {
		d.told[i.Node] = i
	}
	return some
}

// tellDigests tells this node's worker nodes of all nodes until done.
func (c *Router) tellDigests(done <-chan struct{}) {
	d := &digester{told: map[string]*link.Inventory{}}
	tick := time.NewTicker(digestEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		some := d.next(c.inventories(), time.Now())
		if len(some) == 0 {
			continue
		}
		b, err := link.Encode(&link.Digest{Node: c.cfg.Node, Nodes: some})
		if err == nil {
			err = c.cfg.Conn.Publish(link.DigestSubject(c.cfg.Node), b)
		}
		if err != nil {
			c.cfg.Log.Warn().Err(err).Msg("worker nodes could not be told of the nodes")
		}
	}
}

// answerDigest answers a worker node that has just connected.
func (c *Router) answerDigest(m *link.DigestQuery) *link.Digest {
	d := &link.Digest{Node: c.cfg.Node}
	for _, i := range c.inventories() {
		if i.Node <= m.After {
			continue
		}
		if len(d.Nodes) == answerNodes {
			d.Next = d.Nodes[len(d.Nodes)-1].Node
			break
		}
		d.Nodes = append(d.Nodes, i)
	}
	return d
}

// followDigests hears the node that this worker node is connected to, until done.
func (c *Router) followDigests(done <-chan struct{}) {
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	var sub *nats.Subscription
	hub, asked := "", time.Time{}
	defer func() {
		if sub != nil {
			_ = sub.Unsubscribe()
		}
	}()
	for {
		if now := c.cfg.Hub(); now != "" && now != hub {
			if sub != nil {
				_ = sub.Unsubscribe()
			}
			var err error
			if sub, err = c.cfg.Conn.Subscribe(link.DigestSubject(now), c.onDigest); err == nil {
				hub, asked = now, time.Time{}
				c.own.announceNext.Store(true)
				c.own.notify()
			}
		}
		heard := time.Unix(0, c.digested.Load())
		if hub != "" && (asked.IsZero() || time.Since(heard) > digestSilent && time.Since(asked) > digestRest) {
			asked = time.Now()
			if err := c.askDigest(hub); err != nil {
				asked = asked.Add(announceEvery - digestRest) // again soon
				c.cfg.Log.Debug().Err(err).Str("node", hub).Msg("the nodes are not known yet")
				hub = ""
			}
		}
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// askDigest asks for all nodes, and forgets those that are none any more.
func (c *Router) askDigest(hub string) error {
	there, began := map[string]bool{}, time.Now()
	for after := ""; ; {
		ctx, cancel := context.WithTimeout(context.Background(), replyTimeout)
		d, err := link.AskFor[link.Digest](ctx, c.transport, hub, &link.DigestQuery{After: after})
		cancel()
		if err != nil {
			return err
		}
		for _, i := range d.Nodes {
			there[i.Node] = true
		}
		c.takeDigest(d)
		if after = d.Next; after == "" {
			break
		}
	}
	c.peers.keep(there, began)
	return nil
}

func (c *Router) onDigest(msg *nats.Msg) {
	m, err := link.ReadMessage(msg)
	if d, ok := m.(*link.Digest); err == nil && ok {
		c.takeDigest(d)
	}
}

func (c *Router) takeDigest(d *link.Digest) {
	c.digested.Store(time.Now().UnixNano())
	for _, i := range d.Nodes {
		if i.Node == c.cfg.Node {
			continue
		}
		c.takeInventory(i)
		if !i.Leaving && c.peers.boot(i.Node) == i.Boot {
			c.peers.noteMessage(i.Node, i.Boot, i.Sent) // up, as far as that node knows
		}
	}
}
