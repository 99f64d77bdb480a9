package browser

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// groupRuns reports whether a process of the group still runs.
func groupRuns(pgid int) bool {
	if syscall.Kill(-pgid, 0) == syscall.ESRCH {
		return false
	}
	// The kernel counts those that have ended until their parent asks for them, which some
	// first processes of containers never do.
	proc, err := os.Open("/proc")
	if err != nil {
		return true
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return true
	}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if state, group := stateOf(name); group == pgid && state != "Z" && state != "X" {
			return true
		}
	}
	return false
}

// stateOf reads the state and the group of a process. Both are zero for one that is gone.
func stateOf(pid string) (state string, pgid int) {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return "", 0
	}
	// The second field is the program's name in brackets and may hold anything.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 3 {
		return "", 0
	}
	pgid, _ = strconv.Atoi(string(f[2]))
	return string(f[0]), pgid
}
