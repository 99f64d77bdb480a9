package persistence_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/persistence"
)

// model is what a store should be.
type model struct {
	records map[string]persistence.Record
	last    uint64
}

func (m *model) lists(prefix string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m.records)) {
		if r := m.records[key]; strings.HasPrefix(key, prefix) {
			fmt.Fprintf(&b, "%s=%s@%d ", key, r.Value, r.Revision)
		}
	}
	return b.String()
}

// Random histories give the same answers as a map does, also over reopening.
func TestBadgerAgainstModel(t *testing.T) {
	dir := folder(t)
	b := openBadger(t, dir)
	defer func() { b.Close() }()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{records: map[string]persistence.Record{}}
		prefix := fmt.Sprintf("%x/", rand.Uint64()) // each history has its own keys
		key := rapid.Map(rapid.SampledFrom([]string{"a", "b", "a/b", "n"}), func(k string) string { return prefix + k })
		revision := func(t *rapid.T, key string) *uint64 {
			switch rapid.IntRange(0, 3).Draw(t, "revision") {
			case 0:
				return new(uint64)
			case 1:
				r := m.records[key].Revision
				return &r
			case 2:
				r := m.last
				return &r
			}
			return nil
		}
		met := func(only *uint64, key string) bool { return only == nil || m.records[key].Revision == *only }
		grew := func(rev uint64) {
			if rev <= m.last {
				t.Fatalf("revision %d after %d", rev, m.last)
			}
			m.last = rev
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k := key.Draw(t, "key")
				w := persistence.Write{Key: k, Value: []byte(rapid.StringN(0, 8, 20).Draw(t, "value")), If: revision(t, k), Durable: rapid.IntRange(0, 9).Draw(t, "durable") == 0}
				past := rapid.IntRange(0, 4).Draw(t, "past") == 0
				if past {
					w.Expires = time.Now().Add(-time.Minute)
				}
				rev, err := b.Put(ctx, w)
				if !met(w.If, k) {
					if !errors.Is(err, persistence.ErrConflict) {
						t.Fatalf("Put = %v, want ErrConflict", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				grew(rev)
				m.records[k] = persistence.Record{Value: w.Value, Revision: rev}
				if past {
					delete(m.records, k)
				}
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "key")
				only := revision(t, k)
				_, there := m.records[k]
				err := b.Delete(ctx, k, only, false)
				if want := only != nil && (!there || !met(only, k)); want != errors.Is(err, persistence.ErrConflict) || !want && err != nil {
					t.Fatalf("Delete = %v; conflict wanted: %v", err, want)
				} else if !want {
					delete(m.records, k)
				}
			},
			"add": func(t *rapid.T) {
				k := prefix + "count"
				delta, limit := rapid.Int64Range(-5, 9).Draw(t, "delta"), rapid.Int64Range(0, 20).Draw(t, "limit")
				var old int64
				fmt.Sscan(string(m.records[k].Value), &old)
				want := max(old+delta, 0)
				ok := limit == 0 || want <= limit
				if !ok {
					want = old
				}
				total, did, err := b.Add(ctx, k, delta, limit, time.Time{})
				if err != nil || total != want || did != ok {
					t.Fatalf("Add(%d, limit %d) to %d = %d, %v, %v; want %d, %v", delta, limit, old, total, did, err, want, ok)
				}
				if ok && delta != 0 {
					r, err := b.Get(ctx, k)
					if err != nil {
						t.Fatal(err)
					}
					grew(r.Revision)
					m.records[k] = persistence.Record{Value: fmt.Append(nil, total), Revision: r.Revision}
				}
			},
			"reopen": func(t *rapid.T) {
				if rapid.IntRange(0, 7).Draw(t, "really") != 0 {
					return
				}
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
				var err error
				if b, err = persistence.OpenBadger(dir, persistence.Options{}); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				list, err := b.List(ctx, prefix)
				if err != nil {
					t.Fatal(err)
				}
				var got strings.Builder
				for _, r := range list {
					fmt.Fprintf(&got, "%s=%s@%d ", r.Key, r.Value, r.Revision)
					if one, err := b.Get(ctx, r.Key); err != nil || string(one.Value) != string(r.Value) || one.Revision != r.Revision {
						t.Fatalf("Get(%q) = %v, %v; List says %v", r.Key, one, err, r)
					}
				}
				if got.String() != m.lists(prefix) {
					t.Fatalf("there is %s\nwant     %s", got.String(), m.lists(prefix))
				}
			},
		})
	})
}
