package cluster_test

import (
	"fmt"
	"os"
	"testing"
)

// noTest lets a process that is no test use what the tests of this package use: what
// fails ends the process, and is on its standard error.
type noTest struct {
	testing.TB
	cleanups []func()
	failed   bool
}

func (n *noTest) Helper()          {}
func (n *noTest) Name() string     { return "a node" }
func (n *noTest) Failed() bool     { return n.failed }
func (n *noTest) Cleanup(f func()) { n.cleanups = append(n.cleanups, f) }

func (n *noTest) Log(args ...any)                 { fmt.Fprintln(os.Stderr, args...) }
func (n *noTest) Logf(format string, args ...any) { n.Log(fmt.Sprintf(format, args...)) }

func (n *noTest) Error(args ...any) {
	n.failed = true
	n.Log(args...)
}
func (n *noTest) Errorf(format string, args ...any) { n.Error(fmt.Sprintf(format, args...)) }

func (n *noTest) Fatal(args ...any) {
	n.Error(args...)
	n.end()
}
func (n *noTest) Fatalf(format string, args ...any) { n.Fatal(fmt.Sprintf(format, args...)) }

func (n *noTest) TempDir() string {
	dir, err := os.MkdirTemp("", "node")
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// end ends the process.
func (n *noTest) end() {
	for len(n.cleanups) > 0 {
		last := len(n.cleanups) - 1
		f := n.cleanups[last]
		n.cleanups = n.cleanups[:last]
		f()
	}
	if n.failed {
		os.Exit(1)
	}
	os.Exit(0)
}
