package persistence_test

import (
	"bytes"
	"context"
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
