package browser

import (
	"syscall"
	"time"
)

// groupEndsWithin bounds the wait for the end of a process group. A killed process ends
// when the kernel gets to it: at once, unless the machine is busy or a disk does not answer.
const groupEndsWithin = 10 * time.Second

// endGroup kills a process group. Its processes end a moment later, see awaitGroup.
func endGroup(pid int) {
	if pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // ESRCH: nobody is left
	}
}

// awaitGroup kills a process group until none of its processes runs any more, and reports
// whether that is so. A process that has ended, and that its parent has not asked for yet,
// runs no more.
func awaitGroup(pid int, within time.Duration) bool {
	if pid <= 1 {
		return true
	}
	for end, wait := time.Now().Add(within), 500*time.Microsecond; ; wait = min(2*wait, 50*time.Millisecond) {
		endGroup(pid) // also a child that was born meanwhile
		if !groupRuns(pid) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		time.Sleep(wait)
	}
}
