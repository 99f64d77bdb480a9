package persistence_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/persistence"
)

// TestCopiedWhileRunning: a copy of a folder that a process uses is recognised, wherever it
// is and however often it was moved; the folder itself is none after a kill, nor is a copy
// of a folder that was left in order.
func TestCopiedWhileRunning(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	copied := func() string {
		t.Helper()
		to := filepath.Join(t.TempDir(), "store")
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		return to
	}
	if err := persistence.CheckCopied(dir); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := os.WriteFile(mustDir(t, dir), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, err := persistence.MarkRunning(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := persistence.CheckCopied(dir); err != nil {
		t.Errorf("after a kill: %v", err)
	}
	hot := copied()
	for range 2 {
		if err := persistence.CheckCopied(hot); !errors.Is(err, persistence.ErrCopy) || !strings.Contains(err.Error(), hot) {
			t.Errorf("a copy: %v", err)
		}
	}
	back := dir + ".back" // the copy in the place of the original
	if err := errors.Join(os.Rename(dir, back), os.Rename(hot, dir)); err != nil {
		t.Fatal(err)
	}
	if err := persistence.CheckCopied(dir); !errors.Is(err, persistence.ErrCopy) {
		t.Errorf("a copy in the place of the original: %v", err)
	}
	if err := persistence.CheckCopied(back); err != nil {
		t.Errorf("the original under another name: %v", err)
	}
	if err := errors.Join(os.Rename(dir, hot), os.Rename(back, dir)); err != nil {
		t.Fatal(err)
	}
	if ended2, err := persistence.MarkRunning(dir); err != nil { // a start after the kill
		t.Fatal(err)
	} else if err := persistence.CheckCopied(dir); err != nil {
		t.Errorf("after another kill: %v", err)
	} else if err := ended2(); err != nil {
		t.Fatal(err)
	}
	if err := persistence.CheckCopied(copied()); err != nil {
		t.Errorf("a copy after a clean stop: %v", err)
	}
	if err := errors.Join(ended(), persistence.AcceptCopy(hot), persistence.CheckCopied(hot)); err != nil {
		t.Errorf("a copy that was accepted: %v", err)
	}
}

func mustDir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "000001.sst")
}
