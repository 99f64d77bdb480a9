package http_test

import (
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/egress"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit"
)

// BenchmarkNotices queues tasks whose browsers take no time, over a real store, and waits
// until all have ended: without receivers, and until one, or four hosts, have been told.
func BenchmarkNotices(b *testing.B) {
	for _, hosts := range []int{0, 1, 4} {
		b.Run(fmt.Sprintf("%d_hosts", hosts), func(b *testing.B) { benchNotices(b, hosts) })
	}
}

func benchNotices(b *testing.B, hosts int) {
	var told atomic.Int64
	var urls []string
	for range hosts {
		s := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { told.Add(1) }))
		defer s.Close()
		urls = append(urls, s.URL)
	}
	store, err := persistence.OpenBadger(filepath.Join(b.TempDir(), "store"), persistence.Options{MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	out, err := egress.Start(egress.Config{AllowPrivate: true})
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	node, err := actors.Start(actors.Config{
		Engine: &testkit.Noop{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: []byte(`{}`)}}, Store: store, Workers: actors.SharedWorkers("", 16), Log: zerolog.Nop(),
		Notices: actors.NoticesConfig{Client: out.Client(), Result: http.NoticeResult},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer node.Stop()
	var turn atomic.Int64
	b.ResetTimer()
	began := time.Now()
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() {
			for {
				i := int(turn.Add(1)) - 1
				if i >= b.N {
					return
				}
				body := map[string]any{"queue": true, "actions": []map[string]any{{"wait": 1}}}
				if hosts > 0 {
					body["notify"] = []map[string]any{{"url": urls[i%hosts]}}
				}
				text, _ := json.Marshal(body)
				task, err := engine.Parse(text, nil)
				if err != nil {
					b.Error(err)
					return
				}
				if x, err := node.Start(b.Context(), &api.Execute{Account: api.Account{ID: "ada~1", Plan: engine.Pro}, Task: task}, nil); err != nil || x.Refusal != nil {
					b.Errorf("%+v, %v", x, err)
					return
				}
			}
		})
	}
	work.Wait()
	for hosts > 0 && told.Load() < int64(b.N) || hosts == 0 && node.Status().Queued > 0 {
		time.Sleep(time.Millisecond)
	}
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "tasks/s")
}
