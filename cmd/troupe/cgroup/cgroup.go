// Package cgroup reads what the control groups of this process allow it. Systems other than
// Linux have none.
package cgroup

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// Root is where the kernel shows control groups.
const Root = "/sys/fs/cgroup"

// Own says which control groups this process is in, as the kernel writes it.
func Own() string {
	own, _ := os.ReadFile("/proc/self/cgroup")
	return string(own)
}

// Number reads a file that has one number. "max" is none.
func Number(name string) (int64, bool) {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// Dirs are the folders with the limits of a process for a controller: of its control group
// and of those above, in both versions. In a container the group may be called otherwise
// than what is mounted there: then the mounted one counts.
func Dirs(root, own, controller string) (dirs []string) {
	for line := range strings.Lines(own) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		at := root
		switch {
		case f[0] == "0" && f[1] == "": // version 2
		case strings.Contains(","+f[1]+",", ","+controller+","):
			at = path.Join(root, controller)
		default:
			continue
		}
		for group := path.Clean("/" + f[2]); ; group = path.Dir(group) {
			dirs = append(dirs, path.Join(at, group))
			if group == "/" {
				break
			}
		}
	}
	return dirs
}

// Memory is how many bytes the control groups of this process allow it; 0: any number.
func Memory() int64 { return memoryIn(Root, Own(), Number) }

// noLimit is what version 1 says, or more, where there is no limit.
const noLimit = 1 << 60

func memoryIn(root, own string, number func(name string) (int64, bool)) (least int64) {
	for _, dir := range Dirs(root, own, "memory") {
		// Above memory.high the kernel slows the process down until it is below.
		for _, name := range []string{"memory.max", "memory.high", "memory.limit_in_bytes"} {
			if n, ok := number(path.Join(dir, name)); ok && n > 0 && n < noLimit && (least == 0 || n < least) {
				least = n
			}
		}
	}
	return least
}
