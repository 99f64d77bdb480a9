// Package outside_test drives the program as its users do: as a process, by its
// command line, its addresses and its signals.
package outside_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"troupe/testkit/leaks"
	"troupe/testkit/need"
	"troupe/testkit/paths"
)

// program is the program under test, built once for all tests. With the race
// detector in the tests it has one, too.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "troupe-program-")
	if err == nil {
		program = filepath.Join(dir, "troupe")
		err = errors.Join(build(program), os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config")))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	http.DefaultTransport = paths.Transport{RoundTripper: http.DefaultTransport}
	look := leaks.Start()
	code := look.End(m.Run())
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build(to string) error {
	args := []string{"build", "-buildvcs=false", "-o", to}
	if need.Race {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "..")...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w: %s", err, out)
	}
	return nil
}

// alone sends each request over a connection of its own, and looks through the
// answer as the default transport does here.
var alone = paths.Transport{RoundTripper: &http.Transport{DisableKeepAlives: true}}

// play runs a command line to its end.
func play(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return playWith(t, nil, stdin, args...)
}

// playWith is play with more in the environment.
func playWith(t *testing.T, env []string, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs output
	c := exec.Command(program, args...)
	c.Env = append(os.Environ(), env...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errs
	var ended *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// The exit codes of commands, as docs/operations.md has them.
const (
	exitFailed = 1
	exitUsage  = 2
	exitData   = 3
	exitCtrlC  = 130
)
