package persistence_test

import (
	"path/filepath"
	"testing"

	"troupe/persistence"
	"troupe/persistence/storetest"
)

func TestBadger(t *testing.T) {
	storetest.Run(t, func(t *testing.T) persistence.Store {
		return openBadger(t, filepath.Join(t.TempDir(), "db"))
	})
}

func openBadger(t *testing.T, dir string) *persistence.Badger {
	t.Helper()
	b, err := persistence.OpenBadger(dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}
