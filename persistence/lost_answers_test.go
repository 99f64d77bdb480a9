package persistence_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence"
	"troupe/persistence/storetest"
)

// lostAnswer is a write over a certain revision whose answer is lost. Most are the business
// of one call, which finds its own write. The others say what follows.
type lostAnswer struct {
	name, prefix string
	run          func(t *testing.T, l *lossy)
}

// lossy is a store that loses answers, with what keeps its records there.
type lossy struct {
	*storetest.Lossy
	profiles *persistence.Profiles
	accounts *persistence.Accounts
}

func (l *lossy) lock(t *testing.T, task string) *persistence.ProfileWriter {
	t.Helper()
	w, err := l.profiles.Lock(t.Context(), "ada", "shop", task)
	if err != nil {
		t.Fatalf("%s does not get the profile: %v", task, err)
	}
	return w
}

func (l *lossy) save(t *testing.T, w *persistence.ProfileWriter, state string, version int) {
	t.Helper()
	if _, err := w.Save(t.Context(), []byte(state), persistence.ProfileVersion{}); err != nil {
		t.Errorf("version %d is not saved: %v", version, err)
	}
	if got, v, err := l.profiles.State(t.Context(), "ada", "shop", 0); string(got) != state || v.Version != version || err != nil {
		t.Errorf("version %d is %q: %+v, %v", version, got, v, err)
	}
}

// free fails the test unless the profile is free after some time.
func (l *lossy) free(t *testing.T, after time.Duration) {
	t.Helper()
	time.Sleep(after)
	l.lock(t, "task_9").Close()
}

var lostAnswers = []lostAnswer{
	{"the right to a profile", "profile-writer/", func(t *testing.T, l *lossy) {
		w := l.lock(t, "task_1")
		l.save(t, w, "one", 1)
		w.Close()
		l.free(t, 0)
	}},
	{"the renewal of the right", "", func(t *testing.T, l *lossy) {
		w := l.lock(t, "task_1")
		l.Lose("profile-writer/", 1)
		time.Sleep(25 * time.Second)
		l.save(t, w, "one", 1)
		w.Close()
		l.free(t, 0)
	}},
	{"the renewal, and the node is cut off for a while", "", func(t *testing.T, l *lossy) {
		w := l.lock(t, "task_1")
		l.Lose("profile-writer/", 1)
		l.Deaf(true)
		time.Sleep(25 * time.Second)
		l.Deaf(false)
		l.save(t, w, "one", 1)
		time.Sleep(time.Minute)
		l.save(t, w, "two", 2)
		w.Close()
		l.free(t, 0)
	}},
	{"the renewal before the profile is saved", "", func(t *testing.T, l *lossy) {
		w := l.lock(t, "task_1")
		l.Lose("profile-writer/", 1)
		l.save(t, w, "one", 1)
		w.Close()
		l.free(t, 0)
	}},
	{"a version of a profile", "profile/", func(t *testing.T, l *lossy) {
		w := l.lock(t, "task_1")
		l.save(t, w, "one", 1)
		l.save(t, w, "two", 2)
		w.Close()
	}},
	{"the end of the right", "", func(t *testing.T, l *lossy) {
		w := l.lock(t, "task_1")
		l.Lose("profile-writer/", 1)
		w.Close()
		l.free(t, 0)
	}},
	{"the renewal just before the end of the right", "", func(t *testing.T, l *lossy) {
		w := l.lock(t, "task_1")
		l.Lose("profile-writer/", 1)
		l.Deaf(true)
		time.Sleep(9 * time.Second)
		l.Deaf(false)
		w.Close()
		l.free(t, 0)
	}},
	{"the end of the right, while the node is cut off", "", func(t *testing.T, l *lossy) {
		w := l.lock(t, "task_1")
		l.Deaf(true)
		w.Close()
		time.Sleep(5 * time.Second)
		l.Deaf(false)
		l.free(t, 2*time.Second)
	}},
	{"the right to a profile, and the node is cut off", "profile-writer/", func(t *testing.T, l *lossy) {
		l.Deaf(true)
		if _, err := l.profiles.Lock(t.Context(), "ada", "shop", "task_1"); !errors.Is(err, persistence.ErrNoQuorum) {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		l.Deaf(false)
		l.free(t, 2*time.Second)
	}},
	{"the removal of a profile", "", func(t *testing.T, l *lossy) {
		w := l.lock(t, "task_1")
		l.save(t, w, "one", 1)
		w.Close()
		l.Lose("profile-writer/", 1)
		if err := l.profiles.Remove(t.Context(), "ada", "shop"); err != nil {
			t.Error(err)
		}
		l.free(t, 0)
	}},
	{"a turn", "turn/", func(t *testing.T, l *lossy) {
		for range 2 {
			began, ran := time.Now(), false
			err := persistence.InTurn(t.Context(), l, "x", func(context.Context) error { ran = true; return nil })
			if err != nil || !ran || time.Since(began) > time.Second {
				t.Errorf("%v, after %v: it has run: %v", err, time.Since(began), ran)
			}
		}
	}},
	{"a token", "token/", func(t *testing.T, l *lossy) {
		acc, err := l.accounts.Create(t.Context(), "ada", "free")
		if err != nil {
			t.Fatal(err)
		}
		plain, _, err := l.accounts.CreateToken(t.Context(), acc.ID, persistence.Issuer{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := l.accounts.Lookup(t.Context(), plain); got.ID != acc.ID || err != nil {
			t.Error(got.ID, err)
		}
	}},
	{"an account", "account/", func(t *testing.T, l *lossy) {
		acc, err := l.accounts.Create(t.Context(), "ada", "free")
		if err != nil {
			t.Fatal(err)
		}
		l.Lose("account/", 1)
		if changed, err := l.accounts.SetPlan(t.Context(), acc.ID, "pro"); changed.Plan != "pro" || err != nil {
			t.Error(changed, err)
		}
	}},
	{"a version of a flow", "flow/", func(t *testing.T, l *lossy) {
		flows := persistence.NewFlows(l)
		for version := 1; version <= 2; version++ {
			l.Lose("flow/", 1)
			if f, err := flows.Put(t.Context(), "ada", persistence.Flow{Name: "f", Source: []byte(`{}`)}); f.Version != version || err != nil {
				t.Errorf("version %d: %+v, %v", version, f.Version, err)
			}
		}
	}},
	{"a value, over the one before", "state/", func(t *testing.T, l *lossy) {
		for _, size := range []int{10, 1 << 20} {
			for _, sealed := range []bool{true, false} {
				key := fmt.Sprintf("state/%d-%v", size, sealed)
				s := l.values(t, sealed)
				var over uint64
				for i := range 3 {
					value := bytes.Repeat([]byte{byte('a' + i)}, size)
					l.Lose("state/", 1)
					revision, err := s.PutRevision(t.Context(), persistence.Item{Key: key, Account: "ada", Value: value, Over: &over})
					if over = revision; err != nil {
						t.Fatalf("%s, %d: %v", key, i, err)
					}
					if got, at, err := s.GetRevision(t.Context(), key); !bytes.Equal(got, value) || at != revision || err != nil {
						t.Errorf("%s, %d: %d bytes, revision %d of %d, %v", key, i, len(got), at, revision, err)
					}
				}
			}
		}
	}},
	{"a large value, and the node is cut off", "state/", func(t *testing.T, l *lossy) {
		s, value := l.values(t, true), bytes.Repeat([]byte{'a'}, 1<<20)
		l.Deaf(true)
		l.Lose("state/", 1)
		if err := s.Put(t.Context(), persistence.Item{Key: "state/x", Account: "ada", Value: value, Known: persistence.Absent}); !errors.Is(err, persistence.ErrNoQuorum) {
			t.Fatal(err)
		}
		l.Deaf(false)
		if got, err := s.Get(t.Context(), "state/x"); !bytes.Equal(got, value) {
			t.Errorf("%d bytes are left, %v", len(got), err)
		}
	}},
}

func (l *lossy) values(t *testing.T, sealed bool) *persistence.ValueStore {
	t.Helper()
	s := persistence.NewValueStore(l, persistence.NewMemoryFiles())
	if sealed {
		s = s.Sealed(testSeal(t))
	}
	return s
}

// TestLostAnswers: whoever writes over a certain revision, and hears nothing although the
// write was stored, does not take it for somebody else's.
//
// Promise: A lost answer of the store neither loses a profile nor holds it (docs/profiles.md#one-writer-at-a-time).
func TestLostAnswers(t *testing.T) {
	for _, c := range lostAnswers {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := storetest.NewLossy(persistence.NewMemory())
				defer store.Close()
				l := &lossy{store, persistence.NewProfiles(store, testSeal(t)), persistence.NewAccounts(store)}
				if c.prefix != "" {
					l.Lose(c.prefix, 1)
				}
				c.run(t, l)
				if l.Left() {
					t.Error("no answer was lost")
				}
				time.Sleep(time.Minute) // until nobody looks for what may be written late
			})
		})
	}
}

func testSeal(t *testing.T) *persistence.Seal {
	t.Helper()
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return seal
}
