package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/persistence"
)

// TestSortedKeys compares them with a sorted slice.
func TestSortedKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s sortedKeys
		model := map[string]bool{}
		key := func() string { return fmt.Sprintf("k%04d", rapid.IntRange(0, 3000).Draw(t, "key")) }
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			first, many := rapid.IntRange(0, 3000).Draw(t, "first"), rapid.IntRange(1, 1500).Draw(t, "many")
			add := rapid.Bool().Draw(t, "add")
			for i := range many {
				if k := fmt.Sprintf("k%04d", first+i); add {
					s.add(k)
					model[k] = true
				} else {
					s.remove(k)
					delete(model, k)
				}
			}
			var want []string
			from := key()
			for k := range model {
				if k >= from {
					want = append(want, k)
				}
			}
			slices.Sort(want)
			var got []string
			s.from(from, func(k string) bool { got = append(got, k); return true })
			if !slices.Equal(got, want) {
				t.Fatalf("from %s: %d keys, want %d", from, len(got), len(want))
			}
			for _, b := range s.blocks {
				if len(b) == 0 || len(b) > maxBlock {
					t.Fatalf("a block has %d keys", len(b))
				}
			}
		}
	})
}

// TestIndexKeys: what is deleted or expired is left out, and a part begins behind a key.
func TestIndexKeys(t *testing.T) {
	x := newIndex(nil)
	seq := uint64(0)
	put := func(key string, c change) {
		seq++
		c.key, c.seq = key, seq
		x.apply(c)
	}
	for i := range 1000 {
		put(fmt.Sprintf("queued/a/%04d", i), change{value: []byte("12345")})
		put(fmt.Sprintf("queued/b/%04d", i), change{value: []byte("1")})
	}
	put("queued/a/0501", change{deleted: true})
	put("queued/a/0502", change{value: []byte("1"), expires: time.Now().Add(-time.Second)})
	x.forget("queued/a/0501", seq-1)
	var got []string
	for _, k := range x.keys("queued/a/", "queued/a/0499", 3) {
		got = append(got, k.Key)
	}
	if want := []string{"queued/a/0500", "queued/a/0503", "queued/a/0504"}; !slices.Equal(got, want) {
		t.Errorf("the keys are %q, want %q", got, want)
	}
	if all := x.keys("queued/", "", 5000); len(all) != 1998 || all[0] != (persistence.KeySize{Key: "queued/a/0000", Size: 5}) {
		t.Errorf("%d keys, the first %+v", len(all), all[0])
	}
	if all := x.keys("que", "queued/b/0900", 5000); len(all) != 99 {
		t.Errorf("%d keys behind one, by a part of their first part", len(all))
	}
}
