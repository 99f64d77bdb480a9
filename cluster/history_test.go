package cluster_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"troupe/testkit/need"
)

var (
	faults = flag.Duration("faults", 0, "run the tests that do faults to real processes and disks, TestHistory for at least so long")
	seed   = flag.Uint64("seed", 1, "of the faults and of what is written")
)

func needsFaults(t *testing.T) {
	t.Helper()
	if *faults == 0 {
		t.Skip("takes half a minute: -faults 10s runs it")
	}
}

// did is what an operation was given, and came what it gave.
type did struct {
	op, key, value, over string
}
type came struct {
	value             string
	conflict, unknown bool
}

// registers is what keys with unique values are to their users: each answer
// fits one order of all operations, in which each stands between its start and
// its end.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		keys := map[string][]porcupine.Operation{}
		for _, o := range history {
			k := o.Input.(did).key
			keys[k] = append(keys[k], o)
		}
		var all [][]porcupine.Operation
		for _, h := range keys {
			all = append(all, h)
		}
		return all
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		in, out := input.(did), output.(came)
		switch {
		case in.op == "get":
			return out.value == state, state
		case in.op == "put":
			return true, in.value
		case out.conflict:
			return in.over != state, state
		case in.over == state:
			return true, in.value
		}
		return out.unknown, state // cas that did not take effect
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

// history gathers operations of many clients.
type history struct {
	mu    sync.Mutex
	start time.Time
	all   []porcupine.Operation
	gaps  []time.Duration // between acknowledged writes
	last  time.Time
	acked atomic.Int64 // additions
	maybe atomic.Int64
}

func (h *history) add(client int, in did, out came, call, end time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	back := end.Sub(h.start).Nanoseconds()
	if out.unknown {
		back = math.MaxInt64 // it may take effect at any time from its start on
	} else if in.op != "get" && !out.conflict {
		if !h.last.IsZero() {
			h.gaps = append(h.gaps, end.Sub(h.last))
		}
		h.last = end
	}
	h.all = append(h.all, porcupine.Operation{ClientId: client, Input: in, Call: call.Sub(h.start).Nanoseconds(), Output: out, Return: back})
}

// client does operations through one node until stop is closed.
func (h *history) client(id int, node func() *process, stop <-chan struct{}) {
	r := rand.New(rand.NewPCG(*seed, uint64(id)))
	revisions := map[string]answer{} // what was read last
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(r.IntN(20)) * time.Millisecond):
		}
		o := storeCommand{Op: []string{"get", "get", "put", "cas", "add"}[r.IntN(5)], Key: fmt.Sprintf("k/%d", r.IntN(5)), Value: fmt.Sprintf("%d-%d", id, n)}
		over := ""
		switch o.Op {
		case "cas":
			o.Rev, over = revisions[o.Key].Rev, revisions[o.Key].Value
		case "add":
			o.Key, o.Delta = "n", 1
		}
		call := time.Now()
		a := node().do(o)
		end := time.Now()
		if a.Err == errDead { // nobody was told
			time.Sleep(50 * time.Millisecond)
			continue
		}
		unknown := a.Err != "" && a.Err != "conflict" && a.Err != "missing"
		switch {
		case o.Op == "add":
			if h.maybe.Add(1); !unknown {
				h.acked.Add(1)
			}
			continue
		case o.Op == "get" && unknown:
			continue
		case o.Op == "get":
			revisions[o.Key] = a
		case !unknown && a.Err == "":
			revisions[o.Key] = answer{Value: o.Value, Rev: a.Rev}
		}
		h.add(id, did{o.Op, o.Key, o.Value, over}, came{a.Value, a.Err == "conflict", unknown}, call, end)
	}
}

// What many clients of three nodes see of the store, while nodes are killed and
// frozen, fits one order of all they did: nothing acknowledged is lost, nothing
// stale is read, no write takes effect twice.
func TestHistory(t *testing.T) {
	need.All(t)
	needsFaults(t)
	t.Parallel()
	var mu sync.Mutex
	all := startProcesses(t, configs(t, 3))
	node := func(i int) *process {
		mu.Lock()
		defer mu.Unlock()
		return all[i]
	}
	h := &history{start: time.Now()}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for c := range 6 {
		clients.Go(func() { h.client(c, func() *process { return node(c % 3) }, stop) })
	}
	r := rand.New(rand.NewPCG(*seed, 1<<40))
	kill := func(i int) {
		node(i).kill()
		time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
		p := startProcess(t, node(i).cfg)
		p.ready()
		mu.Lock()
		all[i] = p
		mu.Unlock()
	}
	freeze := func(i int, long time.Duration) {
		node(i).cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(long)
		node(i).cmd.Process.Signal(syscall.SIGCONT)
	}
	time.Sleep(time.Second)
	end := time.Now().Add(*faults)
	kill(leading(t, all))
	freeze(leading(t, all), 7*time.Second)
	for time.Now().Before(end) {
		i := r.IntN(3)
		if r.IntN(2) == 0 {
			i = leading(t, all)
		}
		if r.IntN(2) == 0 {
			kill(i)
		} else {
			freeze(i, time.Duration(r.IntN(15000))*time.Millisecond)
		}
		time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
	}
	soon(t, "writes go on", func() bool { return node(0).do(storeCommand{Op: "put", Key: "after", Value: "x"}).Err == "" })
	time.Sleep(time.Second)
	close(stop)
	clients.Wait()

	total := node(1).do(storeCommand{Op: "add", Key: "n"})
	if total.Err != "" || total.Total < h.acked.Load() || total.Total > h.maybe.Load() {
		t.Errorf("the counter is %d, %s; %d additions were acknowledged of %d", total.Total, total.Err, h.acked.Load(), h.maybe.Load())
	}
	unknown := 0
	for _, o := range h.all {
		if o.Output.(came).unknown {
			unknown++
		}
	}
	slices.Sort(h.gaps)
	t.Logf("%d operations, %d of unknown outcome, %d additions; longest times without an acknowledged write: %v", len(h.all), unknown, h.maybe.Load(), h.gaps[max(0, len(h.gaps)-3):])
	verdict, info := porcupine.CheckOperationsVerbose(registers, h.all, time.Minute)
	if verdict != porcupine.Ok {
		t.Errorf("the history is %v", verdict)
		if err := porcupine.VisualizePath(registers, info, t.ArtifactDir()+"/history.html"); err != nil {
			t.Error(err)
		}
	}
}
