package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// groupMemory sums up the processes of a group.
func groupMemory(pgid int) (bytes int64) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if group, err := syscall.Getpgid(pid); err == nil && group == pgid {
			bytes += processMemory(dir)
		}
	}
	return bytes
}

// processMemory is the proportional share of a process. A sandboxed one lets
// only root look that closely: of it, what it has for itself counts.
func processMemory(dir string) int64 {
	if b, err := os.ReadFile(filepath.Join(dir, "smaps_rollup")); err == nil {
		for line := range strings.Lines(string(b)) {
			var kib int64
			if n, _ := fmt.Sscanf(line, "Pss: %d kB", &kib); n == 1 {
				return kib << 10
			}
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "statm"))
	if err != nil {
		return 0 // it has ended
	}
	var size, resident, shared int64
	if n, _ := fmt.Sscan(string(b), &size, &resident, &shared); n != 3 {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}
