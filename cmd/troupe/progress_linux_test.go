package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRunShowsProgressOnATerminal: without being asked to.
func TestRunShowsProgressOnATerminal(t *testing.T) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer screen.Close()
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	c := exec.Command(os.Args[0], "run", "-")
	c.Env = append(os.Environ(), "TROUPE_TEST_MAIN=1")
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
