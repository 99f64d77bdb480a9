package cluster

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
)

// announcer sends this node's inventory to the other nodes: soon after each change, and
// repeatedly while nothing changes.
type announcer struct {
	cfg   RouterConfig
	boot  string
	began time.Time
	local Local
	edge  Edge

	outside      func() string                  // why this node takes no tasks; empty: it does
	look         func()                         // again at the nodes that are not understood
	nodes        func() int                     // how many there are
	changed      chan struct{}                  // a worker has changed
	announceNext atomic.Bool                    // a node is up that may have heard nothing yet
	last         atomic.Pointer[link.Inventory] // what was told last
}

func (a *announcer) init(cfg RouterConfig, first *link.Inventory) {
	a.cfg, a.boot, a.began, a.changed = cfg, first.Boot, first.Began, make(chan struct{}, 1)
	a.last.Store(first)
}

// notify says that there may be something to announce.
func (a *announcer) notify() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

const (
	// announceGap is the least time between two announcements when much changes, and
	// announceEvery when others can wait. An unchanged inventory is repeated after
	// announceAgain, for nodes that missed it.
	announceGap   = 25 * time.Millisecond
	announceEvery = 300 * time.Millisecond
	announceAgain = 2 * time.Second
	// announceRest is the same for worker nodes.
	announceRest = 5 * time.Second
	// announceShare is how much less often each node announces for each node that there is,
	// where that is more than announceEvery. So all of them announce some hundred times a
	// second at most, however many they are.
	announceShare = 10 * time.Millisecond
)

// run announces this node to the others until done.
func (a *announcer) run(done <-chan struct{}) {
	var last *link.Inventory
	rest, tick := time.NewTimer(0), time.NewTicker(announceEvery)
	defer rest.Stop()
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-rest.C:
		}
		a.look()
		last = a.announce(last)
		rest.Reset(announceGap)
		select {
		case <-done:
			return
		case <-tick.C:
		case <-a.changed:
		}
	}
}

// announce sends this node's inventory to the others, if it has changed or the last
// one is old. It returns the inventory that they have.
func (a *announcer) announce(last *link.Inventory) *link.Inventory {
	ctx, cancel := context.WithTimeout(context.Background(), replyTimeout)
	defer cancel()
	all, err := api.Ask(ctx, a.local, &api.SurveyWorkers{})
	if err != nil {
		a.cfg.Log.Error().Err(err).Msg("the workers could not be counted for the other nodes")
		return last
	}
	s := a.local.Status()
	i := &link.Inventory{
		Node: a.cfg.Node, Boot: a.boot, Version: a.cfg.Version, Sent: time.Now(),
		Draining: s.Draining || a.edge.Drains() || a.outside() != "", Waiting: s.Waiting, Workers: all.Workers, Held: a.local.Held(),
		Speaks: &a.cfg.Speaks, Began: a.began, Role: a.cfg.Role,
	}
	if a.cfg.Store != nil {
		i.Store = a.cfg.Store()
	}
	a.last.Store(i)
	if announceNext := a.announceNext.Swap(false); last != nil && !announceNext && !isDue(i, last, a.nodes()) {
		return last
	}
	a.publish(i)
	return i
}

// isDue reports whether the others need the inventory now, after the last one that
// they got. There are so many nodes.
func isDue(i, last *link.Inventory, nodes int) bool {
	if i.Changed(last) {
		return true
	}
	least := announceAgain
	if i.Role == link.RoleWorker {
		least = announceRest
	}
	if i.Draining != last.Draining || i.Waiting != last.Waiting || !slices.Equal(i.Workers, last.Workers) || !maps.Equal(i.Held, last.Held) {
		least = min(least, max(announceEvery, time.Duration(nodes)*announceShare))
	}
	return i.Sent.Sub(last.Sent) >= least-announceGap // a tick may come a moment early
}

func (a *announcer) publish(i *link.Inventory) {
	b, err := link.Encode(i)
	if err == nil {
		err = a.cfg.Conn.Publish(link.InventorySubject, b)
	}
	if err != nil {
		a.cfg.Log.Error().Err(err).Msg("the other nodes could not be told of this one")
	}
}

// has reports whether a session is on this node.
func (a *announcer) has(session, account string) bool {
	for _, w := range a.last.Load().Workers {
		if w.Session == session && w.Account == account {
			return true
		}
	}
	return false
}

// holds reports whether a session of the account is on this node.
func (a *announcer) holds(account string) bool {
	for _, w := range a.last.Load().Workers {
		if w.Session != "" && w.Account == account {
			return true
		}
	}
	return false
}
