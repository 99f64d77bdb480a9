package outside_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// balancer sends requests to nodes in turn, as what stands before a service does:
// now and then it asks each whether it is ready, and where nobody listens it goes to
// another. Until it has asked, a node that drains gets what it got before.
type balancer struct {
	g  *testCluster
	to []*member

	mu   sync.Mutex
	next int
	out  map[string]bool // by name: was not ready when it was last asked
	open map[string]int  // by name: requests on their way
}

// watch asks the nodes whether they are ready until the row ends.
func (b *balancer) watch() {
	done, ended := make(chan struct{}), make(chan struct{})
	b.g.t.Cleanup(func() { close(done); <-ended })
	go func() {
		defer close(ended)
		for {
			for _, m := range b.to {
				x := b.g.ask(m, "GET", "/readyz", "")
				b.mu.Lock()
				if b.out == nil {
					b.out = map[string]bool{}
				}
				b.out[m.name] = x.status != 200
				b.mu.Unlock()
			}
			select {
			case <-done:
				return
			case <-time.After(noticing):
			}
		}
	}()
}

// noticing is how long a balancer does not know of a node that drains.
const noticing = time.Second

func (b *balancer) sendsTo(m *member) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.out[m.name]
}

// isEmpty reports whether a node gets no requests any more, and has answered all.
func (b *balancer) isEmpty(m *member) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out[m.name] && b.open[m.name] == 0
}

// sends counts a request to a node; the caller holds the lock. It is over at its answer.
func (b *balancer) sends(m *member) (answered func()) {
	if b.open == nil {
		b.open = map[string]int{}
	}
	b.open[m.name]++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.open[m.name]--
	}
}

// ask asks the next node. Where nobody listens nothing has begun: then another is
// asked.
func (b *balancer) ask(method, path, body string) (x nodeAnswer) {
	for range 3 * len(b.to) {
		b.mu.Lock()
		m := b.to[b.next%len(b.to)]
		b.next++
		if b.out[m.name] {
			b.mu.Unlock()
			continue
		}
		answered := b.sends(m)
		b.mu.Unlock()
		x = b.g.ask(m, method, path, body)
		answered()
		if errors.Is(x.err, syscall.ECONNREFUSED) {
			continue
		}
		return x
	}
	if x.err == nil && x.status == 0 {
		x.err = errors.New("no node is ready")
	}
	return x
}

// traffic is clients that send one task after the other.
type traffic struct {
	g    *testCluster
	stop chan struct{}
	once sync.Once
	all  sync.WaitGroup

	mu      sync.Mutex
	answers []trafficAnswer
}

type trafficAnswer struct {
	nodeAnswer
	right bool // it is what the task had to come to
}

// pour lets clients send tasks; if later, every fourth is one that answers later,
// and is asked for.
func (g *testCluster) pour(b *balancer, clients int, later bool) *traffic {
	tr := &traffic{g: g, stop: make(chan struct{})}
	g.t.Cleanup(func() { tr.end() }) // should the row end before
	for c := range clients {
		tr.all.Go(func() {
			for i := c; ; i++ {
				select {
				case <-tr.stop:
					return
				default:
				}
				a := tr.one(b, later && i%4 == 0)
				tr.mu.Lock()
				tr.answers = append(tr.answers, a)
				tr.mu.Unlock()
			}
		})
	}
	return tr
}

func (tr *traffic) one(b *balancer, later bool) (a trafficAnswer) {
	task, n := tr.g.site.opens()
	task += `,{"getText":"h1"}]`
	if !later {
		a.nodeAnswer = b.ask("POST", "/v1/", `{"queueTimeout":60000,`+task+`}`)
		a.right = a.err == nil && a.status == 200 && a.Data == fmt.Sprintf("number %d", n)
		return a
	}
	a.nodeAnswer = b.ask("POST", "/v1/", `{"queueTimeout":60000,"async":true,`+task+`}`)
	if a.err == nil && a.status == 200 && a.Success {
		x := b.ask("GET", "/v1/get-result?wait=20000&taskId="+a.TaskID, "")
		if a.right = x.Status == "complete" && x.Data == fmt.Sprintf("number %d", n); !a.right {
			a.nodeAnswer = x
		}
	}
	return a
}

// until waits until so many tasks are answered.
func (tr *traffic) until(n int) {
	tr.g.t.Helper()
	tr.g.until(fmt.Sprintf("%d tasks are answered", n), func() bool {
		return tr.count() >= n
	})
}

func (tr *traffic) slowest() time.Duration {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return slices.MaxFunc(tr.answers, func(a, b trafficAnswer) int { return int(a.took - b.took) }).took
}

// count is how many are answered.
func (tr *traffic) count() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.answers)
}

// end waits for the last answers.
func (tr *traffic) end() []trafficAnswer {
	tr.once.Do(func() { close(tr.stop) })
	tr.all.Wait()
	return tr.answers
}

// drain tells a node to take no more, and waits until it plays nothing.
func (g *testCluster) drain(m *member) {
	g.t.Helper()
	if code, out, errs := play(g.t, "", "drain", "--wait=1m", "--data="+m.data); code != 0 || !strings.Contains(out, "accepts no more") {
		g.t.Fatalf("the drain of %s: %d %s%s", m.name, code, out, errs)
	}
}
