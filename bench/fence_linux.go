package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// fence bounds, by control groups of the kernel, the memory of a service's process, and of it
// and its browsers together.
type fence struct {
	own, all int64 // bytes
	folder   string
	unified  bool // the second version of control groups
}

// newFence makes the groups. It needs root.
func newFence(own, all int64) (*fence, error) {
	f := &fence{own: own, all: all}
	limit, root := "memory.limit_in_bytes", "/sys/fs/cgroup/memory"
	if _, err := os.Stat(filepath.Join(root, limit)); err != nil {
		limit, root, f.unified = "memory.max", "/sys/fs/cgroup", true
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory"), 0o644); err != nil {
			return nil, fmt.Errorf("asking for groups with a limit on memory: %w", err)
		}
	}
	f.folder = filepath.Join(root, fmt.Sprintf("troupe-bench-%d", os.Getpid()))
	fail := func(err error) (*fence, error) {
		return nil, errors.Join(fmt.Errorf("making a group with a limit on memory: %w", err), f.remove())
	}
	if err := os.Mkdir(f.folder, 0o755); err != nil {
		return fail(err)
	}
	if f.unified {
		if err := os.WriteFile(filepath.Join(f.folder, "cgroup.subtree_control"), []byte("+memory"), 0o644); err != nil {
			return fail(err)
		}
	}
	for _, name := range []string{"service", "browsers"} {
		if err := os.Mkdir(filepath.Join(f.folder, name), 0o755); err != nil {
			return fail(err)
		}
	}
	for folder, n := range map[string]int64{"": all, "service": own} {
		if err := os.WriteFile(filepath.Join(f.folder, folder, limit), []byte(strconv.FormatInt(n, 10)), 0o644); err != nil {
			return fail(err)
		}
	}
	for _, folder := range []string{"", "browsers"} { // a browser moves itself, as another user
		if err := os.Chmod(filepath.Join(f.folder, folder, "cgroup.procs"), 0o666); err != nil {
			return fail(err)
		}
	}
	return f, nil
}

func (f *fence) members(group string) string { return filepath.Join(f.folder, group, "cgroup.procs") }

// inside has a command start in the service's group.
func (f *fence) inside(cmd *exec.Cmd) *exec.Cmd {
	return exec.Command("/bin/sh", append([]string{"-c", `echo $$ >"$0" && exec "$@"`, f.members("service"), cmd.Path}, cmd.Args[1:]...)...)
}

// browser makes a program in a folder that leaves the service's group and becomes the browser.
func (f *fence) browser(program, dir string) (string, error) {
	path := filepath.Join(dir, "browser")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >'%s' && exec '%s' \"$@\"\n", f.members("browsers"), program)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		return "", fmt.Errorf("writing a program that leaves the group: %w", err)
	}
	return path, os.Chmod(path, 0o755)
}

// inUse is what the service's process has that counts and cannot be given up, in MB.
func (f *fence) inUse() float64 {
	b, _ := os.ReadFile(filepath.Join(f.folder, "service", "memory.stat"))
	for line := range strings.Lines(string(b)) {
		var n float64
		for _, name := range []string{"total_rss", "anon"} {
			if k, _ := fmt.Sscanf(line, name+" %f\n", &n); k == 1 {
				return n / (1 << 20)
			}
		}
	}
	return 0
}

// ended counts the processes that the kernel has ended because a limit was reached.
func (f *fence) ended() (n int, err error) {
	name := "memory.oom_control"
	if f.unified {
		name = "memory.events"
	}
	for _, group := range []string{"", "service", "browsers"} {
		b, err := os.ReadFile(filepath.Join(f.folder, group, name))
		if err != nil {
			return 0, err
		}
		_, rest, ok := bytes.Cut(b, []byte("oom_kill "))
		if !ok {
			return 0, fmt.Errorf("%s of %q does not count what was ended: %q", name, group, b)
		}
		var one int
		if _, err := fmt.Sscan(string(rest), &one); err != nil {
			return 0, err
		}
		if f.unified && group == "" {
			return one, nil // it counts the others
		}
		n += one
	}
	return n, nil
}

// remove removes the groups, once all that was in them has ended.
func (f *fence) remove() (err error) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err = nil
		for _, group := range []string{"service", "browsers", ""} {
			if no := os.Remove(filepath.Join(f.folder, group)); no != nil && !os.IsNotExist(no) {
				err = no
			}
		}
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
