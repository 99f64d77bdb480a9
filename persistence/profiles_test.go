package persistence_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence"
	"troupe/testkit/need"
)

func newProfiles(t *testing.T) (*persistence.Profiles, persistence.Store) {
	t.Helper()
	store := persistence.NewMemory()
	t.Cleanup(func() { store.Close() })
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return persistence.NewProfiles(store, seal), store
}

func saveProfile(t *testing.T, p *persistence.Profiles, account, name string, state []byte) error {
	t.Helper()
	w, err := p.Lock(context.Background(), account, name, "task_1")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_, err = w.Save(context.Background(), state, persistence.ProfileVersion{By: "task_1", Cookies: 2, Origins: []string{"http://a.example"}})
	return err
}

// TestProfileVersions: a profile has its last versions, one writer, and nothing of a
// version that is not kept; on the disk nothing of it can be read.
func TestProfileVersions(t *testing.T) {
	ctx := context.Background()
	p, store := newProfiles(t)
	large := make([]byte, 2<<20) // more than a record takes
	rand.Read(large)
	for i := range persistence.ProfileVersions + 2 {
		state := append([]byte("the-cookie-of-a-person"), byte(i))
		if i == 4 {
			state = append(large, byte(i))
		}
		if err := saveProfile(t, p, "ada", "shop", state); err != nil {
			t.Fatal(err)
		}
	}
	of, err := p.Get(ctx, "ada", "shop")
	if err != nil || len(of.Versions) != persistence.ProfileVersions || of.Versions[0].Version != 3 || of.Newest().Version != 7 || of.Newest().Cookies != 2 {
		t.Errorf("%+v %v", of, err)
	}
	if got, v, err := p.State(ctx, "ada", "shop", 0); err != nil || v.Version != 7 || got[len(got)-1] != 6 {
		t.Errorf("%q %v %v", got, v, err)
	}
	if got, _, err := p.State(ctx, "ada", "shop", 5); err != nil || !bytes.Equal(got[:len(large)], large) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, version := range []int{2, 8} {
		if _, _, err := p.State(ctx, "ada", "shop", version); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("version %d: %v", version, err)
		}
	}
	if _, err := p.Get(ctx, "bob", "shop"); !errors.Is(err, persistence.ErrNotFound) {
		t.Error("another account has it", err)
	}
	all, err := store.List(ctx, "profile")
	if err != nil {
		t.Fatal(err)
	}
	parts := 0
	for _, r := range all {
		if strings.HasPrefix(r.Key, "profile-part/") {
			parts++
		}
		for _, hide := range []string{"the-cookie", "a.example", "\x1f\x8b"} {
			if bytes.Contains(r.Value, []byte(hide)) && hide != "\x1f\x8b" || bytes.HasPrefix(r.Value, []byte(hide)) {
				t.Errorf("%s can be read: %q", r.Key, hide)
			}
		}
	}
	if parts != persistence.ProfileVersions+2 { // one of them has three
		t.Errorf("%d parts are kept", parts)
	}
	if err := p.Remove(ctx, "ada", "shop"); err != nil {
		t.Fatal(err)
	}
	if all, _ = store.List(ctx, "profile"); len(all) != 0 {
		t.Errorf("%d records are left", len(all))
	}
	if err := p.Remove(ctx, "ada", "shop"); !errors.Is(err, persistence.ErrNotFound) {
		t.Error(err)
	}
}

// TestProfileHasOneWriter: while a task may save a profile no other may, and it may not
// after the profile was removed with its account.
//
// Promise: A profile has one writer at a time (docs/profiles.md#one-writer-at-a-time).
func TestProfileHasOneWriter(t *testing.T) {
	ctx := context.Background()
	p, store := newProfiles(t)
	w, err := p.Lock(ctx, "ada", "shop", "task_1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Lock(ctx, "ada", "shop", "task_2"); !errors.Is(err, persistence.ErrProfileBusy) {
		t.Error(err)
	}
	other, err := p.Lock(ctx, "bob", "shop", "task_3")
	if err != nil {
		t.Error("that of another account", err)
	} else {
		other.Close()
	}
	if state, err := w.State(ctx); state != nil || err != nil || w.Version() != 0 {
		t.Errorf("%q %v", state, err)
	}
	free := make(chan error, 1)
	go func() { free <- p.Free(ctx, "ada", "shop") }()
	if _, err := w.Save(ctx, []byte("one"), persistence.ProfileVersion{}); err != nil {
		t.Fatal(err)
	}
	if err := p.Remove(ctx, "ada", "shop"); !errors.Is(err, persistence.ErrProfileBusy) {
		t.Error(err)
	}
	w.Close()
	if err := <-free; err != nil {
		t.Error(err)
	}

	if w, err = p.Lock(ctx, "ada", "shop", "task_4"); err != nil {
		t.Fatal(err)
	}
	if state, err := w.State(ctx); string(state) != "one" || err != nil {
		t.Errorf("%q %v", state, err)
	}
	records, err := store.List(ctx, "profile")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := store.Delete(ctx, r.Key, nil, true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Save(ctx, []byte("two"), persistence.ProfileVersion{}); err == nil {
		t.Error("it was saved after it was removed")
	}
	w.Close()
	if records, _ = store.List(ctx, "profile"); len(records) != 0 {
		t.Errorf("%d records are left: %v", len(records), records)
	}
}

// TestProfilesHaveARoom: an account has so many profiles, and so many bytes of them.
func TestProfilesHaveARoom(t *testing.T) {
	t.Parallel()
	p, _ := newProfiles(t)
	names := "abcdefghij"
	for i := range persistence.MaxProfiles {
		if err := saveProfile(t, p, "ada", string(names[i/10])+string(names[i%10]), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if err := saveProfile(t, p, "ada", "more", []byte("{}")); !errors.Is(err, persistence.ErrTooMany) {
		t.Error(err)
	}
	if err := saveProfile(t, p, "ada", "aa", []byte("{}")); err != nil {
		t.Error("another version", err)
	}
}

// TestLargeProfilesHaveARoom: the profiles of an account have a size together, and each
// has one.
func TestLargeProfilesHaveARoom(t *testing.T) {
	need.NoRace(t)
	t.Parallel()
	p, _ := newProfiles(t)
	large := make([]byte, persistence.MaxProfileState)
	rand.Read(large)
	var err error
	saved := 0
	for ; err == nil && saved < 10; saved++ {
		err = saveProfile(t, p, "bob", fmt.Sprint("shop-", saved), large)
	}
	if !errors.Is(err, persistence.ErrTooMany) || saved != 4 {
		t.Errorf("%d large ones, %v", saved, err)
	}
	if err := saveProfile(t, p, "eve", "a", append(large, 1)); !errors.Is(err, persistence.ErrTooMany) {
		t.Error(err)
	}
}

// deafStore takes no writes while it is deaf: as a store that a node does not reach.
type deafStore struct {
	persistence.Store
	deaf atomic.Bool
}

func (s *deafStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if s.deaf.Load() {
		return 0, persistence.ErrNoQuorum
	}
	return s.Store.Put(ctx, w)
}

// TestAWriterThatWasAway: a writer that could not renew its right saves nothing where another
// one has the profile since, also if that one has not saved yet.
//
// Promise: A task that was away saves nothing once another one has the profile
// (docs/profiles.md#one-writer-at-a-time).
func TestAWriterThatWasAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		seal, err := persistence.NewSeal(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		store := persistence.NewMemory()
		defer store.Close()
		away := &deafStore{Store: store}
		first, err := persistence.NewProfiles(away, seal).Lock(ctx, "ada", "shop", "task_1")
		if err != nil {
			t.Fatal(err)
		}
		away.deaf.Store(true)
		time.Sleep(29 * time.Second)
		here := persistence.NewProfiles(store, seal)
		if _, err := here.Lock(ctx, "ada", "shop", "task_2"); !errors.Is(err, persistence.ErrProfileBusy) {
			t.Fatal("after 29 s", err)
		}
		time.Sleep(10 * time.Second)
		second, err := here.Lock(ctx, "ada", "shop", "task_2")
		if err != nil {
			t.Fatal("after 39 s", err)
		}
		away.deaf.Store(false)
		if _, err := first.Save(ctx, []byte("one"), persistence.ProfileVersion{}); err == nil {
			t.Error("the one that was away has saved")
		}
		first.Close()
		if _, err := second.Save(ctx, []byte("two"), persistence.ProfileVersion{}); err != nil {
			t.Error(err)
		}
		second.Close()
		if state, v, err := here.State(ctx, "ada", "shop", 0); string(state) != "two" || v.Version != 1 || err != nil {
			t.Errorf("%q %+v %v", state, v, err)
		}
	})
}

// TestProfileWriters: who may save which profile of an account, while they may.
func TestProfileWriters(t *testing.T) {
	ctx := context.Background()
	p, _ := newProfiles(t)
	want := func(account string, want map[string]string) {
		t.Helper()
		if got, err := p.Writers(ctx, account); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", account, got, err, want)
		}
	}
	want("ada", nil)
	shop, err := p.Lock(ctx, "ada", "shop", "task_1")
	if err != nil {
		t.Fatal(err)
	}
	bank, err := p.Lock(ctx, "ada", "bank", "task_2")
	if err != nil {
		t.Fatal(err)
	}
	want("ada", map[string]string{"shop": "task_1", "bank": "task_2"})
	want("ad", nil)
	shop.Close()
	want("ada", map[string]string{"bank": "task_2"})
	bank.Close()
	want("ada", nil)
}

// countingStore counts what is asked about a kind of key.
type countingStore struct {
	persistence.Store
	prefix string
	asked  atomic.Int64
}

func (s *countingStore) Get(ctx context.Context, key string) (persistence.Record, error) {
	if strings.HasPrefix(key, s.prefix) {
		s.asked.Add(1)
	}
	return s.Store.Get(ctx, key)
}

// TestProfilesAreWaitedFor: who waits for a profile hears at once that it is free, also when
// its writer is gone without a word or its record expires, and asks the store seldom.
func TestProfilesAreWaitedFor(t *testing.T) {
	for _, gone := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			store := &countingStore{Store: persistence.NewMemory(), prefix: "profile-writer/"}
			defer store.Close()
			writers := &deafStore{Store: store}
			w, err := persistence.NewProfiles(writers, testSeal(t)).Lock(ctx, "ada", "shop", "task_1")
			if err != nil {
				t.Fatal(err)
			}
			p := persistence.NewProfiles(store, testSeal(t))
			other, err := p.Lock(ctx, "ada", "shopping", "task_2") // its key begins the same way
			if err != nil {
				t.Fatal(err)
			}
			free := make(chan error, 1)
			began := time.Now()
			go func() { free <- p.Free(ctx, "ada", "shop") }()
			time.Sleep(time.Minute)
			other.Close()
			select {
			case err := <-free:
				t.Fatal("it is used", err)
			default:
			}
			want := time.Since(began)
			if writers.deaf.Store(gone); gone {
				want = 24 * time.Second // behind its last renewal, at 56 s
				want += time.Minute + 2*time.Second
			} else {
				w.Close()
			}
			if err := <-free; err != nil {
				t.Error(err)
			}
			if took := time.Since(began).Round(time.Second); took != want {
				t.Errorf("it took %v, want %v", took, want)
			}
			if n := store.asked.Load(); n > 25 {
				t.Errorf("the store was asked %d times in %v", n, want)
			}
			if gone {
				w.Close()
			}
			bound, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if w, err = p.Lock(ctx, "ada", "shop", "task_3"); err != nil {
				t.Fatal(err)
			}
			if err := p.Free(bound, "ada", "shop"); !errors.Is(err, persistence.ErrProfileBusy) {
				t.Error(err)
			}
			w.Close()
		})
	}
}
