package persistence_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"troupe/persistence"
)

// TestProfilesAreResealed: after a change of the key every version can still be read, and
// nothing needs the old key.
func TestProfilesAreResealed(t *testing.T) {
	ctx := context.Background()
	store := persistence.NewMemory()
	t.Cleanup(func() { store.Close() })
	old, now := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	seal, err := persistence.NewSeal(old)
	if err != nil {
		t.Fatal(err)
	}
	p := persistence.NewProfiles(store, seal)
	for _, state := range []string{"first", "second"} {
		if err := saveProfile(t, p, "ada", "shop", []byte(state)); err != nil {
			t.Fatal(err)
		}
	}
	if err := seal.Use(now, old); err != nil {
		t.Fatal(err)
	}
	if done, err := (persistence.SealedRecords{Store: store, Files: persistence.NewMemoryFiles(), Seal: seal}).Reseal(ctx); err != nil || done.Records != 3 { // a description, and a part of each version
		t.Errorf("%+v, %v", done, err)
	}
	if err := seal.Use(now); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[int]string{0: "second", 1: "first"} {
		if got, _, err := p.State(ctx, "ada", "shop", version); err != nil || string(got) != want {
			t.Errorf("version %d is %q, %v; want %q", version, got, err, want)
		}
	}
}

// TestUnreadableProfiles: a profile that the key does not open is named, hinders no other
// one, and can be removed.
func TestUnreadableProfiles(t *testing.T) {
	ctx := t.Context()
	store := persistence.NewMemory()
	t.Cleanup(func() { store.Close() })
	seal, err := persistence.NewSeal(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	p := persistence.NewProfiles(store, seal)
	if err := saveProfile(t, p, "ada", "shop", []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := seal.Use(bytes.Repeat([]byte{2}, 32)); err != nil {
		t.Fatal(err)
	}
	if err := saveProfile(t, p, "ada", "other", []byte("second")); err != nil {
		t.Fatalf("another profile: %v", err)
	}
	all, unreadable, err := p.List(ctx, "ada")
	if err != nil || len(all) != 1 || all[0].Name != "other" || len(unreadable) != 1 || unreadable[0] != "shop" {
		t.Errorf("%+v, %v, %v", all, unreadable, err)
	}
	if _, _, err := p.State(ctx, "ada", "shop", 0); !errors.Is(err, persistence.ErrSealed) {
		t.Errorf("its state: %v", err)
	}
	if err := p.Remove(ctx, "ada", "shop"); err != nil {
		t.Fatal(err)
	}
	left, err := store.Keys(ctx, "profile", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range left {
		if strings.Contains(k.Key, "/shop") {
			t.Errorf("left: %s", k.Key)
		}
	}
}
