package networks

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// inOwn says in which test's network a process is.
const inOwn = "TROUPE_TEST_OWN_NETWORK"

// Own runs a test once more in a network namespace of its own, in which nothing is set up. It
// reports whether this is that run; if not, the test has ended. Where nobody may make one, the
// test is skipped.
func Own(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inOwn) == t.Name() {
		return true
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), inOwn+"="+t.Name())
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := c.CombinedOutput()
	var no *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &no):
		t.Skipf("no network of its own: %v", err)
	case err != nil:
		t.Errorf("in a network of its own: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	}
	return false
}

// IP runs the command ip, or skips the test where there is none or it may not.
func IP(t testing.TB, args ...string) {
	t.Helper()
	if err := ip(args...); err != nil {
		t.Skip(err)
	}
}
