package runs_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/persistence"
)

// usage are the sums of all days that are kept.
func usage(t testing.TB, h *runs.History, account string, by runs.By, most int) runs.Usage {
	t.Helper()
	u, err := h.Usage(t.Context(), account, time.Now().AddDate(0, 0, -runs.KeepDays), time.Now(), by, most)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// rowsOf spells the rows: name, runs, failed.
func rowsOf(u runs.Usage) string {
	var all []string
	for _, r := range u.Rows {
		name := r.Name
		if r.Other {
			name = "(other)"
		}
		all = append(all, fmt.Sprintf("%s %d %d", name, r.Runs, r.Failed))
	}
	return strings.Join(all, ", ")
}

// run is the n-th run of an account, that ended at a time.
func run(n int, label, token string, at time.Time) *runs.Run {
	r := &runs.Run{ID: id(n), Account: "ada~1", Origin: api.OriginRequest, Asked: began.Add(time.Duration(n) * time.Second), Token: token, Label: label, Attempts: 1, Began: at.Add(-2 * time.Second)}
	r.Ends(&engine.Outcome{End: engine.EndCompleted, Done: 3, Duration: 2 * time.Second, Data: []byte(`"1234"`)}, at)
	return r
}

// TestSumsOfRuns: the sums of a day are those of all its runs, also of those that were removed by
// somebody or by the bounds, also after another start. Few have rows of their own.
func TestSumsOfRuns(t *testing.T) {
	h, store := open(t, runs.Bounds{Keep: time.Hour, Count: 300, Bytes: 1 << 30})
	for i := range 600 {
		add(h, "ada~1", i)
		add(h, "ada~11", i)
	}
	if _, _, err := h.DeleteAll(t.Context(), runs.Query{Account: "ada~1", Label: "nightly 3"}); err != nil {
		t.Fatal(err)
	}
	if err := h.Delete(t.Context(), "ada~1", id(599)); err != nil {
		t.Fatal(err)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	u := usage(t, h, "ada~1", runs.ByDay, 100)
	if got := rowsOf(u); got != today+" 600 60" || u.Total.Steps != 1200 || u.Total.Runs != 600 {
		t.Errorf("by day: %s, %+v", got, u.Total)
	}
	if got := rowsOf(usage(t, h, "ada~1", runs.ByLabel, 2)); got != "nightly 0 86 9, nightly 1 86 8, (other) 428 43" {
		t.Errorf("by label: %s", got)
	}
	if got := rowsOf(usage(t, h, "ada~1", runs.ByToken, 100)); got != "tok_0123456789abcdef 600 60" {
		t.Errorf("by token: %s", got)
	}
	for i := range 150 {
		h.Add(run(1000+i, fmt.Sprintf("of its own %d", i), "", time.Now().AddDate(0, 0, -3)))
	}
	h.Add(run(1200, "", "", time.Now().AddDate(0, 0, -3)))
	u = usage(t, h, "ada~1", runs.ByLabel, 1000)
	if last := u.Rows[len(u.Rows)-1]; len(u.Rows) != 7+100+1 || !last.Other || last.Runs != 51 || last.Ran != 102*time.Second || last.Bytes != 306 || last.Attempts != 51 || last.Steps != 153 {
		t.Errorf("%d rows by label, the last is %+v", len(u.Rows), last)
	}
	u, err := h.Usage(t.Context(), "ada~1", time.Now().AddDate(0, 0, -3), time.Now().AddDate(0, 0, -1), runs.ByDay, 100)
	if got := rowsOf(u); err != nil || got != time.Now().UTC().AddDate(0, 0, -3).Format(time.DateOnly)+" 151 0" {
		t.Errorf("of some days: %s %v", got, err)
	}
	for prefix, want := range map[string]int{runs.DayPrefix: 2, runs.FreshPrefix: 0} {
		list, err := store.List(t.Context(), prefix+"ada~1/")
		if err != nil || len(list) != want {
			t.Errorf("%s: %d records, %v", prefix, len(list), err)
		}
		for _, r := range list {
			if days := time.Until(r.Expires).Hours() / 24; strings.Contains(string(r.Value), "nightly") || days < 86 || days > 91 {
				t.Errorf("%s is not sealed, or expires in %.1f days", r.Key, days)
			}
		}
	}
}

// dying is a store of which a process does no more than so many changes.
type dying struct {
	persistence.Store
	left atomic.Int64
}

var errDied = errors.New("the process is dead")

func (d *dying) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if d.left.Add(-1) < 0 {
		return 0, errDied
	}
	return d.Store.Put(ctx, w)
}

func (d *dying) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	if d.left.Add(-1) < 0 {
		return errDied
	}
	return d.Store.Delete(ctx, key, revision, durable)
}

// TestRunsCountOnce: whichever changes a process dies after, and though another one writes the
// ends of its tasks again and sums up at the same time, each run of a task with async or queue
// is in the sums once.
func TestRunsCountOnce(t *testing.T) {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	seal, err := persistence.NewSeal(key)
	if err != nil {
		t.Fatal(err)
	}
	over := func(s persistence.Store) *runs.History {
		return runs.New(runs.Config{Store: s, Values: persistence.NewValueStore(s, persistence.NewMemoryFiles()).Sealed(seal)})
	}
	const tasks = 3
	for dies := range int64(16) {
		store := persistence.NewMemory()
		first := &dying{Store: store}
		first.left.Store(dies)
		end := func(h *runs.History, at time.Time) {
			for n := range tasks {
				_ = h.Put(t.Context(), run(n, "a", "", at))
			}
			_, _ = h.Usage(t.Context(), "ada~1", at, at, runs.ByDay, 10)
		}
		end(over(first), time.Now())
		var both sync.WaitGroup
		for range 2 {
			h := over(store)
			both.Go(func() { _, _ = h.Usage(t.Context(), "ada~1", time.Now(), time.Now(), runs.ByDay, 10) })
		}
		both.Wait()
		h := over(store)
		end(h, time.Now().Add(-24*time.Hour)) // a task that was taken over may end on another day
		end(h, time.Now())
		if u := usage(t, h, "ada~1", runs.ByLabel, 10); rowsOf(u) != fmt.Sprintf("a %d 0", tasks) || u.Total.Runs != tasks {
			t.Errorf("after %d changes: %s, %+v", dies, rowsOf(u), u.Total)
		}
		_ = store.Close()
	}
}

// TestNodesSumUp: several nodes with the same store lose no run and count none twice.
func TestNodesSumUp(t *testing.T) {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	seal, err := persistence.NewSeal(key)
	if err != nil {
		t.Fatal(err)
	}
	store := persistence.NewMemory()
	defer store.Close()
	var nodes sync.WaitGroup
	const each = 150
	for node := range 3 {
		h := runs.New(runs.Config{Store: store, Values: persistence.NewValueStore(store, persistence.NewMemoryFiles()).Sealed(seal)})
		nodes.Go(func() {
			for i := range each {
				if n := node*each + i; i%3 == 0 {
					_ = h.Put(t.Context(), run(n, "async", "", time.Now()))
				} else {
					h.Add(run(n, "sync", "", time.Now()))
				}
				if i%10 == 9 {
					_, _ = h.Usage(t.Context(), "ada~1", time.Now(), time.Now(), runs.ByDay, 10)
				}
			}
			_ = h.Close(t.Context())
		})
	}
	nodes.Wait()
	h := runs.New(runs.Config{Store: store, Values: persistence.NewValueStore(store, persistence.NewMemoryFiles()).Sealed(seal)})
	if got := rowsOf(usage(t, h, "ada~1", runs.ByLabel, 10)); got != "sync 300 0, async 150 0" {
		t.Errorf("the sums are %s", got)
	}
}

// away is a store whose majority is gone: each question takes all the time that it may.
type away struct {
	persistence.Store
	gone atomic.Bool
}

func (a *away) Keys(ctx context.Context, prefix, after string, most int) ([]persistence.KeySize, error) {
	if a.gone.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return a.Store.Keys(ctx, prefix, after, most)
}

// TestSumsHoldUpNoStop: a node that ends without its majority does not wait for sums, neither for
// those that it has begun to write. They are made up for later.
func TestSumsHoldUpNoStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persistence.NewMemory()
		defer store.Close()
		seal, err := persistence.NewSeal(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		majority := &away{Store: store}
		start := func() *runs.History {
			return runs.New(runs.Config{Store: majority, Values: persistence.NewValueStore(majority, persistence.NewMemoryFiles()).Sealed(seal), Log: zerolog.Nop()})
		}
		h := start()
		h.Add(run(1, "", "", time.Now()))
		if err := h.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		majority.gone.Store(true)
		time.Sleep(3 * time.Second) // sums are being written
		other := run(2, "", "", time.Now())
		other.Account = "bob~1"
		h.Add(other)
		began := time.Now()
		_ = h.Settle(t.Context())
		_ = h.Close(t.Context())
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the end took %v", took)
		}
		time.Sleep(time.Hour)
		majority.gone.Store(false)
		if u := usage(t, start(), "ada~1", runs.ByDay, 10); u.Total.Runs != 1 {
			t.Errorf("the sums are %+v", u.Total)
		}
		if u := usage(t, start(), "bob~1", runs.ByDay, 10); u.Total.Runs != 1 {
			t.Errorf("the sums of the other are %+v", u.Total)
		}
	})
}
