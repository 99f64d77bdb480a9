package store

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"troupe/persistence"
)

// TestSecretsAreAtHand: a task does not wait until the nodes agree on a leader to
// learn which secrets it has; and who has set one finds it at once.
func TestSecretsAreAtHand(t *testing.T) {
	t.Parallel()
	s, ctx := alone(t, "secret/"), t.Context()
	seal, err := persistence.NewSeal(bytes.Repeat([]byte("k"), 32))
	if err != nil {
		t.Fatal(err)
	}
	open := func() *persistence.Secrets {
		all := persistence.NewSecrets(s, seal)
		all.ReadFrom(s.Cached())
		return all
	}
	long := strings.Repeat("x", 4*maxCached)
	first := open()
	for _, account := range []string{"a1", "a2", "a3"} {
		if _, err := first.Set(ctx, account, persistence.Secret{Name: "door", Value: account + long}); err != nil {
			t.Fatal(err)
		}
		if all, err := first.Of(ctx, account); err != nil || len(all) != 1 || all[0].Value != account+long {
			t.Fatalf("what was just set is not found: %d, %v", len(all), err)
		}
	}
	second := open()
	s.member.Engine().Shutdown() // nobody answers any more

	patient, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if all, err := second.Of(patient, "a2"); err != nil || len(all) != 1 || all[0].Value != "a2"+long {
		t.Errorf("a task's secrets: %d, %v", len(all), err)
	}
	if all, err := second.Of(patient, "a4"); err != nil || len(all) != 0 {
		t.Errorf("the secrets of an account without: %d, %v", len(all), err)
	}
	s.index.reset() // what is being built anew is not everything
	brief, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := second.Of(brief, "a3"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("from a copy that is being built anew: %v", err)
	}
}
