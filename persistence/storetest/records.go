package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/persistence"
)

func readsBack(t *testing.T, p *probe) {
	when := time.Now().Add(time.Hour)
	for _, durable := range []bool{false, true} {
		rev := p.write(persistence.Write{Key: "a/b", Value: []byte("x\x00y"), Expires: when, Durable: durable})
		r := p.get("a/b")
		if r.Key != "a/b" || string(r.Value) != "x\x00y" || r.Revision != rev || !r.Expires.Equal(when) {
			t.Fatalf("got %+v, want revision %d and expiry %v", r, rev, when)
		}
	}
	p.put("empty", "")
	if r := p.get("empty"); len(r.Value) != 0 || !r.Expires.IsZero() {
		t.Fatalf("got %+v", r)
	}
	if err := p.store.Sync(ctx); err != nil {
		t.Fatalf("Sync: %v", err)
	}
}

func missing(t *testing.T, p *probe) {
	p.absent("nothing")
	p.put("nothing/below", "1")
	p.absent("nothing")
}

func bounds(t *testing.T, p *probe) {
	longest, largest := strings.Repeat("k", persistence.MaxKey), bytes.Repeat([]byte("v"), persistence.MaxValue)
	p.write(persistence.Write{Key: longest, Value: largest})
	if !bytes.Equal(p.get(longest).Value, largest) {
		t.Fatal("the largest value came back changed")
	}
	for _, w := range []persistence.Write{
		{Key: ""},
		{Key: longest + "k"},
		{Key: "k", Value: append(largest, 'v')},
	} {
		if _, err := p.store.Put(ctx, w); !errors.Is(err, persistence.ErrTooLarge) {
			t.Errorf("Put of a key of %d and a value of %d bytes: %v, want ErrTooLarge", len(w.Key), len(w.Value), err)
		}
	}
	if _, _, err := p.store.Add(ctx, "", 1, 0, time.Time{}); !errors.Is(err, persistence.ErrTooLarge) {
		t.Errorf("Add with no key: %v", err)
	}
}

func ownValues(t *testing.T, p *probe) {
	ch := p.watch("")
	other := p.watch("")
	in := []byte("abc")
	p.write(persistence.Write{Key: "k", Value: in})
	in[0] = 'X'
	out := p.get("k")
	out.Value[1] = 'X'
	list, err := p.store.List(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	list[0].Value[2] = 'X'
	p.next(ch).Value[0] = 'Y'
	if got := p.next(other).Value; string(got) != "abc" {
		t.Fatalf("a watcher changed the event of another: %q", got)
	}
	if got := p.get("k").Value; string(got) != "abc" {
		t.Fatalf("the value is %q after the caller changed its own", got)
	}
}

func revisions(t *testing.T, p *probe) {
	last := uint64(0)
	for i := range 50 {
		rev := p.put(fmt.Sprintf("k%d", i%7), "v")
		if rev <= last {
			t.Fatalf("revision %d after %d", rev, last)
		}
		last = rev
	}
	if err := p.store.Delete(ctx, "k0", nil, false); err != nil {
		t.Fatal(err)
	}
	if rev := p.put("k0", "v"); rev <= last {
		t.Fatalf("revision %d after a deletion, was %d before", rev, last)
	}
}

func unconditional(t *testing.T, p *probe) {
	first := p.put("k", "1")
	if second := p.put("k", "2"); second <= first || string(p.get("k").Value) != "2" {
		t.Fatalf("got %+v", p.get("k"))
	}
}

func onlyNew(t *testing.T, p *probe) {
	rev := p.write(persistence.Write{Key: "k", Value: []byte("1"), If: ptr(0)})
	p.conflict(persistence.Write{Key: "k", Value: []byte("2"), If: ptr(0)})
	if r := p.get("k"); string(r.Value) != "1" || r.Revision != rev {
		t.Fatalf("a refused write left %+v", r)
	}
	if err := p.store.Delete(ctx, "k", nil, false); err != nil {
		t.Fatal(err)
	}
	p.write(persistence.Write{Key: "k", Value: []byte("3"), If: ptr(0)})
}

func onlyOver(t *testing.T, p *probe) {
	first := p.put("k", "1")
	second := p.write(persistence.Write{Key: "k", Value: []byte("2"), If: ptr(first)})
	p.conflict(persistence.Write{Key: "k", Value: []byte("3"), If: ptr(first)})
	p.conflict(persistence.Write{Key: "k", Value: []byte("3"), If: ptr(second + 1)})
	p.conflict(persistence.Write{Key: "other", Value: []byte("3"), If: ptr(second)})
	p.absent("other")
	if r := p.get("k"); string(r.Value) != "2" || r.Revision != second {
		t.Fatalf("refused writes left %+v", r)
	}
}

func oneWinner(t *testing.T, p *probe) {
	for round := range 10 {
		key := fmt.Sprintf("k%d", round)
		rev := p.put(key, "start")
		var won atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				switch _, err := p.store.Put(ctx, persistence.Write{Key: key, Value: []byte{byte(i)}, If: &rev}); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, persistence.ErrConflict):
					t.Errorf("Put: %v", err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d writers over one revision won, want 1", won.Load())
		}
	}
}

func deletes(t *testing.T, p *probe) {
	p.put("k", "1")
	for range 2 { // the second finds nothing, which is no error
		if err := p.store.Delete(ctx, "k", nil, true); err != nil {
			t.Fatal(err)
		}
		p.absent("k")
	}
}

func deletesRevision(t *testing.T, p *probe) {
	first := p.put("k", "1")
	second := p.put("k", "2")
	if err := p.store.Delete(ctx, "k", &first, false); !errors.Is(err, persistence.ErrConflict) {
		t.Fatalf("deletion of an old revision: %v", err)
	}
	p.get("k")
	if err := p.store.Delete(ctx, "k", &second, false); err != nil {
		t.Fatal(err)
	}
	p.absent("k")
	if err := p.store.Delete(ctx, "k", &second, false); !errors.Is(err, persistence.ErrConflict) {
		t.Fatalf("deletion by revision of what is not there: %v", err)
	}
}

func lists(t *testing.T, p *probe) {
	for _, k := range []string{"b/2", "a", "b/10", "b", "c/x", "b/\xff", "b/1"} {
		p.put(k, k)
	}
	for prefix, want := range map[string]string{
		"":    "a b b/1 b/10 b/2 b/\xff c/x",
		"b/":  "b/1 b/10 b/2 b/\xff",
		"b/1": "b/1 b/10",
		"d":   "",
	} {
		if got := p.keys(prefix); got != want {
			t.Errorf("List(%q) = %q, want %q", prefix, got, want)
		}
	}
	list, err := p.store.List(ctx, "c")
	if err != nil || len(list) != 1 || string(list[0].Value) != "c/x" || list[0].Revision != p.get("c/x").Revision {
		t.Errorf("List = %+v, %v", list, err)
	}
}

func expires(t *testing.T, p *probe) {
	ch := p.watch("")
	p.put("stays", "1")
	when := time.Now().Add(150 * time.Millisecond)
	rev := p.write(persistence.Write{Key: "k", Value: []byte("1"), Expires: when})
	if _, err := p.store.Get(ctx, "k"); err != nil && time.Now().Before(when) {
		t.Fatalf("before it expires: %v", err)
	}
	p.next(ch)
	p.next(ch)
	e := p.next(ch) // nobody asks for the record meanwhile
	if !e.Deleted || e.Key != "k" || len(e.Value) != 0 || e.Revision <= rev {
		t.Fatalf("event of an expiry: %+v", e)
	}
	if time.Now().Before(when) {
		t.Fatal("expired before its time")
	}
	p.absent("k")
	p.get("stays")

	p.write(persistence.Write{Key: "late", Value: []byte("1"), Expires: time.Now().Add(-time.Second)})
	p.absent("late")
	p.write(persistence.Write{Key: "late", Value: []byte("2"), If: ptr(0)})
	if string(p.get("late").Value) != "2" {
		t.Fatal("a record could not follow an expired one")
	}
	past := p.write(persistence.Write{Key: "gone", Value: []byte("1"), Expires: time.Now().Add(-time.Second)})
	p.conflict(persistence.Write{Key: "gone", If: &past})
	if err := p.store.Delete(ctx, "gone", &past, false); !errors.Is(err, persistence.ErrConflict) {
		t.Fatalf("deletion by the revision of an expired record: %v", err)
	}
}

func expiryCleared(t *testing.T, p *probe) {
	when := time.Now().Add(50 * time.Millisecond)
	p.write(persistence.Write{Key: "k", Value: []byte("1"), Expires: when})
	p.write(persistence.Write{Key: "later", Value: []byte("1"), Expires: when})
	p.put("k", "2")
	p.write(persistence.Write{Key: "later", Value: []byte("2"), Expires: time.Now().Add(time.Hour)})
	ch := p.watch("probe")
	p.write(persistence.Write{Key: "probe", Expires: when.Add(50 * time.Millisecond)})
	for !p.next(ch).Deleted { // by now the old times have passed
	}
	if r := p.get("k"); string(r.Value) != "2" || !r.Expires.IsZero() {
		t.Fatalf("got %+v", r)
	}
	p.get("later")
}

func endedContext(t *testing.T, p *probe) {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, put := p.store.Put(gone, persistence.Write{Key: "k"})
	_, get := p.store.Get(gone, "k")
	_, list := p.store.List(gone, "")
	_, watch := p.store.Watch(gone, "")
	_, _, add := p.store.Add(gone, "n", 1, 0, time.Time{})
	for name, err := range map[string]error{
		"Put": put, "Get": get, "List": list, "Watch": watch, "Add": add,
		"Delete": p.store.Delete(gone, "k", nil, false), "Sync": p.store.Sync(gone),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", name, err)
		}
	}
	if got := p.keys(""); got != "" {
		t.Errorf("there is %q", got)
	}
}

func closed(t *testing.T, p *probe) {
	p.put("k", "1")
	ch := p.watch("")
	for range 2 { // twice is no error
		if err := p.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, open := <-ch; open {
		t.Error("a watcher's channel is open after Close")
	}
	_, put := p.store.Put(ctx, persistence.Write{Key: "k"})
	_, get := p.store.Get(ctx, "k")
	_, list := p.store.List(ctx, "")
	_, watch := p.store.Watch(ctx, "")
	_, _, add := p.store.Add(ctx, "n", 1, 0, time.Time{})
	for name, err := range map[string]error{
		"Put": put, "Get": get, "List": list, "Watch": watch, "Add": add,
		"Delete": p.store.Delete(ctx, "k", nil, false), "Sync": p.store.Sync(ctx),
	} {
		if !errors.Is(err, persistence.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
}

func keysBehind(t *testing.T, p *probe) {
	for _, k := range []string{"b/2", "a", "b/10", "b", "c/x", "b/\xff", "b/1"} {
		p.put(k, k)
	}
	p.put("b/2", "longer")
	if err := p.store.Delete(ctx, "b/10", nil, false); err != nil {
		t.Fatal(err)
	}
	p.write(persistence.Write{Key: "b/3", Value: []byte("over"), Expires: time.Now().Add(-time.Minute)})
	p.write(persistence.Write{Key: "b/4", Value: []byte("later"), Expires: time.Now().Add(time.Hour)})
	for _, c := range []struct {
		prefix, after string
		most          int
		want          string
	}{
		{"", "", 100, "a:1 b:1 b/1:3 b/2:6 b/4:5 b/\xff:3 c/x:3"},
		{"b/", "", 100, "b/1:3 b/2:6 b/4:5 b/\xff:3"},
		{"b/", "", 2, "b/1:3 b/2:6"},
		{"b/", "b/1", 2, "b/2:6 b/4:5"},
		{"b/", "b/10", 100, "b/2:6 b/4:5 b/\xff:3"},
		{"b/", "b/3", 1, "b/4:5"},
		{"b/", "a", 1, "b/1:3"},
		{"b/", "b/\xff", 10, ""},
		{"b/", "c", 10, ""},
		{"b/", "", 0, ""},
		{"d", "", 10, ""},
	} {
		list, err := p.store.Keys(ctx, c.prefix, c.after, c.most)
		var got []string
		for _, k := range list {
			got = append(got, fmt.Sprint(k.Key, ":", k.Size))
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("Keys(%q, %q, %d) = %q, %v; want %q", c.prefix, c.after, c.most, got, err, c.want)
		}
	}
}

func severalChanges(t *testing.T, p *probe) {
	put := func(key, value string, only *uint64) persistence.Change {
		return persistence.Change{Write: persistence.Write{Key: key, Value: []byte(value), If: only, Durable: key == "several/c"}}
	}
	drop := func(key string) persistence.Change {
		return persistence.Change{Write: persistence.Write{Key: key}, Delete: true}
	}
	p.put("several/old", "1")
	events := p.watch("several/")
	if err := persistence.Apply(ctx, p.store, put("several/a", "1", nil), drop("several/old"), put("several/a", "2", nil), put("several/c", "3", ptr(0))); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"several/a=1", "-several/old", "several/a=2", "several/c=3"} {
		if e := show(p.next(events)); e != want {
			t.Errorf("event %s, want %s", e, want)
		}
	}
	p.absent("several/old")
	if r := p.get("several/a"); string(r.Value) != "2" {
		t.Errorf("a is %q", r.Value)
	}
	err := persistence.Apply(ctx, p.store, put("several/d", "1", nil), put("several/c", "4", ptr(0)), put("several/e", "1", nil), drop("several/a"))
	if !errors.Is(err, persistence.ErrConflict) {
		t.Errorf("%v, want a conflict", err)
	}
	if keys := p.keys("several/"); keys != "several/a several/c several/d" {
		t.Errorf("there is %s", keys)
	}
	if err := persistence.Apply(ctx, p.store); err != nil {
		t.Errorf("nothing: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := persistence.Apply(ended, p.store, put("several/f", "1", nil), put("several/g", "1", nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	p.absent("several/f")
}
