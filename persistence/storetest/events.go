package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/persistence"
)

func watches(t *testing.T, p *probe) {
	ch := p.watch("")
	when := time.Now().Add(time.Hour)
	rev := p.write(persistence.Write{Key: "a", Value: []byte("1"), Expires: when})
	p.put("b", "2")
	p.conflict(persistence.Write{Key: "a", If: ptr(0)})
	if err := p.store.Delete(ctx, "nothing", nil, false); err != nil {
		t.Fatal(err)
	}
	if err := p.store.Delete(ctx, "a", &rev, false); err != nil {
		t.Fatal(err)
	}
	p.add("n", 2, 0)
	p.add("n", 2, 3) // refused
	p.put("end", "")
	var got []string
	last := uint64(0)
	for {
		e := p.next(ch)
		if e.Revision <= last {
			t.Fatalf("event %s has revision %d after %d", show(e), e.Revision, last)
		}
		if e.Key == "a" && !e.Deleted && (e.Revision != rev || !e.Expires.Equal(when)) {
			t.Fatalf("event is %+v, want revision %d", e, rev)
		}
		last = e.Revision
		got = append(got, show(e))
		if e.Key == "end" {
			break
		}
	}
	if got, want := strings.Join(got, " "), "a=1 b=2 -a n=2 end="; got != want {
		t.Fatalf("events %q, want %q", got, want)
	}
}

func watchesPrefix(t *testing.T, p *probe) {
	some, all := p.watch("a/"), p.watch("")
	p.put("a", "1")
	p.put("ab", "1")
	p.put("a/1", "1")
	p.put("b/a/", "1")
	p.put("a/2", "1")
	for e := p.next(all); e.Key != "a/2"; e = p.next(all) {
	}
	for _, want := range []string{"a/1", "a/2"} {
		if e := p.next(some); e.Key != want {
			t.Fatalf("event of %q, want %q", e.Key, want)
		}
	}
	p.quiet(some)
}

func watchStarts(t *testing.T, p *probe) {
	p.put("old", "1")
	ch := p.watch("")
	p.put("new", "1")
	if e := p.next(ch); e.Key != "new" {
		t.Fatalf("the first event is of %q", e.Key)
	}
}

func watchEnds(t *testing.T, p *probe) {
	wctx, cancel := context.WithCancel(ctx)
	ch, err := p.store.Watch(wctx, "")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	p.soon("the channel is closed", func() bool {
		select {
		case _, open := <-ch:
			return !open
		default:
			return false
		}
	})
	p.put("k", "1") // nobody listens: it must not matter
}

func slowWatcher(t *testing.T, p *probe) {
	ch := p.watch("")
	quick := p.watch("q")
	n := 0
	for ; n < 1<<17; n++ {
		if n%64 == 0 && len(ch) == cap(ch) && n > cap(ch)+64 {
			break
		}
		if _, _, err := p.store.Add(ctx, "n", 1, 1<<40, time.Time{}); err != nil { // with a limit each is a change
			t.Fatal(err)
		}
	}
	p.put("q", "1")
	p.next(quick) // others are not disturbed
	seen := 0
	for e := range ch {
		seen++
		if want := fmt.Sprint(seen); string(e.Value) != want {
			t.Fatalf("event %d is of total %s: one is missing", seen, e.Value)
		}
	}
	if seen == 0 || seen > n {
		t.Fatalf("saw %d of %d events before the channel was closed", seen, n)
	}
}

func watchOrder(t *testing.T, p *probe) {
	const writers, each = 8, 40
	one, two := p.watch(""), p.watch("")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := p.store.Put(ctx, persistence.Write{Key: fmt.Sprintf("w%d", w), Value: fmt.Append(nil, i)}); err != nil {
					t.Errorf("Put: %v", err)
				}
			}
		})
	}
	wg.Wait()
	next := map[string]int{}
	last := uint64(0)
	for range writers * each {
		a, b := p.next(one), p.next(two)
		if a.Revision != b.Revision || show(a) != show(b) {
			t.Fatalf("one watcher has %s, the other %s", show(a), show(b))
		}
		if a.Revision <= last {
			t.Fatalf("revision %d after %d", a.Revision, last)
		}
		last = a.Revision
		if string(a.Value) != fmt.Sprint(next[a.Key]) {
			t.Fatalf("%s: event %s, want value %d", a.Key, a.Value, next[a.Key])
		}
		next[a.Key]++
	}
}

// everythingAtOnce is for the race detector, and checks that a chain of
// conditional writes lost no step meanwhile.
func everythingAtOnce(t *testing.T, p *probe) {
	const each = 60
	ok := func(err error, allowed ...error) {
		for _, a := range allowed {
			if errors.Is(err, a) {
				return
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	ch := p.watch("k")
	var events sync.WaitGroup
	events.Go(func() {
		for range ch {
		}
	})
	p.put("chain", "0")
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for range each {
				key := fmt.Sprintf("k%d", r.IntN(5))
				switch r.IntN(5) {
				case 0:
					_, err := p.store.Put(ctx, persistence.Write{Key: key, Value: []byte("v"), Durable: r.IntN(4) == 0, Expires: time.Now().Add(time.Duration(r.IntN(20)) * time.Millisecond)})
					ok(err)
				case 1:
					ok(p.store.Delete(ctx, key, nil, false))
				case 2:
					_, err := p.store.List(ctx, "k")
					ok(err)
				case 3:
					_, err := p.store.Get(ctx, key)
					ok(err, persistence.ErrNotFound)
				case 4:
					ok(p.store.Sync(ctx))
				}
			}
		})
		wg.Go(func() {
			for done := 0; done < each/6; {
				old, err := p.store.Get(ctx, "chain")
				ok(err)
				var n int
				fmt.Sscan(string(old.Value), &n)
				_, err = p.store.Put(ctx, persistence.Write{Key: "chain", Value: fmt.Append(nil, n+1), If: &old.Revision})
				ok(err, persistence.ErrConflict)
				if err == nil {
					done++
				}
			}
		})
	}
	wg.Wait()
	if got := string(p.get("chain").Value); got != fmt.Sprint(each) {
		t.Errorf("the chain is at %s, want %d", got, each)
	}
	p.store.Close()
	events.Wait()
}
