package cluster_test

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

const ordinaryDoubts = 2

// doubts is how often each fault is made. The ordinary suite makes a few.
var doubts = flag.Int("doubts", ordinaryDoubts, "how often the tests of doubted nodes make each fault")

// busy is how much later than its bound an answer may come on a machine that has much else to do.
const busy = 5 * time.Second

// timings is how long clients waited.
type timings struct {
	mu  sync.Mutex
	all []time.Duration
}

func (x *timings) add(d time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = append(x.all, d)
}

func (x *timings) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.all) == 0 {
		return "none"
	}
	slices.Sort(x.all)
	at := func(p int) time.Duration { return x.all[(len(x.all)-1)*p/100].Round(time.Millisecond) }
	return fmt.Sprintf("%d, p50 %v, p95 %v, slowest %v", len(x.all), at(50), at(95), at(100))
}

// TestKeysGoWhereWorkersAre: with the workers of one node held by sessions, requests
// with a key are played on the free workers of the others, as those without one are.
func TestKeysGoWhereWorkersAre(t *testing.T) {
	to := newServices(t, 1, 1, 1)
	for round := range *doubts {
		held := to.all[round%3]
		x := to.ask(held, "POST", "/v1/", `{"session":{"preserve":true},"queueTimeout":5000,"actions":[{"wait":1}]}`)
		if x.status != 200 || x.SessionID == "" {
			t.Fatalf("no session: %d %s", x.status, x.text)
		}
		took, refused := &timings{}, 0
		for i := range 30 {
			body, _ := to.task(5*time.Millisecond, "")
			r := to.ask(to.all[i%3], "POST", "/v1/", body, "Idempotency-Key", fmt.Sprintf("r%d-%d", round, i))
			took.add(r.took)
			if r.status != 200 {
				refused++
				t.Logf("request %d: %d %s", i, r.status, r.text)
			}
		}
		if refused > 0 {
			t.Errorf("%d of 30 requests with a key were refused while two workers were free", refused)
		}
		t.Logf("round %d: with a key: %v", round+1, took)

		// Under load, with and without a key. Two workers have work of 20 ms for two
		// thirds of their time.
		with, without := &timings{}, &timings{}
		var clients sync.WaitGroup
		for c := range 4 {
			clients.Go(func() {
				for i := range 20 {
					body, _ := to.task(20*time.Millisecond, `"queueTimeout":30000,`)
					var header []string
					into := without
					if c%2 == 0 {
						into, header = with, []string{"Idempotency-Key", fmt.Sprintf("l%d-%d-%d", round, c, i)}
					}
					r := to.ask(to.all[(c+i)%3], "POST", "/v1/", body, header...)
					if into.add(r.took); r.status != 200 {
						t.Errorf("under load, client %d: %d %s", c, r.status, r.text)
					}
					time.Sleep(40 * time.Millisecond)
				}
			})
		}
		clients.Wait()
		t.Logf("round %d under load: with a key %v; without %v", round+1, with, without)
		if slowest := slices.Max(with.all); slowest > 5*time.Second {
			t.Errorf("a request with a key took %v under load", slowest)
		}
		if y := to.ask(held, "POST", "/v1/", fmt.Sprintf(`{"session":{"id":%q,"close":true}}`, x.SessionID)); y.status != 200 {
			t.Errorf("the session was not closed: %d %s", y.status, y.text)
		}
		to.whole()
	}
	to.once()
}
