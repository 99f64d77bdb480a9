package cluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"troupe/cluster/link"
)

// foreignFor is how long a node counts as there that is only heard from.
const foreignFor = 4 * announceAgain

// speaker is a node of a release.
type speaker struct {
	name, version string
	speaks        link.Speaks
	began         time.Time // zero: its release does not say, so it is an old one
}

// outside says which of the nodes that are there must not take tasks: no two of the
// others fail to understand each other. Nodes that understand more of all come first,
// and of those that understand the same number the one that began first. It is given
// with the node that it does not understand.
//
// All nodes that know the same of each other come to the same result.
func outside(all []speaker) map[string]speaker {
	understood := make(map[string]int, len(all))
	for _, a := range all {
		for _, b := range all {
			if a.speaks.With(b.speaks) {
				understood[a.name]++
			}
		}
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b speaker) int {
		switch {
		case understood[a.name] != understood[b.name]:
			return understood[b.name] - understood[a.name]
		case !a.began.Equal(b.began):
			return a.began.Compare(b.began)
		}
		return strings.Compare(a.name, b.name)
	})
	out := map[string]speaker{}
	var in []speaker
	for _, a := range all {
		if i := slices.IndexFunc(in, func(b speaker) bool { return !a.speaks.With(b.speaks) }); i >= 0 {
			out[a.name] = in[i]
			continue
		}
		in = append(in, a)
	}
	return out
}

// releases knows the nodes that this one does not understand, and whether this one is
// outside because of them.
type releases struct {
	own     speaker
	mu      sync.Mutex
	foreign map[string]foreigner
	refusal atomic.Pointer[string]
}

// foreigner is such a node, as it was heard last.
type foreigner struct {
	inventory *link.Inventory
	heard     time.Time
}

func speakerOf(i *link.Inventory) speaker {
	return speaker{name: i.Node, version: i.Version, speaks: i.Release(), began: i.Began}
}

// heard takes in an inventory. It reports whether this node understands its sender, and
// whether the sender is a process that is heard for the first time.
func (r *releases) heard(i *link.Inventory, now time.Time) (understood, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.own.speaks.With(i.Release()) || i.Leaving {
		delete(r.foreign, i.Node)
		return r.own.speaks.With(i.Release()), false
	}
	was, known := r.foreign[i.Node]
	if !known && len(r.foreign) >= maxPeers {
		return false, false
	}
	if r.foreign == nil {
		r.foreign = map[string]foreigner{}
	}
	r.foreign[i.Node] = foreigner{i, now}
	return false, !known || was.inventory.Boot != i.Boot
}

// there are the nodes that this one does not understand.
func (r *releases) there(now time.Time) (all []foreigner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, f := range r.foreign {
		if now.Sub(f.heard) > foreignFor {
			delete(r.foreign, name)
			continue
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b foreigner) int { return strings.Compare(a.inventory.Node, b.inventory.Node) })
	return all
}

// look decides whether this node is outside, among those that are up and those that it
// does not understand. It reports whether that has changed. Up is asked only where there
// are nodes that it does not understand.
func (r *releases) look(up func() []speaker, now time.Time) (changed bool) {
	refusal := ""
	if foreign := r.there(now); len(foreign) > 0 {
		all := append([]speaker{r.own}, up()...)
		for _, f := range foreign {
			all = append(all, speakerOf(f.inventory))
		}
		if by, is := outside(all)[r.own.name]; is {
			refusal = fmt.Sprintf("this node understands %s of the cluster's messages, and %s (%s) understands %s: upgrade one release at a time", r.own.speaks, by.name, by.version, by.speaks)
		}
	}
	was := r.refusal.Swap(&refusal)
	return was == nil && refusal != "" || was != nil && *was != refusal
}

// Outside says why this node takes no tasks: its release and that of nodes that are
// there are no neighbours. It is empty otherwise.
func (c *Router) Outside() string {
	if no := c.releases.refusal.Load(); no != nil {
		return *no
	}
	return ""
}

// lookAtReleases is called when an inventory has come, and again and again.
func (c *Router) lookAtReleases() {
	up := func() (all []speaker) {
		for _, p := range c.peers.known() {
			if p.up && p.inventory.Version != "" { // of others only a message has come
				all = append(all, speakerOf(p.inventory))
			}
		}
		return all
	}
	if !c.releases.look(up, time.Now()) {
		return
	}
	if no := c.Outside(); no != "" {
		c.cfg.Log.Error().Str("reason", no).Msg("this node takes no tasks: the others go on without it")
	} else {
		c.cfg.Log.Info().Msg("this node takes tasks again: it understands all nodes that are there")
	}
	c.own.notify()
}
