package http_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	nethttp "net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

var queueFigures = flag.String("queue-figures", "1000", "numbers of waiting tasks, as in 1000,1000000: BenchmarkQueue measures the queue with so many")

var queueBrowsers = flag.String("queue-browsers", "64 of 0s", "browsers that BenchmarkQueue has while the queue drains, and how long each of their tasks takes")

// sender sends one request again and again from several clients.
type sender struct {
	t    testing.TB
	http *fasthttp.HostClient
	took []time.Duration
}

func newSender(t testing.TB, p *queueProcess, clients int) *sender {
	return &sender{t: t, http: &fasthttp.HostClient{Addr: p.addr, MaxConns: clients, NoDefaultUserAgentHeader: true,
		Dial: func(addr string) (net.Conn, error) { return net.Dial("tcp", addr) }}}
}

// send sends so many requests, and returns how many were answered with the status a second.
func (s *sender) send(clients, n int, body string, want int) (perSecond float64) {
	s.t.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	var mu sync.Mutex
	var wg sync.WaitGroup
	s.took = s.took[:0]
	began := time.Now()
	for range clients {
		wg.Go(func() {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			req.SetRequestURI("http://" + s.http.Addr + "/v1/")
			req.Header.SetMethod("POST")
			req.Header.Set("Authorization", "Bearer good")
			req.Header.SetContentType("application/json")
			req.SetBodyString(body)
			var took []time.Duration
			for left.Add(-1) >= 0 {
				at := time.Now()
				if err := s.http.Do(req, resp); err != nil || resp.StatusCode() != want {
					s.t.Errorf("%v, %d: %s", err, resp.StatusCode(), resp.Body())
					break
				}
				took = append(took, time.Since(at))
			}
			mu.Lock()
			s.took = append(s.took, took...)
			mu.Unlock()
		})
	}
	wg.Wait()
	return float64(n) / time.Since(began).Seconds()
}

func (s *sender) percentile(p float64) time.Duration {
	slices.Sort(s.took)
	if len(s.took) == 0 {
		return 0
	}
	return s.took[int(float64(len(s.took)-1)*p)].Round(10 * time.Microsecond)
}

// queuedNow is how many tasks wait in the queue.
func queuedNow(t testing.TB, p *queueProcess) (queued int) {
	t.Helper()
	queued, _ = p.numbers(t, "/")
	return queued
}

// heapOf is how many megabytes of the heap are in use after a collection.
func heapOf(t testing.TB, p *queueProcess) (heap int) {
	t.Helper()
	_, heap = p.numbers(t, "/heap")
	return heap
}

func (p *queueProcess) numbers(t testing.TB, path string) (queued, heap int) {
	t.Helper()
	r, err := nethttp.Get("http://" + p.status + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var a struct{ Queued, Heap int }
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a.Queued, a.Heap
}

// BenchmarkQueue measures durable starts, memory, the time of a start of the service,
// and how fast the queue is worked off. It asserts nothing of them.
func BenchmarkQueue(t *testing.B) {
	var sizes []int
	if err := json.Unmarshal([]byte("["+*queueFigures+"]"), &sizes); err != nil {
		t.Fatal(err)
	}
	const clients, sample = 16, 20_000
	folder := t.TempDir()
	held := queueService + "_HELD=1"
	p := startQueueProcess(t, folder, "0s", held)
	t.Logf("empty: memory %s, store open after %s, serving after %s", p.memory(t), p.opening, p.starts)
	have := 0
	for _, n := range sizes {
		s := newSender(t, p, clients)
		rate := s.send(clients, n-have, queuedTask, 202)
		have = n
		t.Logf("%d waiting: %.0f durable starts a second, p50 %s, p99 %s; memory %s; %d MB of the heap in use", n, rate, s.percentile(.5), s.percentile(.99), p.memory(t), heapOf(t, p))
		time.Sleep(30 * time.Second)
		t.Logf("%d waiting: memory %s half a minute later", n, p.memory(t))
		p.kill()
		p = startQueueProcess(t, folder, "0s", held)
		t.Logf("%d waiting: after a kill the store is open after %s, serving after %s; memory %s; %d MB of the heap in use", n, p.opening, p.starts, p.memory(t), heapOf(t, p))
	}
	s := newSender(t, p, clients)
	t.Logf("beside a held queue: %.0f synchronous tasks a second from %d clients", s.send(clients, sample, `{"actions":[{"open":"https://example.com/"},{"getText":"h1"}]}`, 200), clients)
	p.kill()

	p = startQueueProcess(t, folder, "0s", queueService+"_BROWSERS="+*queueBrowsers)
	began := time.Now()
	first := queuedNow(t, p)
	left := first
	for left > 0 && time.Since(began) < 5*time.Second {
		time.Sleep(20 * time.Millisecond)
		left = queuedNow(t, p)
	}
	t.Logf("the queue drains at %.0f tasks a second", float64(first-left)/time.Since(began).Seconds())
	s = newSender(t, p, clients)
	before := queuedNow(t, p)
	at := time.Now()
	rate := s.send(clients, sample, queuedTask, 202)
	took := time.Since(at)
	after := queuedNow(t, p)
	t.Logf("while it drains: %.0f durable starts a second, p50 %s, p99 %s; beside them %.0f tasks are played a second", rate,
		s.percentile(.5), s.percentile(.99), float64(before+sample-after)/took.Seconds())
	t.Logf("memory after that: %s", p.memory(t))
}

// BenchmarkDraining measures how fast the queue is worked off beside synchronous tasks, with
// browsers that take no time and with browsers that take some. Synchronous tasks come from twice
// as many clients, so that no browser is without work.
func BenchmarkDraining(t *testing.B) {
	for _, c := range []struct {
		workers int
		takes   string
		tasks   int
	}{{64, "0s", 60_000}, {64, "1ms", 60_000}, {64, "5ms", 60_000}, {16, "1ms", 30_000}, {16, "5ms", 20_000}, {16, "20ms", 5_000}, {4, "20ms", 1_000}} {
		t.Run(fmt.Sprintf("%d of %s", c.workers, c.takes), func(t *testing.B) {
			folder, browsers := t.TempDir(), fmt.Sprintf("%s_BROWSERS=%d of %s", queueService, c.workers, c.takes)
			p := startQueueProcess(t, folder, "0s", queueService+"_HELD=1", browsers)
			newSender(t, p, 16).send(16, c.tasks, queuedTask, 202)
			clients := 2 * c.workers
			sync := newSender(t, p, clients).send(clients, c.tasks/2, `{"queueTimeout":10000,"actions":[{"open":"https://example.com/"},{"getText":"h1"}]}`, 200)
			p.kill()
			p = startQueueProcess(t, folder, "0s", browsers)
			began := time.Now()
			first := queuedNow(t, p)
			left := first
			for left > c.tasks/4 {
				time.Sleep(10 * time.Millisecond)
				left = queuedNow(t, p)
			}
			rate := float64(first-left) / time.Since(began).Seconds()
			t.Logf("%.0f tasks a second from the queue, %.0f synchronous ones: %.2f", rate, sync, rate/sync)
		})
	}
}
