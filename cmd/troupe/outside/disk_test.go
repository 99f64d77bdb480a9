package outside_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"troupe/testkit/need"
)

// TestDamagedStore overwrites the list of tables: the service does not start, and
// says what can be done. Each of the three ways on leads to one that does.
func TestDamagedStore(t *testing.T) {
	need.All(t)
	t.Parallel()
	data := filepath.Join(shortFolder(t), "data")
	stop := func(c *child) {
		t.Helper()
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.end(t, hang); err != nil {
			t.Errorf("the stop: %v", err)
		}
	}
	works := func(base, token, what string) {
		t.Helper()
		if status, got, err := post(base, token, shopTask); status != 200 || !strings.Contains(got, "Oak Lamp") {
			t.Errorf("%s: %d, %v: %s", what, status, err, got)
		}
	}
	refused := func(what string, says ...string) {
		t.Helper()
		c := spawn(t, "serve", "--listen=127.0.0.1:0", "--data="+data, "--workers=1")
		err := c.end(t, hang)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitData {
			t.Errorf("%s: the start ended with %v, want the exit code %d", what, err, exitData)
		}
		for _, text := range says {
			if !strings.Contains(c.errs.String(), text) {
				t.Errorf("%s: the start says %q, want %q", what, c.errs.String(), text)
			}
		}
	}
	command := func(want int, args ...string) (stdout string) {
		t.Helper()
		code, stdout, stderr := play(t, "", append(args, "--data="+data)...)
		if code != want {
			t.Fatalf("%v: %d, %s", args, code, stderr)
		}
		return stdout
	}
	c, base := serve(t, data, "--workers=1")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	works(base, token, "a new store")
	stop(c)
	backup := filepath.Join(t.TempDir(), "backup")
	if said := command(0, "store", "backup", backup); !strings.Contains(said, "1 account") || !strings.Contains(said, "1 token") {
		t.Errorf("the backup: %s", said)
	}
	command(0, "store", "check")
	damage := func() {
		t.Helper()
		if err := os.WriteFile(filepath.Join(storeIn(data), "MANIFEST"), []byte("not a list of tables"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused("a damaged list of tables", "the store is damaged", "MANIFEST", "store repair", "store restore", "--reset-store")
		refused("the same again", "the store is damaged")
		command(exitData, "store", "check")
		command(exitData, "account", "list")
	}

	damage()
	if said := command(0, "store", "repair"); !strings.Contains(said, "account  1     0") || !strings.Contains(said, "token    1     0") || !strings.Contains(said, "store.damaged-") {
		t.Errorf("the repair: %s", said)
	}
	if said := command(0, "store", "repair"); !strings.Contains(said, "intact") {
		t.Errorf("another repair: %s", said)
	}
	c, base = serve(t, data, "--workers=1")
	works(base, token, "the token after a repair")
	stop(c)

	damage()
	if said := command(0, "store", "restore", backup); !strings.Contains(said, "1 account") {
		t.Errorf("the restoring: %s", said)
	}
	c, base = serve(t, data, "--workers=1")
	works(base, token, "the token after a backup was restored")
	stop(c)

	damage()
	c, base = serve(t, data, "--workers=1", "--reset-store")
	if status, got, err := post(base, token, shopTask); status != http.StatusUnauthorized {
		t.Errorf("a token that went with the store: %d, %v: %s", status, err, got)
	}
	token = tokenLine.FindStringSubmatch(c.out.String())[1]
	works(base, token, "the new token")
	stop(c)
	if aside, _ := filepath.Glob(storeIn(data) + ".aside-*"); len(aside) != 2 { // this one, and the one before the backup
		t.Errorf("aside are %v", aside)
	}

	key := keyIn(data)
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	refused("a missing key", "the sealing key is missing", "--reset-key")
	if err := os.WriteFile(key, make([]byte, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("another key", "not the one that the store was used with")
	c, base = serve(t, data, "--workers=1", "--reset-key")
	works(base, token, "the token with a new key")
	stop(c)

	if err := os.RemoveAll(storeIn(data)); err != nil {
		t.Fatal(err)
	}
	refused("a store that is gone", "empty or missing")
}
