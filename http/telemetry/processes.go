package telemetry

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Processes is what the processes below this one need together. The service
// starts no others than browsers.
type Processes struct {
	Number  int
	Threads int
	Memory  int64 // resident, in bytes; what they share is counted for each
}

// process is one of the system's.
type process struct {
	parent, threads int
	pages           int64
}

// Browsers counts the processes that descend from this one. Only systems with a
// /proc tell.
func Browsers() (sum Processes, ok bool) {
	for _, pid := range descendants(os.Getpid()) {
		if p, ok := readProcess(stat(pid)); ok {
			sum.Number++
			sum.Threads += p.threads
			sum.Memory += p.pages * int64(os.Getpagesize())
		}
	}
	_, ok = readProcess(stat(os.Getpid()))
	return sum, ok
}

func stat(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/stat" }

// descendants are the processes below one. Threads list their children, where
// the kernel was built so: then nothing but the family is looked at, however
// many others the machine has.
func descendants(of int) (all []int) {
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		return searched(of)
	}
	all = children(of, nil)
	for i := 0; i < len(all); i++ {
		all = children(all[i], all)
	}
	return all
}

// children adds the children of a process. Each thread has those that it started.
func children(of int, to []int) []int {
	dir, err := os.Open("/proc/" + strconv.Itoa(of) + "/task")
	if err != nil {
		return to // it has ended
	}
	defer dir.Close()
	threads, err := dir.Readdirnames(-1)
	if err != nil {
		return to
	}
	for _, thread := range threads {
		b, _ := os.ReadFile(dir.Name() + "/" + thread + "/children")
		for _, name := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(name); err == nil && !slices.Contains(to, pid) { // its thread may have ended meanwhile, and left it to another
				to = append(to, pid)
			}
		}
	}
	return to
}

// searched finds the processes below one among all of the machine.
func searched(of int) (below []int) {
	all := map[int]process{}
	found, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range found {
		pid, err := strconv.Atoi(strings.Split(name, "/")[2])
		if err != nil {
			continue
		}
		if p, ok := readProcess(name); ok {
			all[pid] = p
		}
	}
	for pid := range all {
		at := pid
		for steps := 0; at != of && at > 1 && steps < len(all); steps++ {
			at = all[at].parent
		}
		if at == of && pid != of {
			below = append(below, pid)
		}
	}
	return below
}

// readProcess reads a line of /proc. There is none where the process has ended.
func readProcess(name string) (p process, ok bool) {
	b, err := os.ReadFile(name)
	// The program's name is in brackets, and may contain anything.
	end := bytes.LastIndexByte(b, ')')
	if err != nil || end < 0 {
		return p, false
	}
	f := strings.Fields(string(b[end+1:])) // from the third field on
	if len(f) < 22 {
		return p, false
	}
	p.parent, _ = strconv.Atoi(f[1])
	p.threads, _ = strconv.Atoi(f[17])
	p.pages, _ = strconv.ParseInt(f[21], 10, 64)
	return p, true
}
