package doctor

import (
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func sharedMemory() (bytes uint64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &s); err != nil {
		return 0, false
	}
	return s.Blocks * uint64(s.Bsize), true
}

// clockSynced asks the kernel whether anything keeps its clock right.
func clockSynced() (synced, known bool) {
	var t unix.Timex // with no mode set, nothing is changed
	if _, err := unix.Adjtimex(&t); err != nil {
		return false, false
	}
	return t.Status&unix.STA_UNSYNC == 0, true
}

// pidsLeft is how many more processes and threads may be started here.
func pidsLeft() (left int64, limited bool) {
	own, _ := os.ReadFile("/proc/self/cgroup")
	return pidsIn("/sys/fs/cgroup", string(own), func(name string) (int64, bool) {
		b, err := os.ReadFile(name)
		if err != nil {
			return 0, false
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		return n, err == nil // "max" is no number
	})
}

// pidsIn looks for limits in the control group of a process and in those above.
// In a container the group may be called otherwise than what is mounted there:
// then the mounted one counts.
func pidsIn(root, own string, number func(name string) (int64, bool)) (left int64, limited bool) {
	for line := range strings.Lines(own) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		at := root
		switch {
		case f[0] == "0" && f[1] == "": // version 2
		case strings.Contains(","+f[1]+",", ",pids,"):
			at = path.Join(root, "pids")
		default:
			continue
		}
		for group := path.Clean("/" + f[2]); ; group = path.Dir(group) {
			dir := path.Join(at, group)
			if most, ok := number(path.Join(dir, "pids.max")); ok {
				used, _ := number(path.Join(dir, "pids.current"))
				if !limited || most-used < left {
					left, limited = most-used, true
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return left, limited
}
