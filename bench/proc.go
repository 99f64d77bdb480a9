package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tree lists a process with all that descend from it.
func tree(root int) []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var pid, ppid int
		var state string
		fmt.Sscanf(path, "/proc/%d/stat", &pid)
		if i := strings.LastIndexByte(string(b), ')'); i > 0 {
			fmt.Sscan(string(b)[i+2:], &state, &ppid)
			children[ppid] = append(children[ppid], pid)
		}
	}
	list := []int{root}
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i]]...)
	}
	return list
}

// cpu is the processor time of a process tree in milliseconds, ended children
// included. The kernel counts in ticks of 10 ms.
func cpu(root int) float64 {
	total := 0.0
	for _, pid := range tree(root) {
		total += ticks(pid, 4) // utime, stime, and both of ended children
	}
	return total
}

// cpuOf is the processor time of one process in milliseconds.
func cpuOf(pid int) float64 { return ticks(pid, 2) }

// runtimeOf is the processor time of one process in milliseconds as the scheduler
// counts it, exactly, without what threads had that have ended.
func runtimeOf(pid int) float64 {
	total := 0.0
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var nanos float64
		fmt.Sscan(string(b), &nanos)
		total += nanos / 1e6
	}
	return total
}

// ticks adds the first of the four times that the kernel gives for a process.
func ticks(pid, fields int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+2:])
	if len(f) < 15 {
		return 0
	}
	total := 0.0
	for _, s := range f[11 : 11+fields] {
		var n float64
		fmt.Sscan(s, &n)
		total += n * 10
	}
	return total
}

// memory is the proportional memory of a process tree in MB.
func memory(root int) float64 {
	total := 0.0
	for _, pid := range tree(root) {
		total += memoryOf(pid)
	}
	return total
}

// memoryOf is the proportional memory of one process in MB.
func memoryOf(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "Pss: %f kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	return 0
}
