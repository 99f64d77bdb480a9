//go:build !linux

package persistence

import (
	"os"
	"syscall"
)

// allocate looks whether the disk has so much free: there is no portable way to
// give a file its blocks.
func allocate(f *os.File, size int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &disk); err != nil {
		return nil
	}
	if int64(disk.Bavail)*int64(disk.Bsize) < size {
		return syscall.ENOSPC
	}
	return nil
}
