package outside_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
	"troupe/testkit/networks"
)

// TestWorkerNode: three nodes that keep the records, and one that has the browsers and
// keeps nothing. Clients of all are served, the status shows the roles, and the worker
// node leaves and comes again without a change anywhere else.
func TestWorkerNode(t *testing.T) {
	need.All(t)
	t.Parallel()
	g := plannedCluster(t, nil, "", 0, 0, 0)
	hubs := networks.Addresses(t, 3)
	for i, m := range g.nodes {
		m.args = append(m.args, "--role=store", "--cluster-workers-listen="+hubs[i])
	}
	w := g.enlist(1)
	var args []string
	for _, a := range w.args {
		if !strings.HasPrefix(a, "--cluster-listen=") {
			args = append(args, a)
		}
	}
	w.args = append(args, "--role=worker", "--cluster-peers="+strings.Join(hubs, ","))
	keepers := g.nodes[:3]
	g.start(g.nodes...)
	g.token = g.newToken("ada", "pro")
	g.whole()
	for _, m := range g.nodes {
		if x := g.ask(m, "POST", "/v1/", `{"queueTimeout":10000,"actions":[{"wait":1}]}`); x.status != 200 {
			t.Errorf("%s: %d %s", m.name, x.status, x.body)
		}
		if x := g.ask(m, "GET", "/readyz?writes=true", ""); x.status != 200 {
			t.Errorf("%s is not ready: %d %s", m.name, x.status, x.body)
		}
		var c struct {
			Nodes []struct {
				Node, Role, Health string
				Lag                *int64
			}
			Losses int
			Leader string
		}
		x := g.ask(m, "GET", "/v1/cluster", "")
		if err := json.Unmarshal([]byte(x.body), &c); err != nil {
			t.Fatal(err)
		}
		for _, n := range c.Nodes {
			role := "store"
			if n.Node == w.name {
				role = "worker"
			}
			if n.Role != role || n.Health != "well" || (n.Lag == nil) != (role == "worker") {
				t.Errorf("%s says of %s: %+v", m.name, n.Node, n)
			}
		}
		if c.Losses != 1 || c.Leader == "" {
			t.Errorf("%s: %d nodes may be lost, %q leads", m.name, c.Losses, c.Leader)
		}
		if code, out, errs := play(t, "", "cluster", "status", "--data="+m.data); code != 0 || !strings.Contains(out, "worker, up") || !strings.Contains(out, "store, up") {
			t.Errorf("the status at %s: %s%s", m.name, out, errs)
		}
	}
	r := g.ask(w, "POST", "/v1/", `{"session":{"preserve":true},"queueTimeout":10000,"actions":[{"wait":1}]}`)
	var s struct{ SessionID string }
	if err := json.Unmarshal([]byte(r.body), &s); err != nil || s.SessionID == "" {
		t.Fatalf("no session: %d %s", r.status, r.body)
	}
	if x := g.ask(keepers[1], "POST", "/v1/", fmt.Sprintf(`{"session":{"id":%q,"close":true},"queueTimeout":10000,"actions":[{"wait":1}]}`, s.SessionID)); x.status != 200 {
		t.Errorf("the session at another node: %d %s", x.status, x.body)
	}
	if code, out, errs := play(t, "", "cluster", "remove", "n1", "--data="+w.data); code == 0 || !strings.Contains(errs, "worker node") {
		t.Errorf("a worker node removes a node: %s%s", out, errs)
	}

	g.stop(w)
	if x := g.ask(keepers[0], "POST", "/v1/", `{"actions":[{"wait":1}]}`); x.status == 200 {
		t.Errorf("without the worker node: %d %s", x.status, x.body)
	}
	began := time.Now()
	g.start(w)
	g.until("the worker node is back and serves others' clients", func() bool {
		return g.ask(keepers[0], "POST", "/v1/", `{"queueTimeout":10000,"actions":[{"wait":1}]}`).status == 200
	})
	t.Logf("back after %v", time.Since(began).Round(100*time.Millisecond))
}
