//go:build !linux

package browser

import "syscall"

// groupRuns reports whether a process of the group is still there.
func groupRuns(pgid int) bool { return syscall.Kill(-pgid, 0) != syscall.ESRCH }
