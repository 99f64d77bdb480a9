package main

import (
	"os"
	"os/exec"
	"syscall"
)

// unprivileged lets a command run as nobody, and its folder be theirs, where
// this program is root: Chromium's sandbox does not start as root.
func unprivileged(cmd *exec.Cmd, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return os.Chown(dir, nobody, nobody)
}
