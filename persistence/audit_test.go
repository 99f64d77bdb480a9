package persistence_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/persistence"
)

func act(t *testing.T, a *persistence.Audit, about string) func(result, detail string) error {
	t.Helper()
	end, err := a.Begin(persistence.Act{Command: "token/create", About: about, By: persistence.Issuer{Via: persistence.ViaSocket}})
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func all(persistence.Act) bool { return true }

// TestAuditOutlives: acts are found by the next process, one that did not end
// too, behind whatever a killed process has left half written.
func TestAuditOutlives(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "audit")
	a := persistence.NewAudit(dir)
	if found, err := a.Last(10, all); err != nil || len(found) != 0 {
		t.Errorf("before the first act: %v, %v", found, err)
	}
	if err := act(t, a, "ada")(persistence.ActDone, "tok_1"); err != nil {
		t.Fatal(err)
	}
	act(t, a, "bob\x1b[2J\nforged "+strings.Repeat("x", 10_000)) // and no end
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	info, err := os.Stat(files[0])
	if len(files) != 1 || err != nil || info.Mode().Perm() != 0o600 || info.Size() > 2000 {
		t.Fatalf("%q: %v, %v", files, info, err)
	}
	f, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"id":"torn","order":"tok`); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	next := persistence.NewAudit(dir)
	defer next.Close()
	if err := act(t, next, "eve")(persistence.ActRefused, "no"); err != nil {
		t.Fatal(err)
	}
	found, err := next.Last(10, all)
	if err != nil || len(found) != 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, want := range []string{"eve refused no", "bob?[2J?forged  unknown ", "ada done tok_1"} {
		got := found[i]
		if text := fmt.Sprintf("%.15s %s %s", got.About, got.Result, got.Detail); text != want {
			t.Errorf("act %d is %q, not %q", i, text, want)
		}
	}
	if found, err := next.Last(1, func(a persistence.Act) bool { return a.About == "ada" }); err != nil || len(found) != 1 || found[0].Detail != "tok_1" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestAuditIsBounded: however much is done, the files stay within their bound, and
// what goes is the oldest.
func TestAuditIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := persistence.NewSmallAudit(dir, 2000)
	defer a.Close()
	const acts = 300
	for i := range acts {
		if err := act(t, a, fmt.Sprint(i))(persistence.ActDone, ""); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) != 16 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.Size() > 2500 {
			t.Errorf("%s: %v, %v", name, info.Size(), err)
		}
	}
	found, err := a.Last(acts, all)
	if err != nil || len(found) < 100 || len(found) >= acts {
		t.Fatalf("%d acts are left, %v", len(found), err)
	}
	for i, got := range found {
		if got.About != fmt.Sprint(acts-1-i) {
			t.Fatalf("act %d is about %q", i, got.About)
		}
	}
}
