package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors"
)

// clusterSizes are the numbers of nodes that are measured.
var clusterSizes = []int{1, 3, 5}

const (
	workersOfNode = 16
	clientsOfNode = 8
)

// crew is some nodes that are one service, or as many that know nothing of each
// other. Those show what the machine costs: processes that share two processors
// wake up more often and find less in the caches, whether they are a cluster or
// not.
type crew struct {
	sides []*httpSide
	apart bool
	did   map[string][]effort // by load, of each round
}

// effort is what nodes did in one round.
type effort struct {
	tasks float64 // a second and node
	cpu   float64 // µs of all nodes' processor time for a task
}

// load is how much is asked of nodes.
type load struct {
	name string
	pace float64 // tasks a second and node; zero: as many as can be
	far  bool    // to a worker of the next node
}

var (
	loads   = []load{{"100", 100, false}, {"1000", 1000, false}, {"full", 0, false}}
	farther = load{"1000, to the next node's worker", 1000, true}
)

// runCluster measures what a task costs all nodes of a cluster together, in
// processor time, beside what it costs as many nodes that are none: clocks would
// measure how they share this machine.
func runCluster(b *bench, p *part) (err error) {
	dir, err := os.MkdirTemp("", "troupe-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	joined, apart := map[int]*crew{}, map[int]*crew{}
	defer func() {
		for _, crews := range []map[int]*crew{joined, apart} {
			for _, c := range crews {
				c.stop()
			}
		}
	}()
	for _, n := range clusterSizes {
		if apart[n], err = startCrew(filepath.Join(dir, fmt.Sprint("apart", n)), n, true); err == nil && n > 1 {
			joined[n], err = startCrew(filepath.Join(dir, fmt.Sprint("joined", n)), n, false)
		}
		if err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
	}
	var all []*crew
	for _, n := range clusterSizes {
		all = append(all, apart[n])
		if joined[n] != nil {
			all = append(all, joined[n])
		}
	}
	time.Sleep(2 * time.Second) // a start is not idle
	idling := idle(all, 3, 3*time.Second)
	rounds, lasts := 5, 800*time.Millisecond
	if b.quick {
		rounds = 2
	}
	for r := range rounds + 1 { // the first one warms up
		for _, l := range loads {
			for _, n := range clusterSizes { // one right after the other: what disturbs one disturbs both
				if err := errors.Join(apart[n].work(l, lasts, r > 0), joined[n].work(l, lasts, r > 0)); err != nil {
					return fmt.Errorf("%d nodes, %s: %w", n, l.name, err)
				}
			}
		}
		for _, n := range clusterSizes {
			if err := joined[n].work(farther, lasts, r > 0); err != nil {
				return fmt.Errorf("%d nodes, %s: %w", n, farther.name, err)
			}
		}
	}
	p.say("%s", origin(b))
	p.say("Each node is a process with HTTP, actors, the store of its kind (synced to the disk) and %d workers. Their browsers do nothing. %d clients send tasks to each node. Processor time is that of the nodes, in medians of %d rounds of %v, the kinds in turn. Each cluster is compared with as many independent services, with the same load in the same run: they share this machine as the nodes of a cluster do. The ratio is the median of the ratios of the rounds.",
		workersOfNode, clientsOfNode, rounds, lasts)
	t := table{head: []string{"tasks asked of a node a second", "nodes", "cluster: done a second and node", "CPU µs a task", "apart: done", "CPU µs a task", "tasks a CPU second and node, of one apart", "of one alone"}}
	row := func(l load, beside string, n int) {
		alone := apart[1].median(beside, taskCPU)
		as := apart[n]
		ac := as.median(beside, taskCPU)
		if n == 1 {
			t.row(l.name, "1", "", "", f0(as.median(beside, taskCount)), f1(ac), "", "")
			return
		}
		c := joined[n]
		jc := c.median(l.name, taskCPU)
		t.row(l.name, fmt.Sprint(n), f0(c.median(l.name, taskCount)), f1(jc), f0(as.median(beside, taskCount)), f1(ac),
			fmt.Sprintf("%.0f %%", 100*overRounds(as.did[beside], c.did[l.name])), fmt.Sprintf("%.0f %%", 100*alone/jc))
	}
	for _, l := range loads {
		for _, n := range clusterSizes {
			row(l, l.name, n)
		}
	}
	for _, n := range clusterSizes[1:] {
		row(farther, "1000", n)
	}
	p.add(t)
	p.say("The cost of an idle node, in medians of 3 times 3s, all of them at the same time:")
	p.add(idling)
	return nil
}

func startCrew(dir string, n int, apart bool) (*crew, error) {
	c := &crew{apart: apart, did: map[string][]effort{}}
	var err error
	c.sides, err = startNodes(dir, n, workersOfNode, apart)
	c.sides = slices.DeleteFunc(c.sides, func(s *httpSide) bool { return s == nil })
	if err != nil {
		c.stop()
		return nil, err
	}
	// What a node knows of the others comes a moment after it answers.
	return c, until(func() bool { return c.work(load{name: "", far: !apart}, 50*time.Millisecond, false) == nil })
}

func (c *crew) stop() {
	if c == nil {
		return
	}
	for _, s := range c.sides {
		s.stop()
	}
}

// work lets clients send tasks to all nodes for a while, and keeps what that took.
func (c *crew) work(l load, lasts time.Duration, keep bool) (err error) {
	if c == nil {
		return nil
	}
	used := func() (ms float64) {
		for _, s := range c.sides {
			ms += runtimeOf(s.cmd.Process.Pid)
		}
		return ms
	}
	var done atomic.Int64
	errs := make([]error, len(c.sides)*clientsOfNode)
	before, began := used(), time.Now()
	var all sync.WaitGroup
	for i, s := range c.sides {
		conns, err := dialAll(s.addr, clientsOfNode)
		if err != nil {
			return err
		}
		defer conns.close()
		token := c.sides[0].token // of a cluster's nodes each has one, and all hold
		if c.apart {
			token = s.token
		}
		for k := range clientsOfNode {
			request := spell("POST", "/v1/", token, httpTask)
			if l.far { // a worker for each client, so that none waits
				task := fmt.Sprintf(`{"workerId":%q,"queueTimeout":10000,`, actors.WorkerID(fmt.Sprintf("n%d", (i+1)%len(c.sides)+1), k+1)) + httpTask[1:]
				request = spell("POST", "/v1/", token, task)
			}
			all.Go(func() {
				errs[i*clientsOfNode+k] = steadily(conns, k, request, l.pace/clientsOfNode, began, lasts, &done)
			})
		}
	}
	all.Wait()
	took := time.Since(began)
	time.Sleep(settles)
	n := float64(done.Load())
	e := effort{tasks: n / took.Seconds() / float64(len(c.sides)), cpu: (used() - before) * 1000 / n}
	if keep {
		c.did[l.name] = append(c.did[l.name], e)
		fmt.Fprintf(os.Stderr, "%d nodes, apart %v, %s: %.0f tasks, %.1f µs\n", len(c.sides), c.apart, l.name, e.tasks, e.cpu)
	}
	return errors.Join(errs...)
}

// steadily sends a request again and again over one connection, so often a
// second; zero: as soon as it is answered.
func steadily(c *clients, i int, request []byte, pace float64, began time.Time, lasts time.Duration, done *atomic.Int64) error {
	var answer fasthttp.Response
	for n := 0; time.Since(began) < lasts; n++ {
		if pace > 0 {
			// Each connection a bit later than the one before it.
			time.Sleep(time.Until(began.Add(time.Duration((float64(n) + float64(i)/clientsOfNode) / pace * float64(time.Second)))))
		}
		if err := c.once(i, request, &answer); err != nil {
			return err
		}
		if !bytes.Contains(answer.Body(), hollowResult) {
			return fmt.Errorf("a wrong answer: %.200s", answer.Body())
		}
		done.Add(1)
	}
	return nil
}

func taskCPU(e effort) float64   { return e.cpu }
func taskCount(e effort) float64 { return e.tasks }

func (c *crew) median(load string, of func(effort) float64) float64 {
	did := c.did[load]
	return middle(did, func(j int) float64 { return of(did[j]) })
}

// overRounds is the processor time of a task at one crew divided by that at
// another in the same round, in the middle of all rounds.
func overRounds(one, other []effort) float64 {
	return middle(one, func(j int) float64 { return one[j].cpu / other[j].cpu })
}
