package persistence

import (
	"os"
	"syscall"
)

// syncData brings the contents of a file to the disk, and of what the system knows about
// it only what is needed to read them.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
