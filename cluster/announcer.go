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

// announcer tells the other nodes what this one has: soon after each change, and again
// and again while nothing changes.
type announcer struct {
	cfg   RouterConfig
	boot  string
	local Local
	edge  Edge

	changed chan struct{}                  // a worker has changed
	greet   atomic.Bool                    // a node is up that may have heard nothing yet
	last    atomic.Pointer[link.Inventory] // what was told last
}

func (a *announcer) init(cfg RouterConfig, first *link.Inventory) {
	a.cfg, a.boot, a.changed = cfg, first.Boot, make(chan struct{}, 1)
	a.last.Store(first)
}

// rouse lets the node look whether there is something to tell.
func (a *announcer) rouse() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

const (
	// tellRest is what passes between two tellings when much changes, and tellEvery
	// where others can wait for it. What has not changed is said again tellAgain
	// later, for who has missed it.
	tellRest  = 25 * time.Millisecond
	tellEvery = 300 * time.Millisecond
	tellAgain = 2 * time.Second
)

// tellAll tells the other nodes of this one.
func (a *announcer) tellAll(done <-chan struct{}) {
	var told *link.Inventory
	rest, tick := time.NewTimer(0), time.NewTicker(tellEvery)
	defer rest.Stop()
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-rest.C:
		}
		told = a.tell(told)
		rest.Reset(tellRest)
		select {
		case <-done:
			return
		case <-tick.C:
		case <-a.changed:
		}
	}
}

// tell tells the others of this node, where that is news to them or they have
// not heard of it for long. It returns what they were told last.
func (a *announcer) tell(told *link.Inventory) *link.Inventory {
	ctx, cancel := context.WithTimeout(context.Background(), wordMost)
	defer cancel()
	all, err := api.Ask(ctx, a.local, &api.SurveyWorkers{})
	if err != nil {
		a.cfg.Log.Error().Err(err).Msg("the workers could not be counted for the other nodes")
		return told
	}
	s := a.local.Status()
	i := &link.Inventory{
		Node: a.cfg.Node, Boot: a.boot, Version: a.cfg.Version, Sent: time.Now(),
		Draining: s.Draining || a.edge.Drains(), Waiting: s.Waiting, Workers: all.Workers, Held: a.local.Held(),
	}
	a.last.Store(i)
	if greet := a.greet.Swap(false); told != nil && !greet && !isDue(i, told) {
		return told
	}
	a.publish(i)
	return i
}

// isDue reports whether others are to be told of it now, after what they were told
// last.
func isDue(i, told *link.Inventory) bool {
	if i.Changed(told) {
		return true
	}
	least := tellEvery
	if i.Draining == told.Draining && i.Waiting == told.Waiting && slices.Equal(i.Workers, told.Workers) && maps.Equal(i.Held, told.Held) {
		least = tellAgain
	}
	return i.Sent.Sub(told.Sent) >= least-tellRest // a tick may come a moment early
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
