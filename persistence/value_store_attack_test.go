package persistence_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence"
)

// TestAttackKeptAnswers: answers that are kept in the store count for their account
// as files do, however small each is, until they expire; one that is written again
// counts once, and no other account is concerned.
func TestAttackKeptAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := persistence.NewMemory()
		defer store.Close()
		l := persistence.NewLedger(0, nil)
		files := persistence.NewAccounted(persistence.NewMemoryFiles(), l)
		values := persistence.NewValueStore(store, files)
		within := persistence.Allowance{Bytes: 32 << 20, Files: 1000}
		put := func(key string, size int, keep time.Duration) {
			t.Helper()
			it := persistence.Item{Key: key, Account: "ada", Value: make([]byte, size), Expires: time.Now().Add(keep)}
			if err := values.Put(t.Context(), it); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for ; n < 1000 && l.Full("ada", within) == nil; n++ {
			put(fmt.Sprint("key/", n), 200<<10, 24*time.Hour)
			put(fmt.Sprint("key/", n), 200<<10, 24*time.Hour) // begun, and ended
		}
		if n < 160 || n > 170 { // 32 MiB of 200 KiB
			t.Errorf("the account is full with %d answers: %+v", n, l.Of("ada"))
		}
		if err := l.Full("ada", within); !errors.Is(err, persistence.ErrQuota) {
			t.Errorf("the account is refused with %v", err)
		}
		if err := l.Full("bert", within); err != nil {
			t.Errorf("another account: %v", err)
		}
		all, err := store.List(t.Context(), "key/")
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for _, r := range all {
			kept += len(r.Key) + len(r.Value)
		}
		if got := l.Of("ada"); got.Bytes != int64(kept) || got.Files != 0 {
			t.Errorf("%+v is counted, and %d bytes are kept", got, kept)
		}
		// A large answer is a file: it and its record count.
		put("large", 1<<20, time.Hour)
		if got := l.Of("ada"); got.Files != 1 || got.Bytes < int64(kept)+1<<20 || got.Bytes > int64(kept)+1<<20+200 {
			t.Errorf("with a large one %+v is counted", got)
		}
		put("large", 10, time.Hour)
		if got := l.Of("ada"); got.Files != 0 || got.Bytes > int64(kept)+100 {
			t.Errorf("with a small one in its place %+v is counted", got)
		}
		// Small ones by the thousand count with what they are.
		small := l.Of("ada").Bytes
		for i := range 5000 {
			put(fmt.Sprint("small/", i), 100, time.Hour)
		}
		if got := l.Of("ada").Bytes - small; got < 5000*100 || got > 5000*120 {
			t.Errorf("5000 answers of 100 bytes count %d", got)
		}
		time.Sleep(25 * time.Hour)
		if _, err := files.Expire(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if l.All() != (persistence.Kept{}) || l.Full("ada", within) != nil {
			t.Errorf("a day later %+v is counted", l.All())
		}
	})
}
