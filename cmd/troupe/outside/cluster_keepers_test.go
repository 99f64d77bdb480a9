package outside_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

// TestHealthOfFiveNodes: three of them keep the records.
func TestHealthOfFiveNodes(t *testing.T) {
	need.All(t)
	t.Parallel()
	newTestCluster(t, 1, 0, 0, 0, 0).tryAll(
		healthRow{"two of the three that keep the records are lost", lostKeepers},
		healthRow{"two of the three that keep the records are replaced by empty machines", replacedKeepers},
		healthRow{"a node that joined and is lost is missed by those that do not list it", lostJoiner},
		healthRow{"two of the three that keep the records are removed", removedKeepers},
	)
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
