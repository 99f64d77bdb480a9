//go:build !linux

package persistence

import "os"

// syncData brings a file to the disk.
func syncData(f *os.File) error { return f.Sync() }
