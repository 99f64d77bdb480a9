package outside_test

import (
	"regexp"
	"strconv"
	"time"
)

// number reads a value of what a node tells who watches it.
func (g *testCluster) number(m *member, name string) float64 {
	g.t.Helper()
	status, page := fetch(g.t, "http://"+m.metrics+"/metrics", "")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(page)
	if status != 200 || found == nil {
		g.t.Fatalf("%s tells no %s: %d", m.name, name, status)
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		g.t.Fatal(err)
	}
	return v
}

var _ = promise(answering, "who watches the nodes sees them", short, func(g *testCluster) {
	n1, n2 := g.nodes[0], g.nodes[1]
	leaders, before := 0.0, g.number(n1, "troupe_cluster_forwarded_total")
	g.good(g.play(n1, on(n2.name, `"actions":[{"wait":0}]`)))
	if n := g.number(n1, "troupe_cluster_forwarded_total") - before; n != 1 {
		g.t.Errorf("%v tasks were forwarded, want one", n)
	}
	for _, m := range g.nodes {
		leaders += g.number(m, "troupe_cluster_leader")
		for name, want := range map[string]float64{`troupe_cluster_nodes{state="up"}`: 3, `troupe_cluster_nodes{state="down"}`: 0, "troupe_cluster_majority": 1,
			"troupe_cluster_writes": 1, "troupe_cluster_losses": 1, `troupe_cluster_state{state="well"}`: 1, `troupe_cluster_copies{state="current"}`: 3, `troupe_cluster_copies{state="missing"}`: 0} {
			if v := g.number(m, name); v != want {
				g.t.Errorf("%s tells of %s as %v, want %v", m.name, name, v, want)
			}
		}
		if age := g.number(m, "troupe_cluster_news_age_seconds"); age <= 0 || age > 30 {
			g.t.Errorf("the news that %s has are %v s old", m.name, age)
		}
	}
	if leaders != 1 {
		g.t.Errorf("%v nodes lead", leaders)
	}
	g.until("nobody misses anything", func() bool {
		for _, m := range g.nodes {
			if g.number(m, "troupe_cluster_lag_changes") != 0 {
				return false
			}
		}
		return true
	})
})

var _ = promise(losing, "who watches the nodes misses one", whole, func(g *testCluster) {
	n1, n3 := g.nodes[0], g.nodes[2]
	g.kill(n3)
	took := g.until("it is told as down", func() bool { return g.number(n1, `troupe_cluster_nodes{state="down"}`) == 1 })
	g.within("told as down", 3*time.Second, took)
})
