package engine

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"troupe/testkit/need"
)

var (
	isolationTasks   = flag.Int("isolation-tasks", 30, "how many tasks TestRandomMarks plays; make soak plays 2000")
	isolationMarks   = flag.String("isolation-marks", "", "which marks TestMarksOfAnAccount leaves, as a regular expression on their names")
	isolationWorkers = flag.Int("isolation-workers", 4, "how many workers TestRandomMarks has; one for each 100 tasks at most")
)

// walks counts what the walks of TestRandomMarks have seen.
type walks struct{ tasks, looks, same, others atomic.Int64 }

// TestRandomMarks leaves some marks and looks for all of them, again and again, on several
// workers.
func TestRandomMarks(t *testing.T) {
	need.All(t)
	t.Parallel()
	most := *isolationTasks
	workers := max(1, min(*isolationWorkers, most/100))
	seed := uint64(time.Now().UnixNano())
	var all walks
	t.Run("walks", func(t *testing.T) {
		for i := range workers {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				all.walk(t, rand.New(rand.NewPCG(seed, uint64(i))), (most+workers-1)/workers)
			})
		}
	})
	t.Logf("seed %d: %d tasks, %d of which have looked: %d in a context of their account, %d after another account's", seed, all.tasks.Load(), all.looks.Load(), all.same.Load(), all.others.Load())
	if !t.Failed() && most >= 100 && (all.same.Load() == 0 || all.others.Load() == 0) {
		t.Error("some kind of look never happened")
	}
}

func (all *walks) walk(t *testing.T, r *rand.Rand, most int) {
	m := newMarking(t, IsolateAccount)
	account := func() string { return []string{"ada", "bob"}[r.IntN(2)] }
	for tasks := 0; tasks < most; {
		var names []string
		for range 1 + r.IntN(3) { // marks on marks
			what := m.marks[r.IntN(len(m.marks))]
			if what.name == "a page that resists" && r.IntN(5) > 0 { // it takes long
				continue
			}
			m.plant(t, what, account())
			names = append(names, what.name)
			tasks++
			all.tasks.Add(1)
			m.reset(t)
		}
		before, last, who := m.in.context(), m.in.keeps, account()
		if more := m.differences(m.found(t, who)); more != "" {
			t.Fatalf("task %d: after %q a task %s", tasks, names, more)
		}
		tasks++
		all.tasks.Add(1)
		all.looks.Add(1)
		switch {
		case m.in.context() != before:
		case last.waits && last.account != who:
			t.Fatalf("task %d: %s has the context of %s", tasks, who, last.account)
		case last.waits:
			all.same.Add(1)
		}
		if last.waits && last.account != who {
			all.others.Add(1)
		}
		m.reset(t)
	}
	if n := m.srv.beacons.Load(); n > 0 {
		t.Errorf("%d requests of a page that was left have reached the server", n)
	}
}
