package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// notices is what the service has to tell its operator.
func notices(t *testing.T, base string) string {
	t.Helper()
	_, got := get(t, base, "", "/readyz")
	_, after, _ := strings.Cut(got, `"notices":`)
	return after
}

// TestDamagedStore overwrites the list of tables: the service starts with an
// empty store, keeps the damaged one, and says so until it is started again.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	stop := func(c *child) {
		t.Helper()
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.end(t, hang); err != nil {
			t.Errorf("the stop: %v", err)
		}
	}
	c, base := serve(t, data, "--workers=1")
	old := tokenLine.FindStringSubmatch(c.out.String())[1]
	if said := notices(t, base); said != "" {
		t.Errorf("a new store: %s", said)
	}
	stop(c)
	if err := os.WriteFile(filepath.Join(storeIn(data), "MANIFEST"), []byte("not a list of tables"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, base = serve(t, data, "--workers=1")
	moved, err := filepath.Glob(storeIn(data) + ".quarantine-*")
	if err != nil || len(moved) != 1 {
		t.Fatalf("moved aside are %v, %v", moved, err)
	}
	if said := notices(t, base); !strings.Contains(said, "was moved aside to "+filepath.Base(moved[0])) || strings.Contains(said, dir) {
		t.Errorf("after the damage: %q", said)
	}
	if status, got, err := post(base, old, shopTask); status != http.StatusUnauthorized {
		t.Errorf("a token that went with the store: %d, %v: %s", status, err, got)
	}
	if status, got, err := post(base, tokenLine.FindStringSubmatch(c.out.String())[1], shopTask); status != 200 || !strings.Contains(got, "Oak Lamp") {
		t.Errorf("the new token: %d, %v: %s", status, err, got)
	}
	stop(c)
	c, base = serve(t, data, "--workers=1")
	if said := notices(t, base); said != "" {
		t.Errorf("at the next start: %s", said)
	}
	stop(c)
}
