package persistence_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence"
)

// watched notes what is watched now.
type watched struct {
	persistence.Store
	mu  sync.Mutex
	now map[string]int
}

func (w *watched) Watch(ctx context.Context, prefix string) (<-chan persistence.Event, error) {
	w.note(prefix, 1)
	context.AfterFunc(ctx, func() { w.note(prefix, -1) })
	time.Sleep(time.Second) // changes that come meanwhile it misses
	return w.Store.Watch(ctx, prefix)
}

func (w *watched) note(prefix string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now[prefix] += n; w.now[prefix] == 0 {
		delete(w.now, prefix)
	}
}

func (w *watched) all() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.now))
}

// A node that gets each change as a message follows the days that it holds something of, and
// no others.
func TestOnlyLeasedDaysAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{Store: persistence.NewMemory(), now: map[string]int{}}
		defer w.Close()
		u := persistence.NewSharedUsage(w, persistence.QuotaSharing{
			Nodes: 2, WorkerNode: true,
			Recent: func(string) (persistence.Record, error) { return persistence.Record{}, persistence.ErrNotFound },
		})
		defer u.Close()
		u.Count("unlimited", time.Now())
		if err := u.Written(ctx, "unlimited"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if got := w.all(); len(got) > 0 {
			t.Errorf("%q are followed without a lease", got)
		}
		if ok, err := admit(u, "bob", 100); !ok || err != nil {
			t.Fatal(ok, err)
		}
		day := "usage/bob/" + time.Now().UTC().Format(time.DateOnly)
		if got := w.all(); !slices.Equal(got, []string{day}) {
			t.Errorf("%q are followed, want %q", got, day)
		}

		// Another node takes the rest: this one gives back what it may not hold any more.
		held := u.Held(time.Now())["bob"]
		if held == 0 {
			t.Fatal("nothing is held")
		}
		r, err := w.Get(ctx, day)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Put(ctx, persistence.Write{Key: day, Value: []byte("100"), Expires: r.Expires}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if now := u.Held(time.Now())["bob"]; now >= held {
			t.Errorf("%d are held after another node took the rest, %d before", now, held)
		}

		time.Sleep(2 * time.Minute) // everything is given back
		if got := w.all(); len(got) > 0 {
			t.Errorf("%q are still followed", got)
		}
	})
}
