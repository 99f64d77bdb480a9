package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
)

// TestDigests: however many nodes there are and whatever they do, a digest is bounded, and
// every change and every node is told in the end.
func TestDigests(t *testing.T) {
	const n = 100
	d := &digester{told: map[string]*link.Inventory{}}
	now := time.Unix(1_800_000_000, 0)
	all := make([]*link.Inventory, n)
	set := func(i int, state api.State) {
		all[i] = &link.Inventory{Node: fmt.Sprintf("n%03d", i), Boot: "b", Workers: []api.WorkerInfo{{ID: "w", State: state}}}
	}
	for i := range n {
		set(i, api.Online)
	}
	known := map[string]api.State{}
	step := func() (nodes int) {
		some := d.next(all, now)
		now = now.Add(digestEvery)
		for _, i := range some {
			known[i.Node] = i.Workers[0].State
		}
		if len(some) > digestNodes+digestTurn {
			t.Fatalf("a digest has %d nodes", len(some))
		}
		return len(some)
	}
	for range (n + digestNodes - 1) / digestNodes {
		step()
	}
	if len(known) != n {
		t.Fatalf("%d of %d nodes are told", len(known), n)
	}
	idle := 0
	clear(known)
	for range 2 * n * int(digestRest/digestEvery) / digestTurn {
		idle += step()
	}
	if len(known) != n {
		t.Errorf("%d of %d nodes are told in turn", len(known), n)
	}
	if most := 2*n + 2*digestTurn; idle > most {
		t.Errorf("%d nodes were told without a change, more than %d", idle, most)
	}
	for round := range 50 {
		for i := range n {
			set(i, []api.State{api.Busy, api.Online}[(round+i)%2])
		}
		if clear(known); round%6 == 5 {
			continue
		}
		for range n/digestNodes + 1 { // all have news, and none is passed over
			step()
			for i := range n {
				set(i, all[i].Workers[0].State)
				all[i].Waiting = round % 2
			}
		}
		if round%6 == 4 && len(known) != n {
			t.Errorf("%d of %d nodes were told while all had news", len(known), n)
		}
	}
	for range 2 * n / digestNodes {
		step()
	}
	for _, i := range all {
		if known[i.Node] != i.Workers[0].State {
			t.Errorf("%s is told to be %s", i.Node, known[i.Node])
		}
	}
	all = slices.Delete(all, 0, n/2)
	step()
	if len(d.told) != n/2 {
		t.Errorf("%d nodes are remembered of %d", len(d.told), n/2)
	}
	big := &link.Inventory{Node: "x", Boot: "b", Workers: make([]api.WorkerInfo, digestWorkers)}
	for i := range n / 2 {
		c := *big
		c.Node = fmt.Sprintf("x%03d", i)
		all = append(all, &c)
	}
	if some := d.next(all, now); len(some) > 2+digestTurn {
		t.Errorf("a digest has %d large nodes", len(some))
	}
}

// TestPingsFollowTasks: a worker node pings another one only while something depends on it,
// and then as often as all nodes do; a node that keeps the store pings it seldom.
func TestPingsFollowTasks(t *testing.T) {
	for _, workerNode := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p, far := newPresence("n1"), &fakePeer{boot: "b1"}
			p.workerNode = workerNode
			defer p.close()
			var count atomic.Int64
			p.ping = func(ctx context.Context, node string) (string, error) {
				count.Add(1)
				return far.ping(ctx, node)
			}
			p.update(&link.Inventory{Node: "w1", Boot: "b1", Role: link.RoleWorker})
			time.Sleep(time.Minute)
			pings := func() int { return int(count.Load()) }
			if most := map[bool]int{true: 0, false: 31}[workerNode]; pings() > most {
				t.Errorf("worker node %v: %d pings in an idle minute", workerNode, pings())
			}
			alive, up := p.aliveContext("w1")
			if !up {
				t.Fatal("it is not up")
			}
			var ends []context.CancelCauseFunc
			before := pings()
			for range 100 { // many short requests beside a long one put no ping off
				_, end := within(context.Background(), alive, time.Hour)
				ends = append(ends, end)
				_, short := within(context.Background(), alive, time.Hour)
				time.Sleep(100 * time.Millisecond)
				short(nil)
			}
			if n := pings() - before; n < 38 || n > 41 {
				t.Errorf("worker node %v: %d pings in ten seconds with requests", workerNode, n)
			}
			far.set("frozen", "b1")
			began := time.Now()
			<-alive.Done()
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("worker node %v: noticed after %v", workerNode, took)
			}
			for _, end := range ends {
				end(nil)
				end(nil) // a second time changes nothing
			}
			if n := p.peers["w1"].care.waits.Load(); n != 0 {
				t.Errorf("worker node %v: %d wait for it", workerNode, n)
			}
		})
	}
}

// TestANodeThatWasLostForAMoment: a worker node that is told that another one is down, and
// then that it is there, takes it for up at once. A message from before it left says nothing.
func TestANodeThatWasLostForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, far := newPresence("n1"), &fakePeer{boot: "b1"}
		p.workerNode, p.ping = true, far.ping
		defer p.close()
		sent := time.Now()
		i := &link.Inventory{Node: "n2", Boot: "b1", Role: link.RoleWorker, Sent: sent}
		lost := *i
		lost.Leaving = true
		p.update(i)
		p.update(&lost)
		if p.isUp("n2") {
			t.Error("it is up, though it is told to be down")
		}
		p.update(i)
		if !p.isUp("n2") {
			t.Error("it is down, though it is told to be there")
		}
		left := lost
		left.Sent = sent.Add(time.Second)
		p.update(&left)
		p.update(i)
		if p.isUp("n2") {
			t.Error("it has left, and is up by an earlier message")
		}
	})
}

// TestKeepWhoCameMeanwhile: a node that is heard of while the list of all nodes is on its way
// is not on it, and is there.
func TestKeepWhoCameMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresence("n1")
		p.workerNode = true
		defer p.close()
		for _, node := range []string{"gone", "stays"} {
			p.update(&link.Inventory{Node: node, Boot: "b1", Version: "v", Role: link.RoleWorker})
		}
		time.Sleep(time.Second)
		asked := time.Now()
		p.update(&link.Inventory{Node: "new", Boot: "b1", Version: "v", Role: link.RoleWorker})
		time.Sleep(time.Second)
		p.keep(map[string]bool{"stays": true}, asked)
		var names []string
		for _, one := range p.known() {
			names = append(names, one.name)
		}
		if !slices.Equal(names, []string{"new", "stays"}) {
			t.Errorf("%v are known", names)
		}
	})
}
