package doctor

import (
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/cmd/troupe/cgroup"
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
	return pidsIn(cgroup.Root, cgroup.Own(), cgroup.Number)
}

// pidsIn looks for limits in the control group of a process and in those above.
func pidsIn(root, own string, number func(name string) (int64, bool)) (left int64, limited bool) {
	for _, dir := range cgroup.Dirs(root, own, "pids") {
		if most, ok := number(path.Join(dir, "pids.max")); ok {
			used, _ := number(path.Join(dir, "pids.current"))
			if !limited || most-used < left {
				left, limited = most-used, true
			}
		}
	}
	return left, limited
}
