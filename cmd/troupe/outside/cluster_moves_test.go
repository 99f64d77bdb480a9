package outside_test

import (
	"fmt"
	"slices"
	"time"
)

var _ = promise(moving, "the nodes are renewed one after the other under load", whole, func(g *testCluster) {
	b := &balancer{g: g, to: g.nodes}
	b.watch()
	tr := g.pour(b, 4, true)
	tr.until(20)
	for _, m := range g.nodes {
		g.renew(b, m)
	}
	tr.until(tr.count() + 20)
	g.noneFails(tr)
})

// renew starts a node again with the other program, where there is one, as an operator
// does who waits until it is ready.
func (g *testCluster) renew(b *balancer, m *member) {
	g.t.Helper()
	began := time.Now()
	g.drain(m)
	g.until("nothing is sent to "+m.name+", and it has answered all", func() bool { return b.isEmpty(m) })
	g.within("drained", 0, time.Since(began))
	began = time.Now()
	g.stop(m)
	g.within("told to stop: ended", 30*time.Second, time.Since(began))
	began = time.Now()
	g.exchange(m)
	g.start(m)
	g.until(m.name+" is sent tasks", func() bool { return b.sendsTo(m) })
	g.within("started again: ready", 30*time.Second, time.Since(began))
}

// noneFails ends the traffic, of which each answer was to be right.
func (g *testCluster) noneFails(tr *traffic) {
	g.t.Helper()
	all := tr.end()
	wrong := 0
	for _, a := range all {
		if !a.right {
			wrong++
			g.t.Errorf("a client was told: %v", a.nodeAnswer)
		}
	}
	g.t.Logf("%d tasks, %d of them failed", len(all), wrong)
	slowest := slices.MaxFunc(all, func(a, b trafficAnswer) int { return int(a.took - b.took) })
	g.within("none of the tasks fails, the slowest takes", 0, slowest.took)
}

var _ = promise(moving, "a node joins", whole, func(g *testCluster) {
	mine := newTestCluster(g.t, 1, 0, 0) // it would have to be taken out of the other one again
	kept := mine.leaves(mine.nodes[0])
	began := time.Now()
	m := mine.add(1)
	mine.allKnow(mine.workers())
	g.within("it is known, and its worker is free", 40*time.Second, time.Since(began))
	task, n := mine.site.opens()
	if x := mine.good(mine.play(mine.nodes[1], on(m.name, task+`,{"getText":"h1"}]`))); x.Data != fmt.Sprintf("number %d", n) {
		g.t.Errorf("it plays: %v", x)
	}
	task, _ = mine.site.opens()
	mine.good(mine.play(m, on(mine.nodes[0].name, task+`]`)))
	kept.readAt(m)
	x := mine.good(mine.play(m, `{"async":true,"queueTimeout":10000,"actions":[{"evaluate":"return 1"}]}`))
	for _, at := range mine.nodes {
		if a := mine.poll(at, x.TaskID, 10*time.Second); a.Status != "complete" {
			g.t.Errorf("%s tells of what it has taken: %v", at.name, a)
		}
	}
	mine.once()
	mine.end()
})

// add starts one more node, which knows the others; they learn of it.
func (g *testCluster) add(workers int) *member {
	g.t.Helper()
	peers := ""
	for _, m := range g.nodes {
		peers += m.peer + ","
	}
	m := g.enlist(workers)
	m.args = append(m.args, "--cluster-peers="+peers+m.peer)
	g.start(m)
	return m
}

var _ = promise(moving, "all nodes are killed at once and started again", whole, func(g *testCluster) {
	n1, m, n3 := g.nodes[0], g.nodes[1], g.nodes[2]
	token := g.newToken("dora", "basic")
	for range 3 {
		if x := g.askAs(token, n1, "POST", "/v1/", anywhere(`"actions":[{"wait":1}]`)); x.status != 200 {
			g.t.Fatalf("a task: %v", x)
		}
	}
	kept := g.leaves(m)
	cancelled, _ := g.begins(n1, n3)
	if x := g.ask(n1, "DELETE", "/v1/tasks/"+cancelled, ""); x.status != 200 {
		g.t.Fatalf("the cancellation: %v", x)
	}
	running, _ := g.begins(n1, m)
	g.kill(g.nodes...)
	began := time.Now()
	g.start(g.nodes...)
	g.within("all answer", 40*time.Second, time.Since(began))
	g.allKnow(g.workers())
	g.within("all workers are free", 40*time.Second, time.Since(began))
	for _, at := range g.nodes {
		kept.readAt(at)
		if code := g.failed(at, cancelled); code != "cancelled" {
			g.t.Errorf("%s tells of the cancelled task as %s", at.name, code)
		}
		if code := g.failed(at, running); code != "interrupted" && code != "worker_lost" {
			g.t.Errorf("%s tells of the task that ran as %s", at.name, code)
		}
		var used int
		x := g.askAs(token, at, "GET", "/v1/usage", "")
		if _, _ = fmt.Sscanf(after(x.body, `"usedToday":`), "%d", &used); used < 3 {
			g.t.Errorf("%s has counted %d tasks of 3: %v", at.name, used, x)
		}
	}
	g.within("all that was acknowledged is read at each", 60*time.Second, time.Since(began))
})
