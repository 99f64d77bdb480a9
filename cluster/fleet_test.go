package cluster_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/testkit/need"
)

// wire passes on the connections of one worker node, and counts their bytes.
type wire struct {
	net.Listener
	bytes atomic.Int64
}

// newWire is where a worker node connects to, in place of a node's own address.
func newWire(t testing.TB, to string) *wire {
	t.Helper()
	w := new(wire)
	w.Listener = forward(t, to, func(from, to net.Conn) {
		_, _ = io.Copy(to, io.TeeReader(from, w))
		to.Close()
	})
	return w
}

// forward listens in place of an address, and has each connection carried to it and back.
func forward(t testing.TB, to string, carry func(from, to net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
			go carry(from, on)
			go carry(on, from)
		}
	}()
	return l
}

// Write counts.
func (w *wire) Write(b []byte) (int, error) {
	w.bytes.Add(int64(len(b)))
	return len(b), nil
}

// fleet is three nodes that keep the store, and worker nodes.
type fleet struct {
	t       testing.TB
	hubs    []string
	keepers []*httpNode
	workers []*httpNode
	wires   []*wire
	token   string
	made    int
	clients *fleetClients
}

// openFleet starts so many worker nodes at once. It returns when all nodes know all others
// and serve, and after what time that was.
func openFleet(t testing.TB, n int) (f *fleet, took time.Duration) {
	t.Helper()
	cfgs, hubs := keeperConfigs(t)
	f = &fleet{t: t, hubs: hubs, made: n, workers: make([]*httpNode, n), wires: make([]*wire, n)}
	for _, m := range joinAll(t, cfgs) {
		f.keepers = append(f.keepers, openHTTPNode(t, m, 0))
	}
	f.token = f.keepers[0].token("fleet", "pro")
	began := time.Now()
	members := make([]*member.Member, n)
	for i := range n {
		f.wires[i] = newWire(t, hubs[i%3])
		members[i] = join(t, workerConfig(t, fmt.Sprintf("w%d", i+1), []string{f.wires[i].Addr().String()}))
	}
	var starting sync.WaitGroup
	for i, m := range members {
		starting.Go(func() {
			ready(t, m)
			f.workers[i] = openHTTPNode(t, m, 2)
		})
	}
	starting.Wait()
	opened := time.Since(began)
	f.known()
	t.Logf("%d nodes are open after %v, and know each other after %v", n, opened.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	for _, h := range f.workers {
		soon(t, "the node serves", func() bool { return h.ask("POST", "/v1/", f.token, plain).status == 200 })
	}
	return f, time.Since(began)
}

func (f *fleet) all() []*httpNode { return slices.Concat(f.keepers, f.workers) }

// known waits until all nodes know all others.
func (f *fleet) known() {
	f.t.Helper()
	all := f.all()
	soon(f.t, "every node knows all others", func() bool {
		for _, h := range all {
			if h.company.Count() != len(all) {
				return false
			}
		}
		return true
	})
}

// idle is what an idle worker node sends and gets, in bytes a second, and how many changes
// all of them write into the store in that time.
func (f *fleet) idle(lasts time.Duration) (rate float64, written uint64) {
	f.t.Helper()
	sum := func() (bytes int64) {
		for _, w := range f.wires {
			bytes += w.bytes.Load()
		}
		return bytes
	}
	last := func() uint64 {
		js, err := jetstream.New(f.keepers[0].member.Conn())
		if err == nil {
			var s jetstream.Stream
			if s, err = js.Stream(ctx, store.RecordStream); err == nil {
				return s.CachedInfo().State.LastSeq
			}
		}
		f.t.Error(err)
		return 0
	}
	before, stored, began := sum(), last(), time.Now()
	time.Sleep(lasts)
	return float64(sum()-before) / time.Since(began).Seconds() / float64(len(f.wires)), last() - stored
}

// joins adds a worker node.
func (f *fleet) joins() *httpNode {
	f.t.Helper()
	f.made++
	m := join(f.t, workerConfig(f.t, fmt.Sprintf("w%d", f.made), f.hubs))
	ready(f.t, m)
	h := openHTTPNode(f.t, m, 2)
	soon(f.t, "the new node serves", func() bool { return h.ask("POST", "/v1/", f.token, plain).status == 200 })
	return h
}

// leaves ends a node in good order: no client asks it any more.
func (h *httpNode) leaves() {
	h.Node.Stop()
	h.company.Close()
	_ = h.member.Close()
}

// TestFleet: what an idle worker node sends and gets does not grow with the number of
// worker nodes, and its lease costs no writes. Nodes that come and go fail no request.
func TestFleet(t *testing.T) {
	need.All(t)
	rates := map[int]float64{}
	for _, n := range []int{1, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f, took := openFleet(t, n)
			t.Logf("%d worker nodes serve %v after their start", n, took.Round(10*time.Millisecond))
			time.Sleep(sessionLease) // a start is not idle
			rate, written := f.idle(sessionLease)
			t.Logf("an idle worker node of %d sends and gets %.0f bytes a second; all write %d changes in %v", n, rate, written, sessionLease)
			if rates[n] = rate; written > 2 {
				t.Errorf("%d idle worker nodes write %d changes in %v", n, written, sessionLease)
			}
			if n > 1 {
				load := f.loads(4)
				f.changes(2, 0)
				load.end()
			}
		})
	}
	if rates[8] > 1.5*rates[1]+2500 || rates[8] > 5000 {
		t.Errorf("an idle worker node of one has %.0f bytes a second, and one of eight has %.0f", rates[1], rates[8])
	}
}
