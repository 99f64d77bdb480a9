package outside_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var _ = promise(answering, "a session goes on from any node", short, func(g *testCluster) {
	n1, n2, n3 := g.nodes[0], g.nodes[1], g.nodes[2]
	task, n := g.site.opens()
	want := fmt.Sprintf("number %d", n)
	x := g.good(g.play(n1, on(n2.name, `"session":{"preserve":true},`+task+`,{"getText":"h1"}]`)))
	if x.Data != want {
		g.t.Errorf("the page says %v", x.Data)
	}
	x = g.good(g.play(n3, fmt.Sprintf(`{"session":{"id":%q,"close":true},"actions":[{"getText":"h1"}]}`, x.SessionID)))
	if x.Data != want {
		g.t.Errorf("from another node the session's page says %v", x.Data)
	}
})

var _ = promise(answering, "results and pictures are told of by any node", short, func(g *testCluster) {
	n1, n2 := g.nodes[0], g.nodes[1]
	x := g.good(g.play(n1, `{"async":true,"queueTimeout":10000,"actions":[{"evaluate":"return 'x'.repeat(3<<20)"}]}`))
	for _, m := range g.nodes {
		if a := g.poll(m, x.TaskID, 10*time.Second); a.status != 200 || a.Status != "complete" || len(fmt.Sprint(a.Data)) != 3<<20 {
			g.t.Errorf("%s tells of the task: %v", m.name, a)
		}
	}
	task, _ := g.site.opens()
	x = g.good(g.play(n1, on(n2.name, task+`,{"screenshot":"viewport"}]`)))
	file := pictureIn(x)
	for _, m := range g.nodes {
		if a := g.ask(m, "GET", file, ""); a.status != 200 || !strings.HasPrefix(a.body, "\x89PNG") {
			g.t.Errorf("%s has of the picture %q: %d, %d bytes", m.name, file, a.status, len(a.body))
		}
	}
})

// pictureIn is the path of the file that a task has made.
func pictureIn(x nodeAnswer) string {
	data, _ := x.Data.(map[string]any)
	where, _ := data["url"].(string)
	_, file, _ := strings.Cut(where, "/files/")
	return "/files/" + file
}

var _ = promise(answering, "the nodes tell of each other", short, func(g *testCluster) {
	n1 := g.nodes[0]
	if x := g.ask(n1, "GET", "/v1/cluster", ""); strings.Count(x.body, `"up":true`) != 3 || !strings.Contains(x.body, `"majority":true`) {
		g.t.Errorf("the cluster: %v", x)
	}
	if code, out, errs := play(g.t, "", "cluster", "status", "--data="+n1.data); code != 0 || strings.Count(out, "up") < 3 || !strings.Contains(out, "leads") {
		g.t.Errorf("the status: %d %s%s", code, out, errs)
	}
})

var costs = flag.Int("cost", 0, "how many tasks TestForwardedCost plays in each way")

// TestForwardedCost compares a task that is sent to the node of its worker with
// the same one sent to another node: one after the other, in turns.
func TestForwardedCost(t *testing.T) {
	if *costs == 0 {
		t.Skip("it measures only: -cost 500")
	}
	g := newTestCluster(t, 0, 1, 0)
	for name, task := range map[string]func() string{
		"W1":      func() string { t, _ := g.site.opens(); return t + `,{"getText":"h1"}]` },
		"nothing": func() string { return `"actions":[{"wait":0}]` },
	} {
		var here, there []time.Duration
		for i := range 2 * *costs {
			if x := g.good(g.play(g.nodes[(i+1)%2], on("n2", task()))); i%2 == 0 {
				here = append(here, x.took)
			} else {
				there = append(there, x.took)
			}
		}
		slices.Sort(here)
		slices.Sort(there)
		h, f := here[len(here)/2], there[len(there)/2]
		t.Logf("%s: here %v, forwarded %v (p50 of %d each): %d µs more, %.3f times", name, h, f, len(here), (f - h).Microseconds(), float64(f)/float64(h))
	}
}
