//go:build !linux

package doctor

// Only Linux has these numbers.

func sharedMemory() (bytes uint64, ok bool) { return 0, false }

func clockSynced() (synced, known bool) { return false, false }

func pidsLeft() (left int64, limited bool) { return 0, false }
