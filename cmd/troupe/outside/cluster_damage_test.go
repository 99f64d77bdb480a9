package outside_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedNode: a node of a cluster whose copy is damaged does not start, and
// says what can be done.
func TestDamagedNode(t *testing.T) {
	t.Parallel()
	data := filepath.Join(shortFolder(t), "data")
	secret := filepath.Join(t.TempDir(), "secret")
	stream := filepath.Join(clusterIn(data), "jetstream", "$G", "streams", "STORE")
	err := errors.Join(os.MkdirAll(stream, 0o700),
		os.WriteFile(secret, []byte("0123456789abcdefghijklmnopqrstuvwxyz"), 0o600),
		os.WriteFile(filepath.Join(stream, "meta.inf"), []byte("{}"), 0o600),
		os.WriteFile(filepath.Join(stream, "meta.sum"), []byte("another one's"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	c := spawn(t, "serve", "--listen=127.0.0.1:0", "--data="+data, "--workers=0", "--node=n1", "--cluster-secret-file="+secret,
		"--cluster-listen=127.0.0.1:1", "--cluster-peers=127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")
	var exit *exec.ExitError
	if err := c.end(t, hang); !errors.As(err, &exit) || exit.ExitCode() != exitData {
		t.Errorf("the start ended with %v, want the exit code %d", err, exitData)
	}
	for _, text := range []string{"the store is damaged", "meta.inf", "--reset-store", "--cluster-damaged"} {
		if !strings.Contains(c.errs.String(), text) {
			t.Errorf("the start says %q, want %q", c.errs.String(), text)
		}
	}
}
