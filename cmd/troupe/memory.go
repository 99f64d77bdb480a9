package main

import (
	"os"
	"runtime/debug"

	"troupe/cmd/troupe/cgroup"
	"troupe/http"
)

const (
	// restMemory is what the service takes beside requests and tasks, with the garbage of all
	// that.
	restMemory = 192 << 20
	// taskMemory is what it takes for the task of a worker: what tasks usually return.
	taskMemory = 32 << 20
)

// memory is how much memory the process has for what.
type memory struct {
	allowed  int64 // by its control groups; 0: any number of bytes
	requests int64 // and answers of all accounts
	process  int64 // from which on garbage is collected more often
}

// memoryFor shares out what the process is allowed. The operator may have said how much is
// for requests; 0: that is decided here.
func memoryFor(allowed, requests int64, workers int) memory {
	m := memory{allowed: allowed, requests: requests}
	if m.requests == 0 {
		m.requests = http.MaxMemory
		if allowed > 0 {
			m.requests = max(http.MinMemory, min(m.requests, allowed/3))
		}
	}
	m.process = restMemory + m.requests + m.requests/4 + int64(workers)*taskMemory
	if allowed > 0 { // the rest of the group's is for files that are open, for stacks, and for browsers
		m.process = min(m.process, allowed-allowed/4)
	}
	return m
}

// tight reports whether requests can take so much that little of what the process is allowed
// is left for anything else.
func (m memory) tight() bool { return m.allowed > 0 && m.requests > m.allowed/2 }

// shareMemory decides how much memory is for what. Where GOMEMLIMIT is set, it counts.
func (c *serveCommand) shareMemory() memory {
	m := memoryFor(cgroup.Memory(), c.Listening.RequestMemory<<20, c.Workers)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(m.process)
	}
	return m
}
