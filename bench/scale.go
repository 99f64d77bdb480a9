package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// crowd is what was measured of one number of workers, half of which hold a
// session with a running timer in the end.
type crowd struct {
	workers, sessions int
	start             time.Duration // until all are online
	perWorker         float64       // bytes
	perSession        float64
	alone, crowded    pace // tasks from one client and from many
	continued         pace // requests from many into sessions taken in turn
	late              time.Duration
}

// pace is how fast something that is done again and again goes. The processor
// time also means something on a machine that has other work.
type pace struct {
	rate float64 // a second
	cpu  float64 // µs each
}

// runScale measures the real actors with browsers that do and weigh nothing, so
// that a node can have more of them than a machine has memory for.
func runScale(b *bench, p *part) error {
	sizes, window := []int{10, 30, 100, 300, 1000, 3000, 10000}, time.Second
	if b.quick {
		sizes, window = []int{10, 100, 1000}, 200*time.Millisecond
	}
	var all []crowd
	for _, n := range sizes {
		c, err := measureCrowd(n, window)
		if err != nil {
			return fmt.Errorf("%d workers: %w", n, err)
		}
		all = append(all, c)
		fmt.Fprintf(os.Stderr, "%d workers: %.0f claims a second\n", n, c.alone.rate)
	}
	p.say("%s", origin(b))
	p.say("One node in one process, without a store. Its browsers take no time and no memory. A claim is a whole task: rules, count, choice of a worker, run, answer, cleaning. Then half of the workers get a session each, with a timer. Requests go to all sessions in turn. At last each session gets a timer of two seconds, and all of them end.")
	t := table{head: []string{"workers", "online after ms", "KB a worker", "claims a second", "CPU µs", fmt.Sprintf("from %d clients", manyClients), "CPU µs",
		"sessions", "KB a session", "requests a second in sessions", "CPU µs", "last session ended ms late"}}
	for _, c := range all {
		row := []string{fmt.Sprint(c.workers), fmt.Sprintf("%.0f", ms(c.start)), f1(c.perWorker / 1024)}
		row = append(append(row, c.alone.spelled()...), c.crowded.spelled()...)
		row = append(append(row, fmt.Sprint(c.sessions), f1(c.perSession/1024)), c.continued.spelled()...)
		t.row(append(row, fmt.Sprintf("%.0f", ms(c.late)))...)
	}
	p.add(t)
	if b.plot == "" {
		return nil
	}
	cost := chart{title: "µs of processor time a task", series: []series{{name: "one client"}, {name: fmt.Sprintf("%d clients", manyClients)}, {name: "in sessions"}}}
	weight := chart{title: "KB of memory", series: []series{{name: "a worker"}, {name: "a session"}}}
	for _, c := range all {
		x := float64(c.workers)
		cost.add(x, c.alone.cpu, c.crowded.cpu, c.continued.cpu)
		weight.add(x, c.perWorker/1024, c.perSession/1024)
	}
	if err := os.WriteFile(b.plot, []byte(draw("workers on one node", cost, weight)), 0o644); err != nil {
		return err
	}
	p.say("![how cost and memory grow with the number of workers](%s)", filepath.Base(b.plot))
	return nil
}

// manyClients is how many send at the same time where there are many.
const manyClients = 16

var crowdAccount = testkit.Pro("crowd")

func measureCrowd(n int, window time.Duration) (c crowd, err error) {
	c.workers, c.sessions = n, n/2
	limits := engine.DefaultLimits()
	l := limits[engine.Pro]
	l.Reserved = n
	limits[engine.Pro] = l
	before := weight()
	began := time.Now()
	node, err := actors.Start(actors.Config{
		Engine: &testkit.Noop{}, Workers: actors.SharedWorkers("", n), Limits: limits,
		Session: actors.SessionConfig{SharePerMil: 1000}, Log: zerolog.Nop(),
	})
	if err != nil {
		return c, err
	}
	defer node.Stop()
	if err := until(func() bool { return node.Status().Online == n }); err != nil {
		return c, fmt.Errorf("%d of %d are online: %w", node.Status().Online, n, err)
	}
	c.start = time.Since(began)
	online := weight()
	c.perWorker = (online - before) / float64(n)

	plain := func(int) error { return play(node, testkit.Task(testkit.Waiting(time.Minute))) }
	if c.alone, err = repeat(1, window, plain); err == nil {
		c.crowded, err = repeat(manyClients, window, plain)
	}
	if err != nil {
		return c, err
	}

	const long, short = 10 * time.Minute, 2 * time.Second
	claimed := weight()
	ids := make([]string, c.sessions)
	for i := range ids {
		x, err := node.Execute(context.Background(), &api.Execute{Account: crowdAccount,
			Task: testkit.Task(testkit.Preserve(), testkit.Lasting(long), testkit.Waiting(time.Minute))})
		if err := wrong(x, err); err != nil {
			return c, fmt.Errorf("session %d: %w", i, err)
		}
		ids[i] = x.SessionID
	}
	c.perSession = (weight() - claimed) / float64(c.sessions)
	ask := func(i int, lasts time.Duration) error {
		return play(node, testkit.Task(testkit.Continue(ids[i%len(ids)]), testkit.Lasting(lasts), testkit.Waiting(time.Minute)))
	}
	if c.continued, err = repeat(manyClients, window, func(i int) error { return ask(i, long) }); err != nil {
		return c, fmt.Errorf("a request in a session: %w", err)
	}
	if got := node.Status().Reserved; got != c.sessions {
		return c, fmt.Errorf("%d workers are reserved, want %d", got, c.sessions)
	}
	for i := range ids {
		if err := ask(i, short); err != nil {
			return c, fmt.Errorf("the last request in a session: %w", err)
		}
	}
	due := time.Now().Add(short)
	if err := until(func() bool { return node.Status().Reserved == 0 && node.Status().Online == n }); err != nil {
		return c, fmt.Errorf("%d sessions go on: %w", node.Status().Reserved, err)
	}
	c.late = max(0, time.Since(due))
	return c, nil
}

// play plays a task to its end.
func play(node *actors.Node, t *engine.Task) error {
	return wrong(node.Execute(context.Background(), &api.Execute{Account: crowdAccount, Task: t}))
}

func wrong(x *api.Executed, err error) error {
	switch {
	case err != nil:
		return err
	case x.Refusal != nil:
		return fmt.Errorf("refused: %s", x.Refusal.Text)
	case x.Outcome == nil || x.Outcome.End != engine.EndCompleted:
		return fmt.Errorf("ended as %v", x.Outcome)
	}
	return nil
}

func (p pace) spelled() []string { return []string{fmt.Sprintf("%.0f", p.rate), f1(p.cpu)} }

// repeat lets clients do something again and again for a while. Each call gets
// another number.
func repeat(clients int, window time.Duration, do func(i int) error) (p pace, err error) {
	var all sync.WaitGroup
	var next, done atomic.Int64
	errs := make([]error, clients)
	before, began := cpu(os.Getpid()), time.Now()
	for c := range clients {
		all.Go(func() {
			for time.Since(began) < window {
				if errs[c] = do(int(next.Add(1))); errs[c] != nil {
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	n := float64(done.Load())
	return pace{n / time.Since(began).Seconds(), (cpu(os.Getpid()) - before) * 1000 / n}, errors.Join(errs...)
}

// until waits for something that must come within a minute.
func until(is func() bool) error {
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("nothing more happens after a minute")
		}
	}
	return nil
}

// weight is the memory that this process cannot do without, in bytes.
func weight() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
