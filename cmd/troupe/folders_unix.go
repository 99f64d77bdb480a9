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
