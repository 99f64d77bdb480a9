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

// clusterSizes are the numbers of nodes that are compared with one that is alone.
var clusterSizes = []int{1, 3, 5}

const (
	workersOfNode = 16
	clientsOfNode = 8
)

// crew is some nodes that are one service; one alone is a service without a
// cluster.
type crew struct {
	sides []*httpSide
	token string
	did   map[string][]effort // by load, of each round
}

// effort is what nodes did in one round.
type effort struct {
	tasks float64 // a second and node
	cpu   float64 // µs of all nodes' processor time for a task
}

// runCluster measures what a task costs all nodes of a cluster together, in
// processor time: clocks would measure how they share this machine.
func runCluster(b *bench, p *part) (err error) {
	dir, err := os.MkdirTemp("", "troupe-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	crews := map[int]*crew{}
	defer func() {
		for _, c := range crews {
			for _, s := range c.sides {
				s.stop()
			}
		}
	}()
	for _, n := range clusterSizes {
		c, err := startCrew(filepath.Join(dir, fmt.Sprint(n)), n)
		if c != nil {
			crews[n] = c
		}
		if err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
	}
	rounds, lasts := 3, 3*time.Second
	if b.quick {
		rounds, lasts = 2, time.Second
	}
	loads := []struct {
		name string
		pace float64 // tasks a second and node; zero: as many as can be
		far  bool    // to a worker of the next node
	}{{"100", 100, false}, {"1000", 1000, false}, {"full", 0, false}, {"1000, to the next node's worker", 1000, true}}
	for r := range rounds + 1 { // the first one warms up
		for _, l := range loads {
			for _, n := range clusterSizes {
				if l.far && n == 1 {
					continue
				}
				e, err := crews[n].work(l.pace, l.far, lasts)
				if err != nil {
					return fmt.Errorf("%d nodes, %s: %w", n, l.name, err)
				}
				if r > 0 {
					crews[n].did[l.name] = append(crews[n].did[l.name], e)
				}
				fmt.Fprintf(os.Stderr, "%d nodes, %s: %.0f tasks, %.1f µs\n", n, l.name, e.tasks, e.cpu)
			}
		}
	}
	p.say("%s", origin(b))
	p.say("Each node is a process with %d workers whose browsers do nothing, HTTP, actors and the store that its kind has (synced to the disk); one alone is a service without a cluster. %d clients send tasks to each node. Processor time is that of the nodes, in medians of %d rounds of %v, the sizes in turn: it does not depend on how they share this machine.",
		workersOfNode, clientsOfNode, rounds, lasts)
	t := table{head: []string{"tasks asked of a node a second", "nodes", "done a second and node", "CPU µs a task", "tasks a CPU second and node", "of one node's"}}
	for _, l := range loads {
		one := crews[1].cpu("1000")
		if !l.far {
			one = crews[1].cpu(l.name)
		}
		for _, n := range clusterSizes {
			if l.far && n == 1 {
				continue
			}
			c := crews[n]
			cpu := c.cpu(l.name)
			t.row(l.name, fmt.Sprint(n), fmt.Sprintf("%.0f", c.median(l.name, func(e effort) float64 { return e.tasks })),
				f1(cpu), fmt.Sprintf("%.0f", 1e6/cpu), fmt.Sprintf("%.0f %%", 100*one/cpu))
		}
	}
	p.add(t)
	return nil
}

func startCrew(dir string, n int) (*crew, error) {
	c := &crew{did: map[string][]effort{}}
	var err error
	if n == 1 {
		if err = os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		var one *httpSide
		if one, err = startHTTPSide("one node", houseSide, dir); err == nil {
			c.sides = []*httpSide{one}
		}
	} else {
		c.sides, err = startNodes(dir, n, workersOfNode)
	}
	c.sides = slices.DeleteFunc(c.sides, func(s *httpSide) bool { return s == nil })
	if err != nil {
		return c, err
	}
	c.token = c.sides[0].token
	// What a node knows of the others comes a moment after it answers.
	return c, until(func() bool {
		_, err := c.work(0, n > 1, 50*time.Millisecond)
		return err == nil
	})
}

// work lets clients send tasks to all nodes for a while.
func (c *crew) work(pace float64, far bool, lasts time.Duration) (e effort, err error) {
	used := func() (ms float64) {
		for _, s := range c.sides {
			ms += cpuOf(s.cmd.Process.Pid)
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
			return e, err
		}
		defer conns.close()
		for k := range clientsOfNode {
			request := spell("POST", "/v1/", c.token, httpTask)
			if far { // a worker for each client, so that none waits
				task := fmt.Sprintf(`{"workerId":%q,"queueTimeout":10000,`, actors.WorkerID(fmt.Sprintf("n%d", (i+1)%len(c.sides)+1), k+1)) + httpTask[1:]
				request = spell("POST", "/v1/", c.token, task)
			}
			all.Go(func() {
				errs[i*clientsOfNode+k] = steadily(conns, k, request, pace/clientsOfNode, began, lasts, &done)
			})
		}
	}
	all.Wait()
	took := time.Since(began)
	time.Sleep(settles)
	n := float64(done.Load())
	return effort{tasks: n / took.Seconds() / float64(len(c.sides)), cpu: (used() - before) * 1000 / n}, errors.Join(errs...)
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

func (c *crew) cpu(load string) float64 {
	return c.median(load, func(e effort) float64 { return e.cpu })
}

func (c *crew) median(load string, of func(effort) float64) float64 {
	var list []float64
	for _, e := range c.did[load] {
		list = append(list, of(e))
	}
	slices.Sort(list)
	return list[len(list)/2]
}
