package engine

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// playwright runs one of our scripts for Playwright, which prints JSON.
func playwright(t *testing.T, script string, out any, args ...string) {
	t.Helper()
	cmd := exec.Command("node", append([]string{filepath.Join("testdata", "aria", script)}, args...)...)
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		t.Fatalf("running %s: %v\n%.500s", script, err, b)
	}
}
