// Package standalone lets a process that is no test use what tests use: a node or a
// service that a test starts as a process of its own, from its own program, so that it
// can kill it.
package standalone

import (
	"fmt"
	"os"
	"testing"
)

// Run calls f as the whole of this process, and ends the process. What fails is on its
// standard error, and ends it at once.
func Run(f func(t testing.TB)) {
	p := &process{}
	f(p)
	p.end()
}

// process stands for a test where there is none.
type process struct {
	testing.TB
	cleanups []func()
	failed   bool
}

func (p *process) Helper()          {}
func (p *process) Name() string     { return os.Args[0] }
func (p *process) Failed() bool     { return p.failed }
func (p *process) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

func (p *process) Log(args ...any)                 { fmt.Fprintln(os.Stderr, args...) }
func (p *process) Logf(format string, args ...any) { p.Log(fmt.Sprintf(format, args...)) }

func (p *process) Error(args ...any) {
	p.failed = true
	p.Log(args...)
}
func (p *process) Errorf(format string, args ...any) { p.Error(fmt.Sprintf(format, args...)) }

func (p *process) Fatal(args ...any) {
	p.Error(args...)
	p.end()
}
func (p *process) Fatalf(format string, args ...any) { p.Fatal(fmt.Sprintf(format, args...)) }

func (p *process) TempDir() string {
	dir, err := os.MkdirTemp("", "standalone")
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// end ends the process.
func (p *process) end() {
	for len(p.cleanups) > 0 {
		last := len(p.cleanups) - 1
		f := p.cleanups[last]
		p.cleanups = p.cleanups[:last]
		f()
	}
	if p.failed {
		os.Exit(1)
	}
	os.Exit(0)
}
