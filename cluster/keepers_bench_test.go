package cluster_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// clockTick is how long one tick of a process's times is, on every Linux.
const clockTick = 10 * time.Millisecond

// spent is the processor time of some processes.
func spent(t testing.TB, all []*service) (d time.Duration) {
	t.Helper()
	for _, s := range all {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, f := range fields[11:13] { // user and system
			n, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			d += time.Duration(n) * clockTick
		}
	}
	return d
}

// paced has clients send so many tasks a second to nodes in turn. It returns how many ended.
func paced(t testing.TB, token string, nodes []*httpNode, rate int, lasts time.Duration) int64 {
	t.Helper()
	const clients = 16
	web := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer web.CloseIdleConnections()
	var done atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(lasts)
	for c := range clients {
		all.Go(func() {
			tick := time.NewTicker(time.Second * clients / time.Duration(rate))
			defer tick.Stop()
			for i := c; time.Now().Before(end); i += clients {
				h := nodes[i%len(nodes)]
				req, err := http.NewRequest("POST", h.base+"/v1/", strings.NewReader(patient))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+token)
				req.Header.Set("Content-Type", "application/json")
				res, err := web.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				b, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if res.StatusCode != http.StatusOK {
					t.Errorf("%s: %d %s", h.member.Name(), res.StatusCode, b)
				}
				done.Add(1)
				<-tick.C
			}
		})
	}
	all.Wait()
	return done.Load()
}

// BenchmarkKeepers measures the processor time of three nodes that keep the store, in
// processes of their own, as worker nodes are added and the tasks stay as many. It is what
// worker nodes cost others.
func BenchmarkKeepers(b *testing.B) {
	for _, n := range fleetNumbers(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			to, hubs := newFleet(b)
			keepers := to.all
			workers := make([]*httpNode, n)
			var starting sync.WaitGroup
			for i := range workers {
				starting.Go(func() {
					m := join(b, workerConfig(b, fmt.Sprintf("w%d", i+1), []string{hubs[i%3]}))
					ready(b, m)
					workers[i] = openHTTPNode(b, m, 2)
				})
			}
			starting.Wait()
			for _, h := range workers {
				soon(b, "the node serves", func() bool { return h.ask("POST", "/v1/", to.token, plain).status == 200 })
			}
			time.Sleep(sessionLease) // a start is not idle
			before, began := spent(b, keepers), time.Now()
			time.Sleep(sessionLease)
			idle := float64(spent(b, keepers)-before) / float64(time.Since(began))
			b.ReportMetric(1000*idle, "idle-ms/s")
			for _, rate := range []int{100, 1000} {
				before, began = spent(b, keepers), time.Now()
				done := paced(b, to.token, workers, rate, *fleetLoad)
				busy := float64(spent(b, keepers)-before) / float64(time.Since(began))
				perSecond := float64(done) / time.Since(began).Seconds()
				b.ReportMetric(perSecond, fmt.Sprintf("at-%d-tasks/s", rate))
				b.ReportMetric(1000*busy, fmt.Sprintf("at-%d-ms/s", rate))
				b.ReportMetric(1e6*(busy-idle)/perSecond, fmt.Sprintf("at-%d-µs/task", rate))
			}
		})
	}
}
