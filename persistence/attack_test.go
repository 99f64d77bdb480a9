package persistence_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/persistence"
)

// TestPrefixesOfAccounts: an account whose identifier begins another one's sees
// none of the other's secrets, and names that look like paths lead nowhere else.
func TestPrefixesOfAccounts(t *testing.T) {
	t.Parallel()
	store := persistence.NewMemory()
	defer store.Close()
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	s := persistence.NewSecrets(store, seal)
	for _, name := range []string{"a", "../acct_1/b", "acct_12/c", "d\x00e", "f\ng"} {
		if _, err := s.Set(t.Context(), "acct_12", persistence.Secret{Name: name, Value: "theirs"}); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := s.Of(t.Context(), "acct_1"); err != nil || len(all) != 0 {
		t.Errorf("another account sees %v, %v", all, err)
	}
	if all, err := s.Of(t.Context(), "acct_12"); err != nil || len(all) != 5 {
		t.Errorf("the account sees %v, %v", all, err)
	}
}

// TestAbsurdExpiries: a record whose time is over before it begins is not there,
// and one that is to stay for longer than time goes stays, also over a restart.
func TestAbsurdExpiries(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	b, err := persistence.OpenBadger(dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]time.Time{
		"over/epoch": time.Unix(0, 1), "over/before": time.Now().Add(-time.Hour), "over/zero year": time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC),
		"stays/last": time.Unix(0, math.MaxInt64), "stays/9999": time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if _, err := b.Put(t.Context(), persistence.Write{Key: name, Expires: at, Durable: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	see := func(what string) {
		t.Helper()
		over, err := b.List(t.Context(), "over/")
		stays, err2 := b.List(t.Context(), "stays/")
		if err := errors.Join(err, err2); err != nil || len(over) != 0 || len(stays) != 2 {
			t.Errorf("%s: %d are there whose time is over, %d of 2 that stay, %v", what, len(over), len(stays), err)
		}
	}
	see("at once")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err = persistence.OpenBadger(dir, persistence.Options{}); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	see("after a restart")
}

// TestPlantedLinks: links that another program puts where the folder keeps its files
// are neither read, nor written through, nor removed with what they name.
func TestPlantedLinks(t *testing.T) {
	t.Parallel()
	dir, outside := filepath.Join(t.TempDir(), "files"), t.TempDir()
	f, err := persistence.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	secret := filepath.Join(outside, "victim")
	if err := os.WriteFile(secret, []byte("of another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Every folder that a new file may be put into leads out.
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	for _, a := range letters {
		for _, b := range letters {
			if err := os.Symlink(outside, filepath.Join(dir, string([]rune{a, b}))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if b, err := f.Put(t.Context(), persistence.Blob{ContentType: "text/plain"}, strings.NewReader("new")); err == nil {
		t.Errorf("%s was written through a link", b.ID)
	}
	if _, err := f.Sweep(t.Context(), time.Now().Add(1000*time.Hour)); err != nil {
		t.Errorf("sweep: %v", err)
	}
	left, err := os.ReadDir(outside)
	if err != nil || len(left) != 1 {
		t.Errorf("outside there is %v, %v", left, err)
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "of another program" {
		t.Errorf("%q, %v", b, err)
	}
}
