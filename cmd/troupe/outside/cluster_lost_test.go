package outside_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// What a client is promised when a node is lost.
const (
	afterKill   = time.Second
	afterFreeze = 3 * time.Second
	// election is how long what has to be written down may wait for a new leader.
	election = 12 * time.Second
)

var _ = promise(losing, "a node is frozen", short, func(g *testCluster) {
	at, m := g.nodes[0], g.nodes[2]
	running, _ := g.runs(at, m)
	began := time.Now()
	g.freeze(m)
	g.lost(at, m, running, began, afterFreeze)
	g.elsewhere(at)
	woken := time.Now()
	g.wake(m)
	g.allKnow(g.workers())
	g.within("woken up: it has dropped what was given up, its worker is free", 5*time.Second, time.Since(woken))
})

var _ = promise(losing, "a node is killed", short, func(g *testCluster) {
	at, m := g.nodes[0], g.nodes[1]
	running, _ := g.runs(at, m)
	began := time.Now()
	g.kill(m)
	g.lost(at, m, running, began, afterKill)
	g.elsewhere(at)
})

var _ = promise(losing, "a killed node starts again", whole, func(g *testCluster) {
	m := g.nodes[1]
	g.kill(m)
	began := time.Now()
	g.start(m)
	g.allKnow(g.workers())
	g.within("its worker is free, browser included", 30*time.Second, time.Since(began))
	task, _ := g.site.opens()
	g.good(g.play(g.nodes[2], on(m.name, task+`]`)))
})

// lost fails the test unless what ran on a node that was lost is answered in
// time, and what is sent there then is refused as what had not begun.
func (g *testCluster) lost(at, m *member, running <-chan nodeAnswer, began time.Time, limit time.Duration) {
	g.t.Helper()
	g.wasLost("what runs there is answered worker_lost", running, began, limit)
	if x := g.play(at, on(m.name, `"actions":[{"wait":1}]`)); x.Code != "worker_offline" || x.status != http.StatusConflict || !x.Retryable {
		g.t.Errorf("a request for its worker: %v", x)
	}
}

// wasLost fails the test unless a task that had begun is answered in time as one
// of which nobody knows how far it was.
func (g *testCluster) wasLost(what string, running <-chan nodeAnswer, began time.Time, limit time.Duration) {
	g.t.Helper()
	x := <-running
	g.within(what, limit, x.at.Sub(began))
	if x.err != nil || x.status != 200 || x.Code != "worker_lost" || x.Retryable {
		g.t.Errorf("%s: the answer is %v", what, x)
	}
}

// elsewhere fails the test unless what may go anywhere does not notice.
func (g *testCluster) elsewhere(at *member) {
	g.t.Helper()
	task, _ := g.site.opens()
	g.within("another task is played elsewhere", afterFreeze, g.good(g.play(at, anywhere(task+`]`))).took)
}

// begins starts a task that answers later on the worker of a node, and waits
// until it runs.
func (g *testCluster) begins(at, m *member) (id string, page int) {
	g.t.Helper()
	task, n := g.site.opens()
	x := g.good(g.play(at, on(m.name, `"async":true,`+task+`,{"wait":20000}]`)))
	g.shows(n)
	return x.TaskID, n
}

// ended plays a task that answers later to its end, and returns its identifier.
func (g *testCluster) ended(at, m *member, script string) string {
	g.t.Helper()
	x := g.good(g.play(at, on(m.name, `"async":true,"actions":[{"evaluate":"`+script+`"}]`)))
	if a := g.poll(at, x.TaskID, 20*time.Second); a.Status != "complete" {
		g.t.Fatalf("the task does not end: %v", a)
	}
	return x.TaskID
}

// failed waits until a node tells that a task has failed, and returns as what.
func (g *testCluster) failed(at *member, id string) (code string) {
	g.t.Helper()
	g.until(at.name+" tells that the task has failed", func() bool {
		x := g.poll(at, id, 0)
		if x.Status == "complete" {
			g.t.Fatalf("the task is told of as ended: %v", x)
		}
		code = x.Code
		return x.status == 200 && x.Status == "failed"
	})
	return code
}

// results are the answers and files of tasks that have ended.
type results struct {
	g     *testCluster
	small string // identifiers of tasks
	large string
	file  string
}

// leaves lets the worker of a node leave results: some that are kept with the
// record, and some that are files.
func (g *testCluster) leaves(m *member) *results {
	g.t.Helper()
	r := &results{g: g, small: g.ended(m, m, "return 6*7"), large: g.ended(m, m, "return 'x'.repeat(1<<20)")}
	task, _ := g.site.opens()
	r.file = pictureIn(g.good(g.play(m, on(m.name, task+`,{"screenshot":"viewport"}]`))))
	return r
}

// readAt fails the test unless all of it can be read at a node.
func (r *results) readAt(m *member) {
	t := r.g.t
	t.Helper()
	if x := r.g.poll(m, r.small, 0); x.Status != "complete" || fmt.Sprint(x.Data) != "42" {
		t.Errorf("a result at %s: %v", m.name, x)
	}
	if x := r.g.poll(m, r.large, 0); x.Status != "complete" || len(fmt.Sprint(x.Data)) != 1<<20 {
		t.Errorf("a large result at %s: %v", m.name, x)
	}
	if x := r.g.ask(m, "GET", r.file, ""); x.status != 200 || !strings.HasPrefix(x.body, "\x89PNG") {
		t.Errorf("a picture at %s: %d, %d bytes", m.name, x.status, len(x.body))
	}
}

var _ = promise(losing, "a node is killed that plays tasks for later", quick, func(g *testCluster) {
	n1, m, n3 := g.nodes[0], g.nodes[1], g.nodes[2]
	kept := g.leaves(m)
	id, _ := g.begins(n1, m)
	began := time.Now()
	g.kill(m)
	for _, at := range []*member{n1, n3} { // one has started it, and one has not
		if code := g.failed(at, id); code != "worker_lost" {
			g.t.Errorf("%s tells of the task as %s", at.name, code)
		}
		g.within("its asynchronous task is failed as worker_lost, asked for at "+at.name, election, time.Since(began)) // it is written down
		began = time.Now()
		kept.readAt(at)
		g.within("results, small and large, and pictures are read at "+at.name, 5*time.Second, time.Since(began))
		began = time.Now()
	}
	g.start(m)
	g.allKnow(g.workers())
	g.within("started again: its worker is free, browser included", 30*time.Second, time.Since(began))
	for _, at := range g.nodes { // what is failed stays failed
		if code := g.failed(at, id); code != "worker_lost" {
			g.t.Errorf("with the node back %s tells of the task as %s", at.name, code)
		}
	}
	kept.readAt(m)
})

var _ = promise(losing, "a node sleeps for 15 s and wakes up", whole, func(g *testCluster) {
	at, m := g.nodes[0], g.nodes[2]
	id, _ := g.begins(at, m)
	began := time.Now()
	g.freeze(m)
	if code := g.failed(at, id); code != "worker_lost" {
		g.t.Errorf("the task is told of as %s", code)
	}
	g.within("its asynchronous task is failed as worker_lost", election, time.Since(began)) // it is written down
	task, _ := g.site.opens()
	x := g.good(g.play(at, `{"async":true,"queueTimeout":10000,`+task+`,{"getText":"h1"}]}`))
	g.within("an asynchronous task is accepted elsewhere", election, x.took)
	time.Sleep(time.Until(began.Add(15 * time.Second))) // as long as it has to sleep
	woken := time.Now()
	g.wake(m)
	g.allKnow(g.workers())
	g.within("woken up: it has dropped what was given up, its worker is free", 5*time.Second, time.Since(woken))
	for _, one := range g.nodes {
		if code := g.failed(one, id); code != "worker_lost" {
			g.t.Errorf("then %s tells of the task as %s", one.name, code)
		}
		if a := g.poll(one, x.TaskID, 10*time.Second); a.Status != "complete" {
			g.t.Errorf("%s tells of what was played meanwhile: %v", one.name, a)
		}
	}
	task, _ = g.site.opens()
	g.good(g.play(at, on(m.name, task+`]`)))
	g.within("and it plays again", 5*time.Second, time.Since(woken))
})

var _ = promise(losing, "a node is killed in a stream of tasks", whole, func(g *testCluster) {
	g.losesInAStream(g.nodes[1], g.kill, afterKill)
})

var _ = promise(losing, "a node is frozen in a stream of tasks", whole, func(g *testCluster) {
	g.losesInAStream(g.nodes[1], func(all ...*member) { g.freeze(all[0]) }, afterFreeze)
})

var _ = promise(losing, "an account is removed while a node is frozen", quick, func(g *testCluster) {
	at, m := g.nodes[0], g.nodes[2]
	token := g.newToken("erin", "pro")
	x := g.good(g.askAs(token, at, "POST", "/v1/", on(m.name, `"session":{"preserve":true},"actions":[{"wait":1}]`)))
	if x.SessionID == "" {
		g.t.Fatalf("no session: %v", x)
	}
	g.freeze(m)
	g.misses(at, 1)
	if code, out, errs := play(g.t, "", "account", "delete", "erin", "--data="+at.data); code != 0 {
		g.t.Fatalf("the account cannot be deleted: %s%s", out, errs)
	}
	woken := time.Now()
	g.wake(m)
	g.allKnow(g.workers())
	g.within("woken up: the worker of its session is free", 5*time.Second, time.Since(woken))
})

// losesInAStream fails the test unless the loss of a node in a stream of tasks costs
// only what its worker was playing. That those who had been sent there are not
// played twice is seen when it is back.
func (g *testCluster) losesInAStream(m *member, lose func(...*member), limit time.Duration) {
	g.t.Helper()
	tr := g.pour(&balancer{g: g, to: g.others(m)}, 5, false)
	tr.until(30)
	before := tr.slowest()
	began := time.Now()
	lose(m)
	g.misses(g.others(m)[0], 1)
	tr.until(tr.count() + 20)
	all := tr.end()
	g.within("the slowest task before", 0, before)
	lost := 0
	for _, x := range all {
		switch {
		case x.err == nil && x.status == 200 && x.Code == "worker_lost":
			lost++
			g.within("the task that ran there is answered worker_lost", limit, x.at.Sub(began))
		case !x.right:
			g.t.Errorf("a task that could go anywhere: %v", x.nodeAnswer)
		case x.at.After(began):
			g.within("any other task of the stream is played", 2*afterFreeze, x.took)
		}
	}
	if lost > m.workers {
		g.t.Errorf("%d tasks were lost with %d workers", lost, m.workers)
	}
	g.whole()
}

var _ = promise(counts, "a node is killed that has counted", quick, func(g *testCluster) {
	type count struct {
		account, token string
		want           int64
	}
	counts := map[string]*count{"basic": {account: "bella"}, "pro": {account: "carl"}}
	used := func(m *member, c *count) (n int64) {
		x := g.askAs(c.token, m, "GET", "/v1/usage", "")
		_, _ = fmt.Sscanf(after(x.body, `"usedToday":`), "%d", &n)
		return n
	}
	for plan, c := range counts {
		c.token = g.newToken(c.account, plan)
		c.want = used(g.nodes[0], c) + 6
		for i := range 6 {
			if x := g.askAs(c.token, g.nodes[i%3], "POST", "/v1/", anywhere(`"actions":[{"wait":1}]`)); x.status != 200 {
				g.t.Fatalf("a task on the plan %s: %v", plan, x)
			}
		}
	}
	// Each node tells three times a second what it holds, so what all say for longer
	// is what they know.
	var since time.Time
	g.until("all have counted all", func() bool {
		for _, c := range counts {
			for _, m := range g.nodes {
				if used(m, c) != c.want {
					since = time.Time{}
					return false
				}
			}
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) > 700*time.Millisecond
	})
	m := g.nodes[2]
	g.kill(m)
	for plan, c := range counts {
		for _, at := range g.others(m) {
			if n := used(at, c); n < c.want {
				g.t.Errorf("on the plan %s %s knows of %d tasks, and there were %d", plan, at.name, n, c.want)
			}
		}
	}
	for plan, c := range counts {
		asked := time.Now()
		g.until("the counts can be read", func() bool { return used(g.nodes[0], c) >= c.want })
		g.within("the daily count of plan "+plan+" is what it was", election, time.Since(asked))
	}
})

func after(s, mark string) string {
	_, rest, _ := strings.Cut(s, mark)
	return rest
}

var _ = promise(electing, "the leading node is killed", quick, func(g *testCluster) {
	m := g.leader()
	at := g.others(m)[0]
	// A worker for each, so that none of them waits for another.
	began := time.Now()
	g.kill(m)
	task, _ := g.site.opens()
	plain := g.send(at, anywhere(task+`]`))
	task, _ = g.site.opens()
	later := g.send(at, `{"async":true,"queueTimeout":30000,`+task+`,{"getText":"h1"}]}`)
	x := <-plain
	g.good(x)
	g.within("a task that answers at once is played", afterFreeze, x.at.Sub(began))
	held := g.play(at, anywhere(`"session":{"preserve":true},"actions":[{"wait":1}]`)) // its worker is free
	g.accepted("a session is opened", held, began)
	x = <-later
	g.accepted("an asynchronous task is accepted", x, began)
	if x.Success {
		for _, one := range g.others(m) {
			if a := g.poll(one, x.TaskID, 20*time.Second); a.Status != "complete" {
				g.t.Errorf("%s tells of it: %v", one.name, a)
			}
		}
	}
	if held.Success {
		g.good(g.play(at, fmt.Sprintf(`{"session":{"id":%q,"close":true},"actions":[]}`, held.SessionID)))
	}
})

// accepted fails the test unless what has to be written down was, or was refused
// when there had been no leader for too long.
func (g *testCluster) accepted(what string, x nodeAnswer, began time.Time) {
	g.t.Helper()
	switch {
	case x.err == nil && x.status == 200 && x.Success:
		g.within(what, election+time.Second, x.at.Sub(began))
	case x.status == http.StatusServiceUnavailable && x.Code == "no_quorum" && x.header.Get("Retry-After") != "":
		g.within(what+": refused as no_quorum", election+2*time.Second, x.at.Sub(began))
	default:
		g.t.Errorf("%s: %v", what, x)
	}
}
