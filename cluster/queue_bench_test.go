package cluster_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var queueFigures = flag.Duration("queue-figures", 4*time.Second, "how long BenchmarkQueueOfNodes sends tasks, in each of its parts")

// BenchmarkQueueOfNodes measures how many tasks three nodes in processes queue and work
// off in a second. Their browsers take no time.
func BenchmarkQueueOfNodes(t *testing.B) {
	to := newServices(t, 8, 8, 8)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	start := func(s *service, body string) (time.Duration, error) {
		began := time.Now()
		req, err := http.NewRequest("POST", s.base.Load().(string)+"/v1/", strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		req.Header.Set("Authorization", "Bearer "+to.token)
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != 202 {
			err = fmt.Errorf("%d %s", res.StatusCode, b)
		}
		return time.Since(began), err
	}
	send := func(what string, at func(client int) *service, body string) int {
		var mu sync.Mutex
		var took []time.Duration
		var all sync.WaitGroup
		began := time.Now()
		for c := range 16 {
			all.Go(func() {
				for time.Since(began) < *queueFigures {
					d, err := start(at(c), body)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					took = append(took, d)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		slices.Sort(took)
		n := len(took)
		t.Logf("%s: %.0f starts a second, p50 %v, p99 %v", what, float64(n)/time.Since(began).Seconds(),
			took[n/2].Round(100*time.Microsecond), took[n*99/100].Round(100*time.Microsecond))
		return n
	}
	later := `{"actions":[{"wait":0}],"queue":{"startAfter":3600000}}`
	for _, s := range to.all {
		send("held, at "+s.cfg.Member.Name, func(int) *service { return s }, later)
	}
	send("held, at all", func(c int) *service { return to.all[c%3] }, later)
	began := time.Now()
	n := send("while they are played", func(c int) *service { return to.all[c%3] }, `{"actions":[{"wait":0}],"queue":{"priority":9}}`)
	soon(t, "the tasks have been played", func() bool {
		var l struct {
			Tasks []struct{ Priority int }
		}
		r := to.get(to.all[0], "/v1/tasks?status=queued&limit=1")
		return json.Unmarshal([]byte(r.text), &l) == nil && len(l.Tasks) == 1 && l.Tasks[0].Priority != 9
	})
	t.Logf("%d tasks queued and played: %.0f a second", n, float64(n)/time.Since(began).Seconds())
}
