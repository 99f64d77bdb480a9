package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// maxWatching is by how much metrics and traces may lengthen a task.
const maxWatching = 1.02

// runWatched measures what metrics and traces add to W1: two services that
// differ in nothing else. One has its metrics fetched every second and sends its
// traces to a collector.
func runWatched(b *bench, p *part) error {
	col, err := newCollector()
	if err != nil {
		return err
	}
	defer col.stop()
	r, err := comparePair(b, works[0], kind{"without", startService}, kind{"with metrics and traces", col.watchedService})
	if err != nil {
		return err
	}
	if col.spans.Load() == 0 || col.scrapes.Load() == 0 {
		return fmt.Errorf("nothing was watched: %d batches of spans, %d scrapes", col.spans.Load(), col.scrapes.Load())
	}
	p.say("%s", origin(b))
	p.say("W1 on two services with one worker each. Metrics are fetched every second (%d times), traces go to a collector (%d batches). %s", col.scrapes.Load(), col.spans.Load(), howPaired)
	p.add(r.table(func(more, first float64) string {
		return verdict(1+more/first, maxWatching, "at most %.2f ×")
	}))
	return nil
}

// runProxy measures what the outbound proxy adds to W1, between two raw clients
// that differ in nothing else.
func runProxy(b *bench, p *part) error {
	r, err := comparePair(b, works[0], rawDirect, rawClean)
	if err != nil {
		return err
	}
	p.say("%s", origin(b))
	p.say("W1 on two raw clients that clean. One uses a proxy like that of the service. %s", howPaired)
	p.add(r.table(func(more, _ float64) string { return verdict(more, maxProxy, "less than %.1f ms more") }))
	return nil
}

// maxProxy is how many milliseconds the proxy may add.
const maxProxy = 0.5

func verdict(got, most float64, aim string) string {
	aim = fmt.Sprintf(aim, most)
	if got > most {
		return fmt.Sprintf("%s: missed by %.3f", aim, got-most)
	}
	return aim + ": met"
}

// collector takes what a watched service gives, as Prometheus and a collector of
// OpenTelemetry do.
type collector struct {
	url            string
	srv            *http.Server
	spans, scrapes atomic.Int64
}

func newCollector() (*collector, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a collector: %w", err)
	}
	c := &collector{url: "http://" + ln.Addr().String()}
	c.srv = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(io.Discard, r.Body); err == nil && n > 0 && strings.HasSuffix(r.URL.Path, "/traces") {
			c.spans.Add(1)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	})}
	go func() { _ = c.srv.Serve(ln) }()
	return c, nil
}

func (c *collector) stop() { _ = c.srv.Close() }

// watchedService starts a service that is watched until it is stopped.
func (c *collector) watchedService(b *bench, n int) (*side, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	metrics := fmt.Sprintf("127.0.0.1:%d", port)
	s, err := startServiceWith(b, n, "--metrics-listen", metrics, "--traces", c.url)
	if err != nil {
		return nil, err
	}
	over, stop := make(chan struct{}), s.stop
	s.stop = func() {
		close(over)
		stop()
	}
	go func() {
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for {
			select {
			case <-over:
				return
			case <-every.C:
			}
			res, err := http.Get("http://" + metrics + "/metrics")
			if err != nil {
				continue // it is just ending
			}
			n, _ := io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode == http.StatusOK && n > 0 {
				c.scrapes.Add(1)
			}
		}
	}()
	return s, nil
}
