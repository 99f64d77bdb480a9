package outside_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

var healthRounds = flag.Int("health", 1, "how often each row of TestHealthTellsTheTruth is tried")

// readiness is what /readyz says.
type readiness struct {
	code    int
	Ready   bool
	Status  string
	Notices []string
}

func (g *testCluster) readiness(m *member, query string) (r readiness) {
	x := g.ask(m, "GET", "/readyz"+query, "")
	_ = json.Unmarshal([]byte(x.body), &r)
	r.code = x.status
	return r
}

// isReady reports whether a node says that it is ready, for everything.
func (g *testCluster) isReady(m *member) bool { return g.readiness(m, "?writes=true").code == 200 }

// nodesHealth is what a node says of all.
type nodesHealth struct {
	Leader, Health, Reason string
	Majority, Writes       bool
	Losses                 int
	Groups                 []struct {
		Keeps, Leader string
		Quorum        int
		Copies        []struct {
			Node    string
			Current bool
		}
	}
	Nodes []struct {
		Node, Health string
		Up           bool
		Lag          *int64
	}
}

func (g *testCluster) health(at *member) (h nodesHealth) {
	g.t.Helper()
	if x := g.ask(at, "GET", "/v1/cluster", ""); x.status != 200 || json.Unmarshal([]byte(x.body), &h) != nil {
		g.t.Fatalf("%s tells of the nodes: %v", at.name, x)
	}
	return h
}

// current are the nodes that have everything, as a node says, of the records.
func (h nodesHealth) current() (names string) {
	for _, c := range h.Groups[len(h.Groups)-1].Copies {
		if c.Current {
			names += c.Node + " "
		}
	}
	return strings.TrimSpace(names)
}

// keepers are the nodes that keep the records.
func (g *testCluster) keepers(at *member) (all []*member) {
	g.t.Helper()
	for _, x := range g.health(at).Groups {
		if x.Keeps != "records" {
			continue
		}
		for _, c := range x.Copies {
			for _, m := range g.nodes {
				if m.name == c.Node {
					all = append(all, m)
				}
			}
		}
	}
	return all
}

// writes reports whether a node takes what has to be written down.
func (g *testCluster) writes(m *member) bool {
	x := g.ask(m, "POST", "/v1/tickets", `{"object":"account","ttl":10000}`)
	if x.status != 200 && x.Code != "no_quorum" {
		g.t.Fatalf("a ticket: %v", x)
	}
	return x.status == 200
}

// settled waits until all nodes are well.
func (g *testCluster) settled() {
	g.t.Helper()
	g.back()
	g.until("all nodes are well", func() bool {
		for _, m := range g.nodes {
			if h := g.health(m); h.Health != "well" || h.Losses != 1 || !g.isReady(m) {
				return false
			}
		}
		return true
	})
}

// healthRow is something that happens to nodes, and what they say of it.
type healthRow struct {
	name string
	try  func(g *testCluster, round int)
}

// tryAll tries rows on nodes that are well before each.
func (g *testCluster) tryAll(rows ...healthRow) {
	for _, row := range rows {
		for round := range *healthRounds {
			g.home.Run(row.name, func(t *testing.T) {
				g.t = t
				defer func() { g.t = g.home }()
				g.settled()
				row.try(g, round)
			})
		}
	}
	g.settled()
	g.end()
	g.home.Log(g.told)
}

// TestHealthTellsTheTruth: what nodes say of themselves while others are lost, cut off
// and come back, between processes.
func TestHealthTellsTheTruth(t *testing.T) {
	need.All(t)
	startTestCluster(t, newWires(t), "", 1, 1, 0).tryAll(
		healthRow{"a node that was cut off is not ready before another one may be lost", healedNode},
		healthRow{"a node that was frozen is not ready before another one may be lost", wokenNode},
		healthRow{"an election is no reason to send requests elsewhere", electsLeader},
	)
}

// TestHealthOfFiveNodes: three of them keep the records.
func TestHealthOfFiveNodes(t *testing.T) {
	need.All(t)
	newTestCluster(t, 1, 0, 0, 0, 0).tryAll(
		healthRow{"two of the three that keep the records are lost", lostKeepers},
		healthRow{"two of the three that keep the records are replaced by empty machines", replacedKeepers},
		healthRow{"a node that joined and is lost is missed by those that do not list it", lostJoiner},
		healthRow{"two of the three that keep the records are removed", removedKeepers},
	)
}

// TestFirstStart: the first start of a cluster needs all nodes, and the next one a
// majority. The log says how many are there, and how many it needs.
func TestFirstStart(t *testing.T) {
	need.All(t)
	for _, of := range []int{3, 5} {
		t.Run(fmt.Sprintf("of %d", of), func(t *testing.T) {
			g := plannedCluster(t, nil, "", make([]int, of)...)
			spawn := func(all ...*member) {
				for _, m := range all {
					m.child = spawnAs(t, m.program, m.place, nil, m.args...)
				}
			}
			says := func(m *member, what string) {
				g.until(m.name+" says "+what, func() bool { return strings.Contains(m.errs.String(), what) })
			}
			spawn(g.nodes[1:]...)
			for _, m := range g.nodes[1:] {
				says(m, fmt.Sprintf("of %d there are %d, and the first start of a cluster needs all %d, each later one %d", of, of-1, of, of/2+1))
			}
			spawn(g.nodes[0])
			began := time.Now()
			for _, m := range g.nodes {
				m.base = m.greeting(t)
			}
			g.within(fmt.Sprintf("the last of %d is there: all are ready", of), time.Minute, time.Since(began))
			g.token = g.newToken("ada", "pro")
			g.kill(g.nodes...)

			most := g.nodes[:of/2+1]
			spawn(most[1:]...)
			for _, m := range most[1:] {
				says(m, fmt.Sprintf("of %d there are %d, and it needs %d", of, len(most)-1, len(most)))
			}
			spawn(most[0])
			began = time.Now()
			for _, m := range most {
				m.base = m.greeting(t)
				g.until(m.name+" takes writes", func() bool { return g.writes(m) })
			}
			g.within(fmt.Sprintf("the next start: %d of %d take writes", len(most), of), time.Minute, time.Since(began))
			g.kill(most...) // few of them could not end in good order
		})
	}
}

// healedNode cuts a node off, and the next one as soon as that says that it is ready.
func healedNode(g *testCluster, round int) {
	g.needWires()
	m, next, third := g.nodes[round%3], g.nodes[(round+1)%3], g.nodes[(round+2)%3]
	g.t.Logf("%s is cut off, %s leads", m.name, g.leader().name)
	g.cutOff(m)
	g.until("it says that it is cut off", func() bool {
		if m.workers > 0 && g.readiness(m, "").Status != "degraded" { // it still runs tasks
			return false
		}
		return g.health(m).Health == "cut_off" && !g.isReady(m)
	})
	g.until("the others write", func() bool { return g.writes(next) })
	for away := time.Now(); time.Since(away) < time.Duration(round%4)*5*time.Second; { // also shorter than an election
		g.writes(next)
		g.writes(third)
		time.Sleep(50 * time.Millisecond) // an account may have so many tickets
	}
	healed := time.Now()
	g.heal(m)
	g.until("it does not say cut off any more", func() bool { return g.health(m).Health != "cut_off" })
	g.t.Logf("it sees the others after %v, and says %+v", time.Since(healed).Round(time.Millisecond), g.readiness(m, ""))
	g.until("it says that it is ready", func() bool { return g.readiness(m, "").code == 200 })
	g.within("healed: it says that it is ready", 0, time.Since(healed))
	lost := time.Now()
	g.cutOff(next)
	g.until("the two write", func() bool { return g.writes(m) })
	g.within("another one is cut off at once: the first one takes writes", election+2*time.Second, time.Since(lost))
}

// wokenNode freezes a node, and kills the next one as soon as the first says that it is
// ready.
func wokenNode(g *testCluster, round int) {
	m, next := g.nodes[1+round%2], g.nodes[2-round%2]
	g.t.Logf("%s is frozen, %s leads", m.name, g.leader().name)
	g.freeze(m)
	g.until("the others write", func() bool { return g.writes(g.nodes[0]) })
	for away := time.Now(); time.Since(away) < 8*time.Second+time.Duration(round%3)*5*time.Second; time.Sleep(50 * time.Millisecond) {
		g.writes(g.nodes[0])
	}
	woken := time.Now()
	g.wake(m)
	if r := g.readiness(m, ""); r.code == 200 {
		g.t.Errorf("it is woken up and says at once: %+v", r)
	}
	g.until("it says that it is ready", func() bool { return g.readiness(m, "").code == 200 })
	g.within("woken up: it says that it is ready", 0, time.Since(woken))
	lost := time.Now()
	g.kill(next)
	g.until("the two write", func() bool { return g.writes(m) })
	g.within("another one is killed at once: the first one takes writes", election+2*time.Second, time.Since(lost))
}

// electsLeader kills the leader: the others go on to be ready.
func electsLeader(g *testCluster, _ int) {
	m := g.leader()
	others := g.others(m)
	lost := time.Now()
	g.kill(m)
	written := make(chan nodeAnswer)
	go func() {
		for {
			if x := g.ask(others[0], "POST", "/v1/tickets", `{"object":"account","ttl":10000}`); x.status == 200 || time.Since(lost) > hang {
				written <- x
				return
			}
		}
	}()
	for {
		select {
		case x := <-written:
			if x.status != 200 {
				g.t.Fatalf("nobody writes: %v", x)
			}
			g.within("the leader is killed: others take writes", election+2*time.Second, time.Since(lost))
			return
		case <-time.After(20 * time.Millisecond):
		}
		for _, o := range others {
			if r := g.readiness(o, "?writes=true"); r.code != 200 {
				g.t.Fatalf("%s says after %v: %+v", o.name, time.Since(lost), r)
			}
		}
	}
}

// lostKeepers kills two of the three nodes that keep the records. All five see a
// majority.
func lostKeepers(g *testCluster, _ int) {
	began := time.Now()
	lost := g.killsKeepers()
	var left []*member
	for _, m := range g.nodes {
		if !m.dead {
			left = append(left, m)
		}
	}
	for _, m := range left {
		g.until(m.name+" says that nothing can be written", func() bool {
			h, r := g.health(m), g.readiness(m, "")
			return h.Health == "no_quorum" && !h.Writes && h.Losses == 0 && strings.Contains(h.Reason, lost[0].name) && h.current() == "" &&
				r.code == 200 && r.Status == "degraded" && strings.Contains(strings.Join(r.Notices, " "), "nothing can be written") && !g.isReady(m)
		})
		if h := g.health(m); !h.Majority || h.Leader != "" {
			g.t.Errorf("%s says %+v", m.name, h)
		}
		for name, want := range map[string]float64{
			"troupe_cluster_writes": 0, "troupe_cluster_losses": 0, `troupe_cluster_state{state="no_quorum"}`: 1, `troupe_cluster_state{state="well"}`: 0, "troupe_cluster_majority": 1,
			"troupe_cluster_leader": 0, `troupe_cluster_copies{state="current"}`: 0, `troupe_cluster_nodes{state="down"}`: 2,
		} {
			if v := g.number(m, name); v != want {
				g.t.Errorf("%s tells of %s as %v, want %v", m.name, name, v, want)
			}
		}
		if code, out, errs := play(g.t, "", "cluster", "status", "--data="+m.data); code != 0 || !strings.Contains(out, "refuses writes: nothing can be written") || !strings.Contains(out, "no node leads") {
			g.t.Errorf("the status: %d %s%s", code, out, errs)
		}
		if x := g.play(m, anywhere(`"actions":[{"wait":0}]`)); x.status != 200 || !x.Success {
			g.t.Errorf("a task at %s: %v", m.name, x)
		}
	}
	g.within("all say that nothing can be written", 30*time.Second, time.Since(began))
	if g.writes(left[0]) {
		g.t.Error("and it is written")
	}
	back := time.Now()
	g.start(lost[0])
	for _, m := range append(left, lost[0]) {
		g.until(m.name+" takes writes", func() bool { return g.writes(m) })
		g.until(m.name+" says so", func() bool { return g.isReady(m) && g.health(m).Writes })
	}
	g.within("one is back: all take writes and say so", 40*time.Second, time.Since(back))
}

// replacedKeepers does the same, and starts them again without their data.
func replacedKeepers(g *testCluster, _ int) {
	n1 := g.nodes[0]
	lost := g.killsKeepers()
	for _, m := range lost {
		g.sweepNode(m)
		if err := os.RemoveAll(m.data); err != nil {
			g.t.Fatal(err)
		}
	}
	g.until("nothing can be written", func() bool { return g.health(n1).Health == "no_quorum" })
	began := time.Now()
	g.start(lost...)
	for _, m := range g.nodes {
		g.until(m.name+" takes writes", func() bool { return g.writes(m) })
		g.until(m.name+" is ready", func() bool { return g.isReady(m) })
	}
	g.within("both start without their data: all take writes and are ready", time.Minute, time.Since(began))
	next := g.keepers(n1)[0]
	if next == n1 {
		next = g.keepers(n1)[1]
	}
	g.kill(next) // what is new there has everything
	g.until("the others take writes", func() bool { return g.writes(n1) })
}

// removedKeepers does the same, and removes them.
func removedKeepers(g *testCluster, _ int) {
	for len(g.nodes) < 5 { // after another round
		g.add(0)
	}
	g.settled()
	n1 := g.nodes[0]
	lost := g.killsKeepers()
	g.until("nothing can be written", func() bool { return g.health(n1).Health == "no_quorum" })
	began := time.Now()
	for _, m := range lost {
		if code, out, errs := play(g.t, "", "cluster", "remove", m.name, "--data="+n1.data); code != 0 {
			g.t.Fatalf("%s is not removed: %s%s", m.name, out, errs)
		}
		g.sweepNode(m)
		g.nodes = slices.DeleteFunc(g.nodes, func(o *member) bool { return o == m })
	}
	for _, m := range g.nodes {
		g.until(m.name+" takes writes", func() bool { return g.writes(m) })
	}
	g.within("both are removed: the others take writes", time.Minute, time.Since(began))
	g.settled()
	g.within("and all have copies", time.Minute, time.Since(began))
}

// killsKeepers kills two of the three nodes that keep the records, none of them the one
// with the worker.
func (g *testCluster) killsKeepers() (lost []*member) {
	g.t.Helper()
	for _, m := range g.keepers(g.nodes[0]) {
		if m != g.nodes[0] && len(lost) < 2 {
			lost = append(lost, m)
		}
	}
	g.kill(lost...)
	return lost
}

// lostJoiner lets a sixth node join, be lost and be removed.
func lostJoiner(g *testCluster, _ int) {
	n1 := g.nodes[0]
	down := func(n float64) func() bool {
		return func() bool { return g.number(n1, `troupe_cluster_nodes{state="down"}`) == n }
	}
	m := g.add(0)
	g.settled()
	if !down(0)() || g.number(n1, `troupe_cluster_nodes{state="up"}`) != float64(len(g.nodes)) {
		g.t.Error("n1 misses one, or does not count the new one")
	}
	lost := time.Now()
	g.kill(m)
	g.until("n1 misses it", down(1))
	g.within("n1 misses it", 3*time.Second, time.Since(lost))
	g.nodes = g.nodes[:len(g.nodes)-1]
	g.sweepNode(m)
	g.until("it can be removed", func() bool {
		code, _, _ := play(g.t, "", "cluster", "remove", m.name, "--data="+n1.data)
		return code == 0
	})
	g.until("n1 does not miss it any more", down(0))
}
