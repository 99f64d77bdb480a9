package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"troupe/engine"
	"troupe/persistence"
)

// Health is how a node sees the cluster. Another node may see it otherwise.
type Health struct {
	// Ready: what is replicated can be read and written here.
	Ready bool `json:"ready"`
	// Reason says why it is not.
	Reason string `json:"reason,omitempty"`
	// Leader is the node that leads the cluster, empty without a leader.
	Leader string `json:"leader,omitempty"`
	// Nodes are the members, as the leader knows them. Other nodes than the leader
	// have older reports.
	Nodes []NodeHealth `json:"nodes,omitempty"`
}

// NodeHealth is how a node is seen by another.
type NodeHealth struct {
	Name      string        `json:"name"`
	Connected bool          `json:"connected"` // a connection stands to it now
	Current   bool          `json:"current"`   // it has heard of everything
	Lag       uint64        `json:"lag"`       // how many changes it is behind
	Silent    time.Duration `json:"silent"`    // since it was last heard of
}

// Peers are the other nodes that a connection stands to now, in order. Worker nodes are
// none of them.
func (m *Member) Peers() []string {
	if m.Attached() {
		if hub := m.Hub(); hub != "" {
			return []string{hub}
		}
		return nil
	}
	routes, err := m.Engine().Routez(nil)
	if err != nil {
		return nil
	}
	var names []string
	for _, r := range routes.Routes {
		// A dialled route is listed before the other side has accepted us. A side that
		// has accepted us sends its subscriptions.
		if r.RemoteName != "" && (r.NumSubs > 0 || r.InMsgs > 0) {
			names = append(names, r.RemoteName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Leader is the node that leads the cluster, empty without a leader. A node
// that was cut off may name the old one for some seconds.
func (m *Member) Leader() string {
	if m.Attached() {
		return "" // the health of the store says it
	}
	if m.Size() == 1 {
		return m.Name()
	}
	info, err := m.Engine().Jsz(nil)
	if err != nil || info.Meta == nil {
		return ""
	}
	return info.Meta.Leader
}

// Majority reports whether this node has connections to enough others to be
// part of a majority. A worker node is part of one if the node is that it is connected
// to.
func (m *Member) Majority() bool { return m.Losses() >= 0 }

// Losses is how many of the nodes that this one sees may be lost before it sees no
// majority; negative: it sees none now. A worker node sees one at a time.
func (m *Member) Losses() int {
	switch {
	case !m.Attached():
	case m.Hub() == "" || m.minority.Load():
		return -1
	default:
		return m.Members()
	}
	return len(m.Peers()) + 1 - (m.Members()/2 + 1)
}

// Members is how many nodes take part: those that the configuration names, until
// one has joined or was removed.
func (m *Member) Members() int {
	if m.Attached() {
		return max(int(m.members.Load()), minNodes)
	}
	if info, err := m.Engine().Jsz(nil); err == nil && info.Meta != nil && info.Meta.Size > 0 {
		return info.Meta.Size
	}
	return m.Size()
}

// Empty reports whether this node has nothing of what the nodes have agreed on: it is
// new, or its folder was emptied, or no cluster has begun yet.
func (m *Member) Empty() bool {
	if m.Attached() {
		return false
	}
	all := m.Engine().Raftz(&server.RaftzOptions{GroupFilter: "_meta_"})
	if all == nil {
		return false
	}
	for _, groups := range *all {
		for _, g := range groups {
			return g.PIndex == 0
		}
	}
	return false
}

// Health looks at the cluster from here.
func (m *Member) Health() Health {
	var h Health
	if m.Attached() {
		if h.Ready = m.Majority(); !h.Ready {
			h.Reason = "no node that keeps the store and sees a majority is reached"
		}
		return h
	}
	connected := m.Peers()
	info, err := m.Engine().Jsz(nil)
	switch {
	case err != nil:
		h.Reason = err.Error()
	case m.Size() == 1:
		h.Leader = m.Name()
	case info.Meta != nil:
		h.Leader = info.Meta.Leader
		for _, p := range info.Meta.Replicas {
			h.Nodes = append(h.Nodes, NodeHealth{
				Name: p.Name, Connected: p.Name == m.Name() || slices.Contains(connected, p.Name),
				Current: p.Current, Lag: p.Lag, Silent: p.Active,
			})
		}
	}
	slices.SortFunc(h.Nodes, func(a, b NodeHealth) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	if h.Reason != "" {
		return h
	}
	switch state := m.Engine().Healthz(&server.HealthzOptions{}); {
	case h.Leader == "":
		h.Reason = "there is no leader: fewer than a majority of the nodes are there"
	case !m.Majority():
		h.Reason = fmt.Sprintf("%d of %d nodes %s connected, which is no majority", len(connected)+1, m.Members(), engine.Plural(len(connected)+1, "is", "are"))
	case state.Status != "ok":
		h.Reason = state.Error
	default:
		h.Ready = true
	}
	return h
}

// Whole reports whether this node has had a copy of all that it is to keep, since
// it started. Until then the loss of another node may be that of what only two
// had.
func (m *Member) Whole() bool { return m.Attached() || m.whole.Load() }

// Ready waits until what is replicated can be used here, or for the end of the
// context: then it is [persistence.ErrNoQuorum] with the reason.
func (m *Member) Ready(ctx context.Context) error {
	if m.Attached() {
		return m.readyAttached(ctx)
	}
	for {
		h := m.Health()
		if h.Ready {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(persistence.ErrNoQuorum, errors.New(h.Reason), context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
