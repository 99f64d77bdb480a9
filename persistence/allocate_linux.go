package persistence

import (
	"errors"
	"os"
	"syscall"
)

// keepSize is FALLOC_FL_KEEP_SIZE of linux/falloc.h.
const keepSize = 1

// allocate gives a file blocks for its first bytes. Its size stays.
func allocate(f *os.File, size int64) error { return fallocate(int(f.Fd()), 0, size) }

// fallocate gives a part of a file its blocks. A file system that has no such
// thing is left alone where it has so much free.
func fallocate(fd int, offset, size int64) error {
	for {
		err := syscall.Fallocate(fd, keepSize, offset, size)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
			return enough(fd, size)
		}
		return err
	}
}

// enough looks whether the disk has so much free.
func enough(fd int, size int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Fstatfs(fd, &disk); err != nil {
		return nil
	}
	if int64(disk.Bavail)*int64(disk.Bsize) < size {
		return syscall.ENOSPC
	}
	return nil
}
