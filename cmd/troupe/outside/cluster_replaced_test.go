package outside_test

import (
	"encoding/json"
	"os"
	"strings"
	"time"
)

// lag is how far the copy of a node is behind, as another one says; -1: nobody
// knows.
func (g *testCluster) lag(at *member, name string) int64 {
	g.t.Helper()
	var c struct {
		Nodes []struct {
			Node string
			Up   bool
			Lag  *int64
		}
	}
	if x := g.ask(at, "GET", "/v1/cluster", ""); x.status != 200 || json.Unmarshal([]byte(x.body), &c) != nil {
		g.t.Fatalf("the cluster at %s: %v", at.name, x)
	}
	for _, n := range c.Nodes {
		if n.Node == name && n.Up && n.Lag != nil {
			return *n.Lag
		}
	}
	return -1
}

var _ = promise(moving, "a machine with an empty disk takes over the name of a lost one", whole, func(g *testCluster) {
	m := g.nodes[2]
	kept := g.leaves(g.nodes[1])
	g.kill(m)
	if err := os.RemoveAll(m.data); err != nil {
		g.t.Fatal(err)
	}
	later := g.leaves(g.nodes[1]) // while it is away
	began := time.Now()
	g.start(m)
	g.allKnow(g.workers())
	g.within("it is known, and its worker is free", 40*time.Second, time.Since(began))
	g.until("its copy is whole", func() bool { return g.lag(g.nodes[0], m.name) == 0 })
	g.within("its copy is whole", 40*time.Second, time.Since(began))
	// From now on another one may be lost: the new one has all there is.
	g.kill(g.nodes[0])
	g.until("what is new can be written down", func() bool {
		x := g.ask(m, "POST", "/v1/", `{"async":true,"queueTimeout":10000,"actions":[{"wait":1}]}`)
		return x.status == 200 && strings.Contains(x.body, "task_")
	})
	kept.readAt(m)
	later.readAt(m)
})
