package outside_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"troupe/actors"
	"troupe/testkit/need"
	"troupe/testkit/outproxy"
)

// TestNamedProxiesOnTwoNodes: a task that is sent on to another node leaves through that
// node's proxy of the name. Where that node has none, the task fails with invalid_value, and
// nothing of it leaves.
func TestNamedProxiesOnTwoNodes(t *testing.T) {
	need.All(t)
	t.Parallel()
	proxies := map[string]*outproxy.Proxy{"n1": outproxy.New(t, "", ""), "n2": outproxy.New(t, "", "")}
	asked := make(chan string, 100)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		who := "nobody"
		for name, p := range proxies {
			if p.Made(r.RemoteAddr) {
				who = name
			}
		}
		asked <- who
		fmt.Fprintf(w, "<h1>%s</h1>", who)
	}))
	t.Cleanup(site.Close)
	g := plannedCluster(t, nil, "", 1, 1, 0)
	for _, m := range g.nodes {
		config := filepath.Join(g.dir, m.name+".json")
		named := "{}"
		switch m.name {
		case "n1":
			named = fmt.Sprintf(`{"berlin":{"url":%q,"accounts":["ada"]},"lab":{"url":%[1]q,"accounts":["ada"]}}`, proxies["n1"].URL("http"))
		case "n2":
			named = fmt.Sprintf(`{"berlin":{"url":%q,"accounts":["ada"]}}`, proxies["n2"].URL("http"))
		}
		if err := os.WriteFile(config, []byte(`{"proxies":`+named+`}`), 0o600); err != nil {
			t.Fatal(err)
		}
		m.args = append(m.args, "--config="+config)
	}
	g.start(g.nodes...)
	g.token = g.newToken("ada", "pro")
	g.whole()
	n1, n2 := g.nodes[0], g.nodes[1]
	task := func(proxy string) string {
		return fmt.Sprintf(`"config":{"proxy":%q},"timeout":60000,"actions":[{"open":%q},{"getText":"h1"}]`, proxy, site.URL)
	}
	for _, from := range []*member{n1, n2} {
		for _, to := range []*member{n1, n2} {
			if x := g.good(g.play(from, on(to.name, task("berlin")))); x.Data != to.name {
				t.Errorf("from %s to %s: the page says %v", from.name, to.name, x.Data)
			}
		}
	}
	queue := func(to *member, proxy string) nodeAnswer {
		t.Helper()
		x := g.play(n1, fmt.Sprintf(`{"workerId":%q,"queue":true,%s}`, actors.WorkerID(to.name, 1), task(proxy)))
		if x.status != http.StatusAccepted {
			t.Fatalf("%v", x)
		}
		return g.poll(n1, x.TaskID, time.Minute)
	}
	if x := queue(n2, "berlin"); x.Status != "complete" || x.Data != n2.name {
		t.Errorf("from the queue to n2: %v", x)
	}
	for len(asked) > 0 {
		<-asked
	}
	if x := g.play(n1, on(n2.name, task("lab"))); x.Code != "invalid_value" || x.Success {
		t.Errorf("a proxy that the node of the worker does not have: %v", x)
	}
	if x := g.good(g.play(n1, on(n1.name, task("lab")))); x.Data != n1.name {
		t.Errorf("a proxy that one node has: %v", x)
	}
	if x := g.play(n2, on(n2.name, task("lab"))); x.status != 400 || x.Code != "invalid_request" {
		t.Errorf("a proxy that the node of the request does not have: %v", x)
	}
	if x := queue(n2, "lab"); x.Status != "failed" || x.Code != "invalid_value" {
		t.Errorf("from the queue: %v", x)
	}
	if len(asked) != 1 {
		t.Errorf("%d requests have left for tasks without a proxy", len(asked)-1)
	}
}
