package engine

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// playwright runs one of our scripts for Playwright, which prints JSON. Its browser fails what
// it loads while other tests give the machine addresses and take them away: then the script runs
// again.
func playwright(t *testing.T, script string, out any, args ...string) {
	t.Helper()
	var b []byte
	var err error
	for range 5 {
		var said bytes.Buffer
		cmd := exec.Command("node", append([]string{filepath.Join("testdata", "aria", script)}, args...)...)
		cmd.Stderr = &said
		if b, err = cmd.Output(); err == nil {
			break
		}
		t.Logf("%s: %s", script, said.Bytes())
		if !bytes.Contains(said.Bytes(), []byte("ERR_NETWORK_CHANGED")) {
			break
		}
	}
	if err == nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		t.Fatalf("running %s: %v\n%.500s", script, err, b)
	}
}
