package backlog_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"troupe/actors/backlog"
)

// TestAhead: without groups, and while nothing changes, the tasks ahead are those that run
// next, in their order.
func TestAhead(t *testing.T) {
	for seed := range uint64(200) {
		r, now := rand.New(rand.NewPCG(seed, 3)), time.UnixMilli(1795449031000)
		b, clock := backlog.NewBook(nil), &backlog.Clock{}
		for i := range 1 + r.IntN(40) {
			p := backlog.Place{Lane: backlog.Lane{Account: fmt.Sprint("a", r.IntN(3)), Priority: r.IntN(3)}}
			p.Order = clock.Order(now, now.Add(time.Duration(r.IntN(3)-1)*time.Second)) // of some the time has not come
			task := p.TaskID(fmt.Sprint("task_", i))
			b.Adding(p, task, 1)
			b.Added(p, task, 1, 1)
			if r.IntN(4) == 0 {
				b.Next(now)
			}
		}
		var ahead, next []string
		for _, f := range b.Ahead(now, 1+r.IntN(20)) {
			ahead = append(ahead, f.Key)
		}
		for range ahead {
			p, task, _ := b.Next(now)
			next = append(next, p.Key(task))
		}
		if !slices.Equal(ahead, next) {
			t.Fatalf("seed %d: ahead are %q, and then ran %q", seed, ahead, next)
		}
		if _, _, more := b.Next(now); len(ahead) == 0 && more {
			t.Fatalf("seed %d: nothing is ahead, and a task runs", seed)
		}
	}
}
