package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"troupe/persistence"
)

func independentChanges(t *testing.T, p *probe) {
	put := func(key string, only *uint64) persistence.Change {
		return persistence.Change{Write: persistence.Write{Key: "each/" + key, Value: []byte(key), If: only, Durable: true}}
	}
	p.put("each/old", "1")
	each := func(ctx context.Context, lists [][]persistence.Change) (errs []error) {
		persistence.ApplyEach(ctx, p.store, lists, func(i int, err error) {
			if i != len(errs) {
				t.Errorf("of list %d is told after %d others", i, len(errs))
			}
			errs = append(errs, err)
		})
		return errs
	}
	errs := each(ctx, [][]persistence.Change{
		{put("a", nil), put("b", nil)},
		{put("c", nil), put("old", ptr(0)), put("d", nil)},
		{},
		{put("e", ptr(0)), {Write: persistence.Write{Key: "each/old"}, Delete: true}},
	})
	if len(errs) != 4 || errs[0] != nil || !errors.Is(errs[1], persistence.ErrConflict) || errs[2] != nil || errs[3] != nil {
		t.Fatalf("%v, want one conflict", errs)
	}
	if keys := p.keys("each/"); keys != "each/a each/b each/c each/e" {
		t.Errorf("there is %s", keys)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, err := range each(ended, [][]persistence.Change{{put("f", nil)}, {put("g", nil)}}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v", err)
		}
	}
	p.absent("each/f")
}

func knownRecords(t *testing.T, p *probe) {
	write := func(value string, known persistence.Known) persistence.Write {
		return persistence.Write{Key: "known/a", Value: []byte(value), Known: known}
	}
	events := p.watch("known/")
	for value, known := range []persistence.Known{persistence.Absent, persistence.Present, persistence.Unknown, persistence.Present} {
		if _, err := p.store.Put(ctx, write(string(rune('1'+value)), known)); err != nil {
			t.Fatal(err)
		}
	}
	expires := time.Now().Add(300 * time.Millisecond)
	err := persistence.Apply(ctx, p.store, persistence.Change{Write: write("", persistence.Present), Delete: true},
		persistence.Change{Write: persistence.Write{Key: "known/b", Value: []byte("5"), Known: persistence.Absent, Expires: expires}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"known/a=1", "known/a=2", "known/a=3", "known/a=4", "-known/a", "known/b=5"} {
		if e := show(p.next(events)); e != want {
			t.Errorf("event %s, want %s", e, want)
		}
	}
	p.absent("known/a")
	r, err := p.store.Get(ctx, "known/b")
	late := errors.Is(err, persistence.ErrNotFound) && !time.Now().Before(expires) // a busy machine
	if !late && (err != nil || string(r.Value) != "5" || r.Expires.Sub(expires).Abs() > time.Second) {
		t.Errorf("b is %q until %v, want 5 until %v: %v", r.Value, r.Expires, expires, err)
	}
	time.Sleep(time.Until(expires) + time.Second/4)
	p.absent("known/b")
}
