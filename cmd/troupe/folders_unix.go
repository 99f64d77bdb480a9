package main

import (
	"os"
	"syscall"
)

// ours reports whether we own a file.
func ours(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// private lets nobody else read or change what this process and its browsers
// write from now on.
func private() { syscall.Umask(0o077) }
