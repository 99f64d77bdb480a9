package store

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestLosses: how many more nodes a group may lose.
func TestLosses(t *testing.T) {
	t.Parallel()
	three := func(reached ...bool) Group {
		return Group{Leader: "a", Copies: []Replica{{Node: "a", Reached: reached[0]}, {Node: "b", Reached: reached[1]}, {Node: "c", Reached: reached[2]}}}
	}
	leaderless := three(true, true, true)
	leaderless.Leader = ""
	for name, c := range map[string]struct {
		group  Group
		behind []string
		want   int
	}{
		"all are there":            {three(true, true, true), nil, 1},
		"one is away":              {three(true, true, false), nil, 0},
		"one is behind":            {three(true, true, true), []string{"b"}, 0},
		"the same is both":         {three(true, true, false), []string{"c"}, 0},
		"two are away":             {three(true, false, false), nil, -1},
		"one is away, one behind":  {three(true, true, false), []string{"b"}, -1},
		"nobody leads":             {leaderless, nil, -2},
		"a node without any other": {Group{Leader: "a", Copies: []Replica{{Node: "a", Reached: true}}}, nil, 0},
	} {
		if got := c.group.Losses(func(node string) bool { return slices.Contains(c.behind, node) }); got != c.want {
			t.Errorf("%s: %d losses, want %d", name, got, c.want)
		}
	}
}

// TestWhomALeaderReaches: what its answer says, and what this node's own connections
// say sooner.
func TestWhomALeaderReaches(t *testing.T) {
	t.Parallel()
	var g groups
	g.add(RecordStream, nil)
	g.take(RecordStream, "a", &jetstream.StreamInfo{Cluster: &jetstream.ClusterInfo{Leader: "b", Replicas: []*jetstream.PeerInfo{
		{Name: "e", Active: time.Second, Lag: 7},
		{Name: "d", Active: reachedFor},
		{Name: "c", Lag: 100}, // its leader has never heard of it
		{Name: "a", Current: true},
	}}}, time.Now())
	of := func(x Group) (reached string, leader string) {
		for _, c := range x.Copies {
			if c.Reached {
				reached += c.Node
			}
		}
		return reached, x.Leader
	}
	told := g.last(RecordStream).group
	for name, c := range map[string]struct {
		self            string
		peers           []string
		reached, leader string
	}{
		"this node follows":         {"a", []string{"b"}, "abe", "b"},
		"the leader is cut off":     {"a", []string{"c", "d", "e"}, "abe", ""},
		"this node leads":           {"b", []string{"a", "c", "d", "e"}, "abe", "b"},
		"this node is cut off":      {"b", nil, "b", "b"},
		"one of them is cut off":    {"b", []string{"a", "d"}, "ab", "b"},
		"those that are there late": {"b", []string{"c", "d", "e"}, "be", "b"},
	} {
		if reached, leader := of(told.seenFrom(c.self, c.peers)); reached != c.reached || leader != c.leader {
			t.Errorf("%s: %q are reached and %q leads, want %q and %q", name, reached, leader, c.reached, c.leader)
		}
	}
	if reached, _ := of(told); reached != "abe" {
		t.Errorf("what was told has changed: %q", reached)
	}
}

// TestTrail: a copy is measured by what was the newest a second ago, not by what has
// just come.
func TestTrail(t *testing.T) {
	t.Parallel()
	now := time.Now()
	x := trail{}.next(now, 10)
	if x.older.last != 10 {
		t.Errorf("at first it is %d", x.older.last)
	}
	for i := range 5 { // somebody asks again and again
		if x = x.next(now.Add(time.Duration(i)*time.Millisecond), 20); x.older.last != 10 {
			t.Errorf("moments later it is %d", x.older.last)
		}
	}
	if x = x.next(now.Add(lookEvery), 30); x.older.last != 10 {
		t.Errorf("a second later it is %d", x.older.last)
	}
	if x = x.next(now.Add(2*lookEvery), 40); x.older.last != 30 {
		t.Errorf("two seconds later it is %d", x.older.last)
	}
	if x = x.next(now.Add(time.Minute), 50); x.older.last != 50 {
		t.Errorf("after a standstill it is %d", x.older.last)
	}
}
