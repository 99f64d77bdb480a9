package cluster_test

import (
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/testkit/need"
)

var fleetSizes = flag.String("fleet", "1,8", "the numbers of worker nodes of TestFleet")

// wire passes on the connections of one worker node, and counts their bytes.
type wire struct {
	net.Listener
	bytes atomic.Int64
}

// newWire is where a worker node connects to, in place of a node's own address.
func newWire(t testing.TB, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			on, err := net.Dial("tcp", to)
			if err != nil {
				from.Close()
				continue
			}
			pass := func(a, b net.Conn) {
				_, _ = io.Copy(a, io.TeeReader(b, w))
				a.Close()
			}
			go pass(from, on)
			go pass(on, from)
		}
	}()
	return w
}

// Write counts.
func (w *wire) Write(b []byte) (int, error) {
	w.bytes.Add(int64(len(b)))
	return len(b), nil
}

// TestFleet: what an idle worker node sends and gets does not grow with the number of
// worker nodes, and all of them know all others soon after a start of all.
func TestFleet(t *testing.T) {
	need.All(t)
	var sizes []int
	for _, text := range strings.Split(*fleetSizes, ",") {
		n := 0
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, n)
	}
	rates := map[int]float64{}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) { rates[n] = idleFleet(t, n) })
	}
	least, most := sizes[0], sizes[len(sizes)-1]
	if rates[most] > 1.5*rates[least]+2500 || rates[most] > 5000 {
		t.Errorf("an idle worker node of %d has %.0f bytes a second, and one of %d has %.0f", least, rates[least], most, rates[most])
	}
}

// idleFleet is how many bytes a second an idle worker node of so many has.
func idleFleet(t *testing.T, n int) float64 {
	cfgs, hubs := keeperConfigs(t)
	keepers := joinAll(t, cfgs)
	var all []*httpNode
	for _, m := range keepers {
		all = append(all, openHTTPNode(t, m, 0))
	}
	began := time.Now()
	wires := make([]*wire, n)
	workers := make([]*httpNode, n)
	var starting sync.WaitGroup
	for i := range n {
		wires[i] = newWire(t, hubs[i%3])
		m := join(t, workerConfig(t, fmt.Sprintf("w%d", i+1), []string{wires[i].Addr().String()}))
		starting.Go(func() {
			ready(t, m)
			workers[i] = openHTTPNode(t, m, 2)
		})
	}
	starting.Wait()
	all = append(all, workers...)
	soon(t, "every node knows all others", func() bool {
		for _, h := range all {
			if h.company.Count() != n+3 {
				return false
			}
		}
		return true
	})
	t.Logf("%d worker nodes are known everywhere %v after their start", n, time.Since(began).Round(10*time.Millisecond))
	time.Sleep(3 * time.Second) // a start is not idle
	sum := func() (bytes int64) {
		for _, w := range wires {
			bytes += w.bytes.Load()
		}
		return bytes
	}
	const lasts = 10 * time.Second
	before, sent := sum(), time.Now()
	time.Sleep(lasts)
	rate := float64(sum()-before) / time.Since(sent).Seconds() / float64(n)
	t.Logf("an idle worker node of %d sends and gets %.0f bytes a second", n, rate)
	for _, h := range all {
		if h.company.Count() != n+3 {
			t.Errorf("a node knows %d", h.company.Count())
		}
	}
	for i, h := range workers {
		if r := h.ask("GET", "/healthz", "", ""); r.status != 200 {
			t.Errorf("worker node %d is %d", i+1, r.status)
		}
	}
	return rate
}
