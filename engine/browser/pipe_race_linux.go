//go:build race

package browser

import "syscall"

// The race detector takes what is read from a file for a consequence of what was written to
// one before, but only where Go itself reads and writes. Browsers carry much from one to the
// other, so calls that move nothing tell it.

func writes(fd uintptr)  { _, _ = syscall.Write(int(fd), nil) }
func hasRead(fd uintptr) { _, _ = syscall.Read(int(fd), nil) }
