package outside_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/testkit/need"
)

// pty opens a terminal: what programs have, and what somebody sees.
func pty(t *testing.T) (terminal, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { screen.Close() })
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	return terminal, screen
}

// TestRunShowsProgressOnATerminal: without being asked to.
func TestRunShowsProgressOnATerminal(t *testing.T) {
	need.Browser(t)
	terminal, screen := pty(t)
	c := exec.Command(program, "run", "-")
	c.Stdin = strings.NewReader(`{"actions":[{"open":"http://demo.troupe.test/"}]}`)
	c.Stderr = terminal
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	shown, _ := io.ReadAll(screen) // ends with an error when the last user of the terminal has gone
	if err := c.Wait(); err != nil || !strings.Contains(string(shown), "✓ 0 ") {
		t.Errorf("%v: %q", err, shown)
	}
}

// TestAClosedTerminalEndsTheService: as whoever closes it expects; without one
// SIGHUP means something else.
func TestAClosedTerminalEndsTheService(t *testing.T) {
	need.Browser(t)
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	terminal, screen := pty(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // should it go on
	defer cancel()
	c := exec.CommandContext(ctx, program, "serve", "--listen=127.0.0.1:0", "--data="+dir+"/data", "--workers=1")
	c.Stdout, c.Stderr = terminal, terminal
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	said, told := "", false
	for b := make([]byte, 4096); ; {
		n, err := screen.Read(b)
		if err != nil {
			break
		}
		if said += string(b[:n]); !told && strings.Contains(said, "Try it") {
			told = true
			if err := c.Process.Signal(unix.SIGHUP); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Wait(); err != nil || !told || !strings.Contains(said, "stopping") {
		t.Errorf("%v:\n%s", err, said)
	}
}
