package backlog

import (
	"fmt"
	"testing"
	"time"

	"troupe/engine"
)

// TestTasksThatComeWhileKeysAreRead: a window that becomes too long while keys are read leaves
// out no task.
func TestTasksThatComeWhileKeysAreRead(t *testing.T) {
	b, lane := NewBook(nil), LaneFor("a", &engine.Queue{Group: "g", Concurrency: 1000})
	now := time.UnixMilli(1_800_000_000_000)
	at := func(ms int) (Place, string) {
		return Place{lane, uint64(now.UnixMilli()-100_000+int64(ms)) << counterBits}, fmt.Sprintf("task%05d", ms)
	}
	disk := map[string]bool{}
	for i := range 100 {
		p, task := at(1000 * i)
		disk[p.Key(task)] = true
		b.Found(p, 1, 0)
	}
	asked := map[string]bool{}
	load := func(between func()) {
		for _, m := range b.Wants() {
			between()
			var keys []Found
			for i := range 100_000 {
				p, task := at(i)
				if k := p.Key(task); len(keys) < m.Most && k > m.After && disk[k] {
					keys = append(keys, Found{Key: k, Size: 1})
				}
			}
			b.Loaded(m, keys, false)
		}
	}
	last := 0
	next := func() bool {
		_, task, ok := b.Next(now)
		if ok {
			if asked[task] {
				t.Fatalf("%s is given twice", task)
			}
			asked[task] = true
			fmt.Sscanf(task, "task%05d", &last)
		}
		return ok
	}
	load(func() {})
	for range 20 {
		next()
	}
	load(func() { // now tasks come that begin before the last key in memory
		for i := range maxWindow + maxWindow/2 {
			p, task := at(last + 1 + i)
			b.Adding(p, task, 1)
			disk[p.Key(task)] = true
			b.Added(p, task, 1, 1)
		}
	})
	for more := true; more; {
		load(func() {})
		more = next()
	}
	if want := 100 + maxWindow + maxWindow/2; len(asked) != want || b.Len() != 0 {
		t.Errorf("%d tasks were given, want %d; %d wait", len(asked), want, b.Len())
	}
}
