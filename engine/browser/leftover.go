package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A browser that the service started is noted in a file beside its folder,
// with the time the kernel says it started: a process number may be given out
// again, the pair is not. What a killed service left behind is ended by that
// note and by nothing else; processes are never looked for by name.
type note struct {
	PID     int    `json:"pid"`
	Started string `json:"started"`
	Owner   int    `json:"owner"` // the service's own process
	OwnerAt string `json:"ownerStarted"`
}

func notePath(base, dir string) string { return filepath.Join(base, filepath.Base(dir)+".json") }

func remember(base, dir string, pid int) error {
	n := note{PID: pid, Started: startedAt(pid), Owner: os.Getpid(), OwnerAt: startedAt(os.Getpid())}
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return os.WriteFile(notePath(base, dir), b, 0o600)
}

func forget(base, dir string) { os.Remove(notePath(base, dir)) }

// EndLeftovers ends the browsers that a killed service has left in the folder,
// removes their folders, and returns how many processes it ended, and which folders
// stay. Browsers of a service that still runs are left alone.
func EndLeftovers(base string) (int, error) {
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the browsers' folder: %w", err)
	}
	noted := map[string]note{}
	for _, e := range entries {
		name, isNote := strings.CutSuffix(e.Name(), ".json")
		if !isNote {
			continue
		}
		var n note
		if b, err := os.ReadFile(filepath.Join(base, e.Name())); err == nil && json.Unmarshal(b, &n) == nil {
			noted[name] = n
		}
	}
	ended, left := 0, error(nil)
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".json")
		if !strings.HasPrefix(name, "b") {
			continue
		}
		n, known := noted[name]
		if known && alive(n.Owner, n.OwnerAt) {
			continue // of a service that runs, which may be this one
		}
		if known && groupAlive(n) {
			awaitGroup(n.PID, groupEndsWithin)
			ended++
		}
		if err := removeFolder(filepath.Join(base, name)); err != nil {
			left = errors.Join(left, fmt.Errorf("removing a browser's folder: %w", err))
			continue
		}
		os.Remove(filepath.Join(base, name+".json"))
	}
	return ended, left
}

// groupAlive reports whether the noted process, or a child that it left in its
// group, still runs.
func groupAlive(n note) bool {
	if alive(n.PID, n.Started) {
		return true
	}
	// The leader is gone. Its number may lead a stranger's group by now only
	// if a process with that number exists; an orphaned group has none.
	if syscall.Kill(n.PID, 0) == nil {
		return false
	}
	return n.PID > 1 && groupRuns(n.PID)
}

func alive(pid int, started string) bool {
	return pid > 0 && syscall.Kill(pid, 0) != syscall.ESRCH && startedAt(pid) == started
}

// startedAt is the kernel's time of a process's start, in ticks since boot; it
// is empty where there is no /proc, and a zombie has none either.
func startedAt(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The second field is the program's name in brackets and may hold anything.
	rest := string(b)
	if i := strings.LastIndexByte(rest, ')'); i >= 0 {
		rest = rest[i+1:]
	}
	f := strings.Fields(rest)
	if len(f) < 20 || f[0] == "Z" {
		return ""
	}
	return f[19]
}
