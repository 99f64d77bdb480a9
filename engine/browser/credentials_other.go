//go:build !linux

package browser

import (
	"os"
	"os/exec"
	"syscall"
)

// setCredentials puts the browser in a process group of its own.
func setCredentials(cmd *exec.Cmd, _ string, _ bool) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

// runsUnprivileged reports whether browsers run as another user than the service.
func runsUnprivileged(bool) bool { return false }

func barredFrom(Options, string) *FolderError { return nil }

// User is the user that browsers run as: ours.
func (Options) User() int { return os.Geteuid() }

// ownerOf is the user that a browser runs as: ours.
func ownerOf(string) (uid, gid int) { return os.Geteuid(), os.Getegid() }
