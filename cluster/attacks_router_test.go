package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"troupe/cluster/link"
)

// TestAttackForgedNodes: however many nodes one member makes up, a bounded number is
// known and watched, and those that are there stay.
func TestAttackForgedNodes(t *testing.T) {
	before := runtime.NumGoroutine()
	p := newPresence("n1")
	defer p.close()
	p.ping = func(ctx context.Context, node string) (string, error) {
		if node == "n2" {
			return "b", nil
		}
		return "", link.ErrUndelivered
	}
	p.update(&link.Inventory{Node: "n2", Boot: "b", Sent: time.Now()})
	for i := range 5000 {
		p.update(&link.Inventory{Node: fmt.Sprintf("forged-%d", i), Boot: "b", Sent: time.Now()})
		p.noteMessage(fmt.Sprintf("met-%d", i), "b", time.Now())
	}
	for _, name := range []string{"", "*", ">", "a.b", "a b", "A", strings.Repeat("a", 1<<20)} {
		p.update(&link.Inventory{Node: name, Boot: "b", Sent: time.Now()})
		if _, up := p.aliveContext(name); up {
			t.Errorf("there is a node %.10q", name)
		}
	}
	if n := len(p.known()); n > 256 {
		t.Errorf("%d nodes are known", n)
	}
	if n := runtime.NumGoroutine() - before; n > 1000 { // each is watched, and pinged
		t.Errorf("%d goroutines watch them", n)
	}
	if !p.isUp("n2") {
		t.Error("the node that is there is down")
	}
}

// TestAttackForgedNodesMakeRoom: those that were made up and are down make room for a
// node that is there.
func TestAttackForgedNodesMakeRoom(t *testing.T) {
	t.Parallel()
	watched(t, func(t *testing.T, p *presence, far *fakePeer, news func() []string) {
		far.set("dead", "")
		for i := range 300 {
			p.update(&link.Inventory{Node: fmt.Sprintf("forged-%d", i), Boot: "b", Sent: time.Now()})
		}
		time.Sleep(time.Minute)
		far.set("", "b1")
		p.update(&link.Inventory{Node: "n2", Boot: "b1", Sent: time.Now()})
		time.Sleep(time.Minute)
		if !p.isUp("n2") {
			t.Error("the node that is there is not known")
		}
		if n := len(p.known()); n > 256 {
			t.Errorf("%d nodes are known", n)
		}
	})
}

// TestAttackRefusalsPushNothingOut: however often a task is refused, the node does not
// forget which it has played, and plays none of them again.
func TestAttackRefusalsPushNothingOut(t *testing.T) {
	t.Parallel()
	var g hostedTasks
	enter := func(id string) (*hostedTask, error) {
		o := &link.ForwardedExecute{Origin: "n2"}
		o.TaskID = id
		return g.begin(o)
	}
	played, err := enter("played")
	if err != nil {
		t.Fatal(err)
	}
	g.end(played, false, nil)
	for i := range maxSeenTasks + 1 {
		one, err := enter(fmt.Sprintf("refused-%d", i%10))
		if err != nil {
			t.Fatal(err)
		}
		g.end(one, true, nil)
	}
	if _, err := enter("played"); !errors.Is(err, errDuplicateTask) {
		t.Errorf("a task that was played comes again: %v", err)
	}
}

// TestAttackForgedInventories: what a node cannot hold of an account's day is not counted
// as held.
func TestAttackForgedInventories(t *testing.T) {
	t.Parallel()
	p := newPresence("n1")
	defer p.close()
	p.ping = func(context.Context, string) (string, error) { return "b", nil }
	for node, held := range map[string]int64{"n2": 3, "n3": math.MinInt64, "n4": math.MaxInt64, "n5": math.MaxInt64} {
		p.update(&link.Inventory{Node: node, Boot: "b", Held: map[string]int64{"anna": held}})
	}
	c := &Router{peers: p}
	if got := c.Held("anna"); got != 3+(2<<40) {
		t.Errorf("the others hold %d", got)
	}
}
