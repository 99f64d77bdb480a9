package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// lookEvery is how often a node asks the leaders of what it keeps with others:
	// one small question a second for the records and one for the files, however
	// much there is.
	lookEvery = time.Second
	// answeredFor is how long an answer of a leader counts.
	answeredFor = 2*lookEvery + lookEvery/2
	// reachedFor is how long a leader counts a copy as reached since it last heard of
	// it. The leader says something to each of them every second.
	reachedFor = 4 * time.Second
)

// Group is the nodes that keep one stream, as its leader last told.
type Group struct {
	Stream string    `json:"stream"`
	Leader string    `json:"leader,omitempty"` // empty: there is none, or it does not answer here
	Copies []Replica `json:"copies,omitempty"` // by node. Without a leader they are those of its last answer
}

// Replica is what a leader knows of a node's copy.
type Replica struct {
	Node    string `json:"node"`
	Reached bool   `json:"reached"` // the leader has just heard of it
	Lag     int64  `json:"lag,omitempty"`
}

// Quorum is how many of the nodes have to store a change.
func (g Group) Quorum() int { return len(g.Copies)/2 + 1 }

// Losses is how many more of the nodes may be lost, whichever they are, before nothing
// can be written; negative: that many have to come back. Copies are counted that their
// leader reaches and that behind does not name.
func (g Group) Losses(behind func(node string) bool) int {
	n := -g.Quorum()
	for _, c := range g.Copies {
		if g.Leader != "" && c.Reached && !behind(c.Node) {
			n++
		}
	}
	return n
}

// seenFrom corrects what a leader has told by the connections that a node has: they end
// sooner than a leader notices.
func (g Group) seenFrom(self string, peers []string) Group {
	if g.Leader != self {
		if !slices.Contains(peers, g.Leader) {
			g.Leader = ""
		}
		return g
	}
	g.Copies = slices.Clone(g.Copies)
	for i, c := range g.Copies {
		g.Copies[i].Reached = c.Reached && (c.Node == self || slices.Contains(peers, c.Node))
	}
	return g
}

// answer is a leader's last word on its stream.
type answer struct {
	at    time.Time
	group Group
	last  uint64 // the newest change
}

// groups is what the leaders of the streams have told this node.
type groups struct {
	mu      sync.Mutex
	streams map[string]jetstream.Stream
	answers map[string]answer
}

// add makes a stream one that is asked for.
func (g *groups) add(name string, stream jetstream.Stream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.streams == nil {
		g.streams, g.answers = map[string]jetstream.Stream{}, map[string]answer{}
	}
	g.streams[name] = stream
}

func (g *groups) names() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.streams))
}

func (g *groups) last(name string) answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answers[name]
}

// take notes what a leader has told.
func (g *groups) take(name, self string, info *jetstream.StreamInfo, now time.Time) {
	group := Group{Stream: name}
	if c := info.Cluster; c == nil || len(c.Replicas) == 0 { // there is one node
		group.Leader, group.Copies = self, []Replica{{Node: self, Reached: true}}
	} else {
		group.Leader, group.Copies = c.Leader, []Replica{{Node: c.Leader, Reached: true}}
		for _, r := range c.Replicas {
			group.Copies = append(group.Copies, Replica{Node: r.Name, Lag: int64(r.Lag), Reached: r.Active < reachedFor && (r.Active > 0 || r.Current)})
		}
	}
	slices.SortFunc(group.Copies, func(a, b Replica) int {
		if a.Node < b.Node {
			return -1
		}
		return 1
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answers[name] = answer{now, group, info.State.LastSeq}
}

// ask asks the leader of a stream.
func (s *Store) ask(ctx context.Context, name string) (*jetstream.StreamInfo, error) {
	s.groups.mu.Lock()
	stream := s.groups.streams[name]
	s.groups.mu.Unlock()
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, err
	}
	if c := info.Cluster; c != nil && c.Leader == "" && len(c.Replicas) > 0 {
		return nil, errNoLeader // those of a group without one answer, each with what it has
	}
	s.groups.take(name, s.member.Name(), info, time.Now())
	return info, nil
}

var errNoLeader = errors.New("there is no leader")

// askAll asks the leaders that have not answered for a while, side by side.
func (s *Store) askAll(ctx context.Context, while time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	var asked sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, name := range s.groups.names() {
		if time.Since(s.groups.last(name).at) < while {
			continue
		}
		asked.Go(func() {
			if _, err := s.ask(ctx, name); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, fmt.Errorf("ask who leads %s: %w", name, err))
			}
		})
	}
	asked.Wait()
	return failed
}
