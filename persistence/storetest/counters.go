package storetest

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func counts(t *testing.T, p *probe) {
	for i, c := range []struct {
		delta, limit, total int64
		ok                  bool
	}{
		{0, 5, 0, true},
		{2, 5, 2, true},
		{3, 5, 5, true}, // at the limit is not above it
		{1, 5, 5, false},
		{0, 5, 5, true},
		{-1, 5, 4, true},
		{2, 5, 4, false}, // not even a part
		{9, 0, 13, true}, // no limit
		{1, -1, 14, true},
		{0, 5, 14, false},
	} {
		if total, ok := p.add("n", c.delta, c.limit); total != c.total || ok != c.ok {
			t.Fatalf("%d: Add(%d, limit %d) = %d, %v; want %d, %v", i, c.delta, c.limit, total, ok, c.total, c.ok)
		}
	}
	if total, ok := p.add("m", 6, 5); total != 0 || ok {
		t.Fatalf("a new counter above its limit: %d, %v", total, ok)
	}
	p.absent("m")
}

func neverNegative(t *testing.T, p *probe) {
	for range 2 {
		if total, ok := p.add("n", -3, 5); total != 0 || !ok {
			t.Fatalf("got %d, %v", total, ok)
		}
	}
	p.add("n", 2, 0)
	p.add("n", -9, 0)
	if total, ok := p.add("n", 1, 0); total != 1 || !ok {
		t.Fatalf("after going below zero: %d, %v; want 1", total, ok)
	}
}

func noOverflow(t *testing.T, p *probe) {
	p.add("n", math.MaxInt64-1, 0)
	if total, ok := p.add("n", 5, 0); total != math.MaxInt64 || !ok {
		t.Fatalf("got %d, %v", total, ok)
	}
	if total, ok := p.add("n", 5, 100); total != math.MaxInt64 || ok {
		t.Fatalf("got %d, %v", total, ok)
	}
}

func counterIsRecord(t *testing.T, p *probe) {
	p.add("c/n", 41, 0)
	before := p.get("c/n")
	p.add("c/n", 1, 0)
	if r := p.get("c/n"); string(r.Value) != "42" || r.Revision <= before.Revision {
		t.Fatalf("got %q, revision %d after %d", r.Value, r.Revision, before.Revision)
	}
	if got := p.keys("c/"); got != "c/n" {
		t.Fatalf("List = %q", got)
	}
	if err := p.store.Delete(ctx, "c/n", nil, false); err != nil {
		t.Fatal(err)
	}
	if total, _ := p.add("c/n", 1, 0); total != 1 {
		t.Fatalf("a deleted counter went on at %d", total)
	}
	p.put("text", "five")
	if total, ok, err := p.store.Add(ctx, "text", 1, 0, time.Time{}); err == nil {
		t.Fatalf("Add to a text = %d, %v, no error", total, ok)
	}
	if got := string(p.get("text").Value); got != "five" {
		t.Fatalf("a failed Add left %q", got)
	}
}

func counterExpires(t *testing.T, p *probe) {
	for wait := 100 * time.Millisecond; ; wait *= 3 { // a slow machine needs longer than that
		n := "n" + wait.String()
		ch, soon := p.watch(n), time.Now().Add(wait)
		for range 3 {
			if _, _, err := p.store.Add(ctx, n, 1, 0, soon); err != nil {
				t.Fatal(err)
			}
		}
		r, err := p.store.Get(ctx, n)
		if time.Now().After(soon) && wait < time.Minute {
			continue
		}
		if err != nil || !r.Expires.Equal(soon) {
			t.Fatalf("the counter expires %v, want %v; %v", r.Expires, soon, err)
		}
		for !p.next(ch).Deleted {
		}
		p.absent(n)
		if total, ok := p.add(n, 1, 1); total != 1 || !ok {
			t.Fatalf("after its expiry: %d, %v; want 1", total, ok)
		}
		if r := p.get(n); !r.Expires.IsZero() {
			t.Fatalf("what the last Add said does not count: %v", r.Expires)
		}
		return
	}
}

func exact(t *testing.T, p *probe) {
	const callers, limit = 200, 50
	var taken atomic.Int64
	totals := make([]int64, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			total, ok, err := p.store.Add(ctx, "n", 1, limit, time.Time{})
			if err != nil {
				t.Errorf("Add: %v", err)
			}
			if ok {
				taken.Add(1)
				totals[i] = total
			} else if total != limit {
				t.Errorf("refused at %d", total)
			}
		})
	}
	wg.Wait()
	seen := map[int64]bool{}
	for _, total := range totals {
		if total != 0 && seen[total] {
			t.Errorf("two callers were told %d", total)
		}
		seen[total] = true
	}
	if taken.Load() != limit || string(p.get("n").Value) != "50" {
		t.Fatalf("%d taken and %s kept, want %d", taken.Load(), p.get("n").Value, limit)
	}
	for range limit + 20 {
		wg.Go(func() {
			if _, _, err := p.store.Add(ctx, "n", -1, 0, time.Time{}); err != nil {
				t.Errorf("Add: %v", err)
			}
		})
	}
	wg.Wait()
	if total, _ := p.add("n", 0, 0); total != 0 {
		t.Fatalf("%d left after all was given back", total)
	}
}
