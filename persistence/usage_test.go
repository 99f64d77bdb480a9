package persistence_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/persistence"
)

func TestUsage(t *testing.T) {
	store := memory(t)
	u := persistence.NewUsage(store)
	now := time.Now().UTC().Truncate(24 * time.Hour).Add(23*time.Hour + 59*time.Minute)
	used := func(account string, at time.Time, want int64) {
		t.Helper()
		if n, err := u.Read(ctx, account, at); err != nil || n != want {
			t.Fatalf("Read(%s) = %d, %v; want %d", account, n, err, want)
		}
	}
	take := func(account string, at time.Time, limit, want int64, wantOK bool) {
		t.Helper()
		if n, ok, err := u.Take(ctx, account, limit, at); err != nil || n != want || ok != wantOK {
			t.Fatalf("Take(%s) = %d, %v, %v; want %d, %v", account, n, ok, err, want, wantOK)
		}
	}
	used("bob", now, 0)
	take("bob", now, 2, 1, true)
	take("bob", now, 2, 2, true)
	take("bob", now, 2, 2, false)
	take("eve", now, 2, 1, true)
	take("bob", now, 0, 3, true) // no limit

	tomorrow := now.Add(2 * time.Minute)
	take("bob", tomorrow, 2, 1, true)
	u.GiveBack("bob", now) // what was taken yesterday
	if err := u.Written(ctx, "bob"); err != nil {
		t.Fatal(err)
	}
	used("bob", now, 2)
	used("bob", tomorrow, 1)

	west := now.In(time.FixedZone("west", -8*3600)) // the day is the UTC day
	used("bob", west, 2)
	if got, want := u.Reset(west), tomorrow.Truncate(24*time.Hour); !got.Equal(want) {
		t.Fatalf("Reset = %v, want %v", got, want)
	}
	records, err := store.List(ctx, "usage/")
	if err != nil || len(records) != 3 {
		t.Fatalf("%d counts, %v", len(records), err)
	}
	for _, r := range records {
		if left := r.Expires.Sub(now); left < 3*24*time.Hour || left > 30*24*time.Hour {
			t.Errorf("%s is kept for %v", r.Key, left)
		}
	}
}

func TestUsageIsExact(t *testing.T) {
	b := openBadger(t, folder(t))
	u := persistence.NewUsage(b)
	now := time.Now()
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			_, ok, err := u.Take(ctx, "bob", 50, now)
			if err != nil {
				t.Error(err)
			}
			if ok {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if n, err := u.Read(ctx, "bob", now); taken.Load() != 50 || n != 50 || err != nil {
		t.Fatalf("%d taken, %d counted, %v; want 50", taken.Load(), n, err)
	}
}

func BenchmarkTake(b *testing.B) {
	store, err := persistence.OpenBadger(b.TempDir()+"/db", persistence.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	u := persistence.NewUsage(store)
	for b.Loop() {
		if _, ok, err := u.Take(ctx, "bob", 0, time.Now()); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	for name, durable := range map[string]bool{"durable": true, "plain": false} {
		b.Run(name, func(b *testing.B) {
			store, err := persistence.OpenBadger(b.TempDir()+"/db", persistence.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			value := make([]byte, 300)
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := store.Put(ctx, persistence.Write{Key: "k", Value: value, Durable: durable}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
