package actors_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/testkit"
)

// BenchmarkExecute is what the actors add to a task that takes no time: the
// rules, the count in memory, the claim, the run, the answer, the cleaning.
func BenchmarkExecute(b *testing.B) {
	k := testkit.New(b, testkit.Options{Workers: 4})
	task := testkit.Task(testkit.Waiting(time.Minute))
	for b.Loop() {
		if x, err := k.Node.Execute(context.Background(), &api.Execute{Account: anna, Task: task}); err != nil || x.Refusal != nil {
			b.Fatal(x, err)
		}
	}
}

// BenchmarkExecuteAtOnce is the same from many clients.
func BenchmarkExecuteAtOnce(b *testing.B) {
	k := testkit.New(b, testkit.Options{Workers: 16, Config: func(c *actors.Config) { c.Queue.PerAccount = 1000 }})
	task := testkit.Task(testkit.Waiting(time.Minute))
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if x, err := k.Node.Execute(context.Background(), &api.Execute{Account: anna, Task: task}); err != nil || x.Refusal != nil {
				b.Error(x, err)
			}
		}
	})
}

// BenchmarkSession is a request in a session, with its state saved.
func BenchmarkSession(b *testing.B) {
	node := hollowNode(b, 1)
	x, err := node.Execute(context.Background(), &api.Execute{Account: anna, Task: testkit.Task(testkit.Preserve())})
	if err != nil || x.Refusal != nil {
		b.Fatal(x, err)
	}
	task := testkit.Task(testkit.Continue(x.SessionID))
	for b.Loop() {
		if x, err := node.Execute(context.Background(), &api.Execute{Account: anna, Task: task}); err != nil || x.Refusal != nil {
			b.Fatal(x, err)
		}
	}
}

// BenchmarkClaims is how selecting and memory grow with the number of workers.
// The scripted browsers keep nothing, so that the workers can be weighed.
func BenchmarkClaims(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			before := heap()
			node := hollowNode(b, n)
			each := float64(heap()-before) / float64(n)
			task := testkit.Task()
			for b.Loop() {
				if x, err := node.Execute(context.Background(), &api.Execute{Account: anna, Task: task}); err != nil || x.Refusal != nil {
					b.Fatal(x, err)
				}
			}
			b.ReportMetric(each, "B/worker")
		})
	}
}

// hollowNode starts a node whose browsers weigh nothing.
func hollowNode(b *testing.B, workers int) *actors.Node {
	node, err := actors.Start(actors.Config{Engine: &testkit.Noop{}, Workers: actors.SharedWorkers("", workers), Log: zerolog.Nop()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(node.Stop)
	for node.Status().Online < workers {
		runtime.Gosched()
	}
	return node
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
