package telemetry

import (
	"bytes"
	"os"
	"path/filepath"
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
	self := os.Getpid()
	if _, here := all[self]; !here {
		return sum, false
	}
	for pid, p := range all {
		at := pid
		for steps := 0; at != self && at > 1 && steps < len(all); steps++ {
			at = all[at].parent
		}
		if at == self && pid != self {
			sum.Number++
			sum.Threads += p.threads
			sum.Memory += p.pages * int64(os.Getpagesize())
		}
	}
	return sum, true
}

// readProcess reads a line of /proc. There is none where the process has ended.
func readProcess(name string) (p process, ok bool) {
	b, err := os.ReadFile(name)
	// What stands in brackets is the program's name, with anything in it.
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
