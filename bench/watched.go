package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// maxWatching is by how much metrics and traces may lengthen a task.
const maxWatching = 1.02

// runWatched measures what metrics and traces add to W1: two services that
// differ in nothing else play tasks in turn. One has its metrics fetched every
// second and sends its traces to a collector.
func runWatched(b *bench, p *part) error {
	col, err := newCollector()
	if err != nil {
		return err
	}
	defer col.stop()
	halves, tasks := 2, 45
	if b.quick {
		halves, tasks = 1, 20
	}
	plain := kind{"without", startService}
	seen := kind{"with metrics and traces", col.watchedService}
	var times [2][]time.Duration
	var own [2]float64
	for half := range halves {
		// Two browsers are never quite the same: half of the tasks are played by
		// others, started the other way round.
		order := []kind{plain, seen}
		if half%2 == 1 {
			slices.Reverse(order)
		}
		sides, err := startAll(b, order, 1)
		if err != nil {
			return err
		}
		if half%2 == 1 {
			slices.Reverse(sides)
		}
		err = inTurn(b, sides, tasks, &times, &own)
		stopAll(sides)
		if err != nil {
			return err
		}
	}
	if col.spans.Load() == 0 || col.scrapes.Load() == 0 {
		return fmt.Errorf("nothing was watched: %d batches of spans, %d scrapes", col.spans.Load(), col.scrapes.Load())
	}
	p.say("%s", origin(b))
	p.say("W1 on two services with one worker each, %d tasks, one on each side in turn and the first side changing; %d ms between two. Metrics are fetched every second (%d times), traces go to a collector (%d batches).",
		len(times[0]), watchedIdle.Milliseconds(), col.scrapes.Load(), col.spans.Load())
	t := table{head: []string{"service", "tasks", "p50", "p95", "own CPU", "p50 ratio", "aim"}}
	for i, name := range []string{plain.name, seen.name} {
		slices.Sort(times[i])
		row := []string{name, fmt.Sprint(len(times[i])), fmt.Sprintf("%.2f", ms(at(times[i], 50))), f1(ms(at(times[i], 95))), f2(own[i] / float64(len(times[i])))}
		if i == 1 {
			ratio := ms(at(times[1], 50)) / ms(at(times[0], 50))
			verdict := fmt.Sprintf("at most %.2f: met", maxWatching)
			if ratio > maxWatching {
				verdict = fmt.Sprintf("at most %.2f: missed by %.3f", maxWatching, ratio-maxWatching)
			}
			row = append(row, fmt.Sprintf("%.3f", ratio), verdict)
		}
		t.row(row...)
	}
	p.add(t)
	return nil
}

// watchedIdle is enough for the cleaning after a task.
const watchedIdle = 75 * time.Millisecond

// inTurn plays W1 on both sides, one task each, first one side first and then
// the other.
func inTurn(b *bench, sides []*side, tasks int, times *[2][]time.Duration, own *[2]float64) error {
	const warm = 5
	var before [2]float64
	for n := range warm + tasks {
		if n == warm {
			before = [2]float64{cpuOf(sides[0].pid), cpuOf(sides[1].pid)}
		}
		for k := range 2 {
			i := (n + k) % 2
			took, err := sides[i].client(0).do(works[0], b.site)
			if err != nil {
				return fmt.Errorf("%s, %w", sides[i].name, err)
			}
			if n >= warm {
				times[i] = append(times[i], took)
			}
			time.Sleep(watchedIdle)
		}
	}
	for i, s := range sides {
		own[i] += cpuOf(s.pid) - before[i]
	}
	return nil
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
