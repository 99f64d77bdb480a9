package outside_test

import (
	"encoding/json"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// inTurns sends each request to the next node, whoever sends it: nothing that a
// client has got from one node may hold at that node only.
func (g *testCluster) inTurns(t *testing.T) (base string) {
	t.Helper()
	var to []*url.URL
	for _, m := range g.nodes {
		u, err := url.Parse(m.base)
		if err != nil {
			t.Fatal(err)
		}
		to = append(to, u)
	}
	var n atomic.Int64
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to[int(n.Add(1))%len(to)])
		r.Out.Host = r.In.Host
	}}
	return serveOn(t, g.networks.Here(), proxy.ServeHTTP)
}

// webInTurns is the web page of the cluster behind that.
func (g *testCluster) webInTurns(t *testing.T) *web {
	t.Helper()
	d := operatorCLI{t, g.nodes[0].data}
	if !strings.Contains(d.says("account", "list"), "ops ") {
		d.says("account", "create", "ops", "--plan=pro", "--operator")
	}
	w := &web{base: g.inTurns(t), operator: d, at: make(chan struct{}, 1)}
	w.ops, w.ada = d.says("token", "create", "--account=ops"), g.newToken("ada", "pro")
	w.fills("")
	return w
}

var _ = promise(answering, "the web page shows tasks and pictures behind a load balancer", quick, func(g *testCluster) {
	w := g.webInTurns(g.t)
	w.shows(g.t, "testdata/web/tasks.txtar") // tickets, news, steps, the end
	w.shows(g.t, "testdata/web/live.txtar")  // pictures, a link that another node revokes

	type tasks struct {
		Tasks []struct{ TaskID, Status string }
	}
	var lists []string
	g.until("all nodes list the same tasks", func() bool {
		lists = nil
		for _, m := range g.nodes {
			var all tasks
			if x := g.ask(m, "GET", "/v1/tasks", ""); x.status != 200 || json.Unmarshal([]byte(x.body), &all) != nil {
				g.t.Fatalf("%s lists: %v", m.name, x)
			}
			b, _ := json.Marshal(all)
			lists = append(lists, string(b))
		}
		return lists[0] == lists[1] && lists[1] == lists[2] && strings.Count(lists[0], "task_") >= 2
	})
})

var _ = promise(answering, "the operator works behind a load balancer", whole, func(g *testCluster) {
	w := g.webInTurns(g.t)
	operates(g.t, w, "tr[data-node=n1] button")
	// A node is drained and taken back by the page.
	got := w.plays(g.t, `{{ops}},{"click":"nav a[data-view=operator]"},
		{"waitForElement":"tr[data-node=n1] .state"},{"click":"tr[data-node=n1] button"},{"click":"dialog[open] #yes"},{"waitForElement":"tr[data-node=n1] .state[data-is=draining]"},
		{"evaluate":"return [...document.querySelectorAll('tr[data-node]')].map((r) => r.dataset.node + ' ' + r.cells[1].textContent.split(',')[0] + ' ' + r.cells[5].textContent)"}`)
	if want := `["n1 Takes no tasks 0","n2 Takes tasks 0","n3 Takes tasks 0"]`; string(got) != want {
		g.t.Errorf("the page shows %s, want %s", got, want)
	}
	if x := g.ask(g.nodes[0], "GET", "/readyz", ""); x.status != 503 {
		g.t.Errorf("n1 is ready: %v", x)
	}
	got = w.plays(g.t, `{{ops}},{"click":"nav a[data-view=operator]"},{"waitForElement":"tr[data-node=n1] .state"},{"getText":"#shared-records"}`)
	if text := string(got); !strings.Contains(text, "Records: "+g.leader().name+" leads, 3 of 3 copies current.") || !strings.Contains(text, "Files: n") ||
		!strings.Contains(text, "Writes continue after the loss of any node.") {
		g.t.Errorf("the page says %s", text)
	}
	w.plays(g.t, `{{ops}},{"click":"nav a[data-view=operator]"},{"waitForElement":"tr[data-node=n1] .state[data-is=draining]"},
		{"click":"tr[data-node=n1] button"},{"waitForElement":"tr[data-node=n1] .state[data-is=online]"},{"evaluate":"return 1"}`)
	if x := g.ask(g.nodes[0], "GET", "/readyz", ""); x.status != 200 {
		g.t.Errorf("n1 is not ready: %v", x)
	}
})

var _ = promise(answering, "commands reach the node that they are about", short, func(g *testCluster) {
	n1, n3 := operatorCLI{g.t, g.nodes[0].data}, operatorCLI{g.t, g.nodes[2].data}
	n1.says("worker", "add", "spare", "--account=ada", "--node=n3")
	at := n1.until("spare", "online")
	if at.Node != "n3" || at.Account != "ada" {
		g.t.Errorf("the worker is %+v", at)
	}
	n3.refuses(exitFailed, "already, at n3", "worker", "add", "spare")
	n3.refuses(exitFailed, `the node "n9" does not answer, or there is none of this name`, "worker", "add", "other", "--node=n9")
	g.good(g.play(g.nodes[1], `{"workerId":"`+at.ID+`","actions":[{"wait":1}]}`))
	operatorCLI{g.t, g.nodes[1].data}.says("worker", "drain", "spare")
	n1.until("spare", "drained")
	n3.says("worker", "resume", "spare")
	n1.until("spare", "online")
	n1.says("worker", "remove", "spare")
	if w := n3.worker("spare"); w.ID != "" {
		g.t.Errorf("a worker that was removed is %+v", w)
	}
	n1.says("drain", "--node=n2")
	if x := g.ask(g.nodes[1], "GET", "/readyz", ""); x.status != 503 {
		g.t.Errorf("a drained node is ready: %v", x)
	}
	n3.says("resume", "--node=n2")
	g.until("n2 is ready", func() bool { return g.ask(g.nodes[1], "GET", "/readyz", "").status == 200 })
	n1.refuses(exitFailed, `the node "n9" does not answer`, "drain", "--node=n9")
	for name, text := range map[string]string{"n1": "cannot remove itself", "n2": "is up: stop it first", "n9": "there are n1, n2, n3"} {
		n1.refuses(exitFailed, text, "cluster", "remove", name)
	}
})
