package main

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"troupe/testkit/leaks"
)

// TestStartThatFails: when the operator's socket cannot be opened, the edge serves
// already, and ends with all else.
func TestStartThatFails(t *testing.T) {
	leaks.Check(t)
	data := t.TempDir()
	if err := os.MkdirAll(filepath.Join(socketIn(data), "not empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	code, _, stderr := play(t, "", "serve", "--listen="+addr, "--data="+data, "--workers=1", "--no-sandbox")
	if code == 0 || !strings.Contains(stderr, "remove the old socket") {
		t.Errorf("ended with %d: %s", code, stderr)
	}
	stacks := make([]byte, 1<<20)
	if s := string(stacks[:runtime.Stack(stacks, true)]); strings.Contains(s, "http.(*Server).Serve") {
		t.Errorf("the edge still serves:\n%s", s)
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}
