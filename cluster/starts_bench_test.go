package cluster_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors"
	edge "troupe/http"
	"troupe/persistence"
	"troupe/testkit"
)

var startsFor = flag.Duration("starts-for", 2*time.Second, "how long a round of BenchmarkStarts takes")

// openSingleNode starts a node without others, with its store on the disk.
func openSingleNode(t testing.TB, workers int) *httpNode {
	t.Helper()
	h := &httpNode{t: t}
	dir := t.TempDir()
	records, err := persistence.OpenBadger(filepath.Join(dir, "store"), persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { records.Close() })
	files, err := persistence.OpenFolder(filepath.Join(dir, "files"))
	if err != nil {
		t.Fatal(err)
	}
	h.accounts, h.usage = persistence.NewAccounts(records), persistence.NewUsage(records)
	t.Cleanup(h.usage.Close)
	h.Kit = testkit.New(t, testkit.Options{
		Store: records, Files: files, Specs: actors.SharedWorkers("n1", workers), Engine: testkit.NewEngine(),
		Config: func(c *actors.Config) { c.Usage, c.Limits = h.usage, limits() },
	})
	server, err := edge.New(edge.Config{
		Actors: h.Node, Live: h.Node, Auth: h.accounts, Counts: h.usage, Limits: limits(), Files: files, Uploads: filepath.Join(dir, "uploads"),
	})
	if err != nil {
		t.Fatal(err)
	}
	h.base = serveEdge(t, server, "127.0.0.1")
	return h
}

// starter has clients start tasks at some nodes.
type starter struct {
	t     testing.TB
	token string
	nodes []*httpNode
	web   *http.Client
}

func newStarter(t testing.TB, token string, nodes ...*httpNode) *starter {
	return &starter{t: t, token: token, nodes: nodes, web: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
}

func (s *starter) start(at *httpNode, body string, want int) error {
	req, err := http.NewRequest("POST", at.base+"/v1/", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := s.web.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != want {
		err = fmt.Errorf("%d %s", res.StatusCode, b)
	}
	return err
}

// round is how many starts a second, and how long each has taken.
func (s *starter) round(clients int, body string, want int) (rate float64, took []time.Duration) {
	var mu sync.Mutex
	var all sync.WaitGroup
	began := time.Now()
	for c := range clients {
		all.Go(func() {
			to := s.nodes[c%len(s.nodes)]
			var mine []time.Duration
			for time.Since(began) < *startsFor {
				at := time.Now()
				if err := s.start(to, body, want); err != nil {
					s.t.Error(err)
					break
				}
				mine = append(mine, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
		})
	}
	all.Wait()
	slices.Sort(took)
	return float64(len(took)) / time.Since(began).Seconds(), took
}

// BenchmarkStarts compares how many asynchronous tasks are durably started a second at
// three nodes that share a store, and at one with a store of its own, in turn, in one
// process and on one disk.
func BenchmarkStarts(b *testing.B) {
	cfgs, _ := keeperConfigs(b)
	var three []*httpNode
	for _, m := range joinAll(b, cfgs) {
		three = append(three, openHTTPNode(b, m, 8))
	}
	one := openSingleNode(b, 8)
	kinds := []*starter{newStarter(b, one.token("ada", "pro"), one), newStarter(b, three[0].token("ada", "pro"), three...)}
	for _, h := range three[1:] {
		soon(b, "the token is known", func() bool {
			return h.ask("GET", "/v1/usage", kinds[1].token, "").status == http.StatusOK
		})
	}
	for _, h := range three {
		soon(b, "it is known which node orders the queue", func() bool { return h.Node.QueueNode() != "" })
	}
	const body = `{"actions":[{"wait":0}],"queue":{"startAfter":3600000}}`
	for _, clients := range []int{16, 64} {
		rates, spent := [2][]float64{}, [2][]float64{}
		for range 3 {
			for k, s := range kinds {
				used := processorTime()
				rate, took := s.round(clients, body, http.StatusAccepted)
				n := len(took)
				if n == 0 {
					b.Fatal("nothing was started")
				}
				rates[k] = append(rates[k], rate)
				spent[k] = append(spent[k], float64((processorTime()-used).Microseconds())/float64(n))
				b.Logf("%d clients, %d nodes: %.0f a second, p50 %v, p99 %v", clients, len(s.nodes), rate, took[n/2].Round(10*time.Microsecond), took[n*99/100].Round(10*time.Microsecond))
			}
		}
		for k := range kinds {
			slices.Sort(rates[k])
			slices.Sort(spent[k])
		}
		name := fmt.Sprintf("queued-%d", clients)
		b.ReportMetric(rates[0][1], name+"-one/s")
		b.ReportMetric(rates[1][1], name+"-three/s")
		b.ReportMetric(100*rates[1][1]/rates[0][1], name+"-%")
		b.ReportMetric(spent[0][1], name+"-one-cpu-µs")
		b.ReportMetric(spent[1][1], name+"-three-cpu-µs")
	}
}
