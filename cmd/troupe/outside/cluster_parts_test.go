package outside_test

import "time"

var _ = promise(cutting, "one node is cut off from the other two", whole, func(g *testCluster) {
	g.needNetworks()
	n1, n2, m := g.nodes[0], g.nodes[1], g.nodes[2]
	kept := g.leaves(m)
	there, _ := g.runs(n1, m)  // of a client of the majority, on the other side
	hither, _ := g.runs(m, n2) // of a client that is cut off
	task, n := g.site.opens()
	own := g.send(n1, on(n1.name, task+`,{"wait":12000},{"getText":"h1"}]`)) // has nothing to do with it
	g.shows(n)

	began := time.Now()
	g.cutOff(m)
	g.wasLost("what runs on the other side is answered worker_lost", there, began, afterFreeze)
	g.wasLost("the same for a client that is cut off", hither, began, afterFreeze)
	x := g.play(n2, `{"async":true,"queueTimeout":10000,"actions":[{"evaluate":"return 7"}]}`)
	g.accepted("the two accept an asynchronous task", x, began)
	for _, at := range []*member{n1, n2} {
		kept.readAt(at)
	}
	g.good(<-own)

	began = time.Now()
	g.heal(m)
	g.allKnow(g.workers())
	g.within("healed: all know each other, all workers are free", 15*time.Second, time.Since(began))
	if a := g.poll(m, x.TaskID, 10*time.Second); a.Status != "complete" {
		g.t.Errorf("who was cut off tells of what was written meanwhile: %v", a)
	}
	g.within("healed: it tells of what was written meanwhile", 20*time.Second, time.Since(began))
	x = g.play(m, `{"async":true,"queueTimeout":10000,"actions":[{"evaluate":"return 8"}]}`)
	g.accepted("healed: it accepts asynchronous tasks", x, began)
	for _, at := range g.nodes {
		if a := g.poll(at, x.TaskID, 10*time.Second); a.Status != "complete" {
			g.t.Errorf("%s tells of the task: %v", at.name, a)
		}
	}
})

var _ = promise(cutting, "two nodes of three are lost and come back", whole, func(g *testCluster) {
	n1, n2, n3 := g.nodes[0], g.nodes[1], g.nodes[2]
	kept := g.leaves(n3)
	id, _ := g.begins(n1, n2)
	running, _ := g.runs(n1, n3)
	began := time.Now()
	g.kill(n2, n3)
	g.wasLost("what runs there is answered worker_lost", running, began, afterKill)

	began = time.Now()
	g.start(n2)
	g.within("one of them is back: it answers", 40*time.Second, time.Since(began))
	var x nodeAnswer
	g.until("an asynchronous task is accepted", func() bool {
		x = g.play(n1, `{"async":true,"queueTimeout":10000,"actions":[{"evaluate":"return 9"}]}`)
		return x.status == 200 && x.Success
	})
	g.within("the two accept an asynchronous task", 40*time.Second, time.Since(began))
	if code := g.failed(n1, id); code != "worker_lost" && code != "interrupted" {
		g.t.Errorf("the task that was lost is told of as %s", code)
	}
	kept.readAt(n1)
	kept.readAt(n2)
	began = time.Now()
	g.start(n3)
	g.allKnow(g.workers())
	g.within("both are back: all workers are free", 40*time.Second, time.Since(began))
	kept.readAt(n3)
	if a := g.poll(n3, x.TaskID, 10*time.Second); a.Status != "complete" {
		g.t.Errorf("it tells of what was written without it: %v", a)
	}
})
