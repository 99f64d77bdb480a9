package cluster_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var (
	fleetSizes   = flag.String("fleet", "1,10", "the numbers of worker nodes of BenchmarkFleet")
	fleetLoad    = flag.Duration("fleet-load", 5*time.Second, "how long BenchmarkFleet sends tasks")
	fleetChanges = flag.Int("fleet-changes", 10, "how many worker nodes join and leave in a minute, with the most of them")
)

// fleetClients send tasks to the nodes in turn, one at a time each, until end.
type fleetClients struct {
	f       *fleet
	mu      sync.RWMutex
	nodes   []*httpNode // that the load balancer has
	done    atomic.Int64
	stopped atomic.Bool
	wg      sync.WaitGroup
}

// loads lets so many clients send tasks to all nodes.
func (f *fleet) loads(clients int) *fleetClients {
	c := &fleetClients{f: f, nodes: f.all()}
	web := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: clients, IdleConnTimeout: 2 * time.Second}}
	for i := range clients {
		c.wg.Go(func() {
			for n := i; !c.stopped.Load(); n += clients {
				c.mu.RLock()
				h := c.nodes[n%len(c.nodes)]
				c.send(web, h)
				c.mu.RUnlock()
			}
		})
	}
	f.clients = c
	return c
}

func (c *fleetClients) send(web *http.Client, h *httpNode) {
	req, err := http.NewRequest("POST", h.base+"/v1/", strings.NewReader(patient))
	if err != nil {
		c.f.t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+c.f.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := web.Do(req)
	if err != nil {
		c.f.t.Errorf("%s: %v", h.member.Name(), err)
		return
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		c.f.t.Errorf("%s: %d %s, %v", h.member.Name(), res.StatusCode, b, err)
		return
	}
	c.done.Add(1)
}

// uses changes which nodes get requests, as a load balancer does. No request is on its way
// to one that is left out when it returns.
func (c *fleetClients) uses(nodes []*httpNode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = nodes
}

func (c *fleetClients) end() (done int64) {
	c.stopped.Store(true)
	c.wg.Wait()
	return c.done.Load()
}

// changes lets so many worker nodes leave, and others join, while clients send tasks.
func (f *fleet) changes(n int, every time.Duration) {
	f.t.Helper()
	for range n {
		began := time.Now()
		gone := f.workers[0]
		f.workers = f.workers[1:]
		f.clients.uses(f.all())
		gone.leaves()
		f.workers = append(f.workers, f.joins())
		f.clients.uses(f.all())
		time.Sleep(max(every-time.Since(began), 0))
	}
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func fleetNumbers(t testing.TB) (sizes []int) {
	for _, text := range strings.Split(*fleetSizes, ",") {
		n := 0
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, n)
	}
	return sizes
}

// BenchmarkFleet measures three nodes that keep the store and some worker nodes, with two
// workers each, in one process. Their browsers take no time.
func BenchmarkFleet(b *testing.B) {
	sizes := fleetNumbers(b)
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, took := openFleet(b, n)
			b.ReportMetric(took.Seconds(), "s-to-serve")
			time.Sleep(sessionLease) // a start is not idle
			used, began := processorTime(), time.Now()
			rate, written := f.idle(sessionLease)
			idle := float64(processorTime()-used) / float64(time.Since(began))
			b.ReportMetric(rate, "idle-B/s/node")
			b.ReportMetric(float64(written)*60/time.Since(began).Seconds(), "idle-writes/min")
			b.ReportMetric(1000*idle, "idle-ms/s")
			used, began = processorTime(), time.Now()
			load := f.loads(16)
			time.Sleep(*fleetLoad)
			done := load.end()
			spent, lasted := processorTime()-used, time.Since(began)
			b.ReportMetric(float64(done)/lasted.Seconds(), "tasks/s")
			b.ReportMetric(float64(done)/spent.Seconds(), "tasks/cpu-s")
			if n == slices.Max(sizes) && *fleetChanges > 0 {
				load := f.loads(4)
				f.changes(*fleetChanges, time.Minute/time.Duration(*fleetChanges))
				b.Logf("%d nodes have left and as many joined: none of %d tasks has failed, unless said above", *fleetChanges, load.end())
			}
		})
	}
}
