// Package scarce counts how often the system has refused the process what it needs: files and
// connections, processes and threads, memory. Whoever gets such an error may not be able to
// tell anybody, so one place of the process counts them all, and says so in the log.
package scarce

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

// What is what the system has no more of.
type What string

// What can be used up.
const (
	Descriptors What = "descriptors" // files and connections that may be open
	Processes   What = "processes"   // processes and threads
	Memory      What = "memory"      // also maps of it, and buffers of the network
)

// All lists them.
var All = []What{Descriptors, Processes, Memory}

// Of says what an error tells to be used up; empty: nothing.
func Of(err error) What {
	var call *os.SyscallError
	var path *fs.PathError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return Descriptors
	case errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOBUFS):
		return Memory
	case !errors.Is(err, syscall.EAGAIN): // which other calls give while all is well
		return ""
	case errors.As(err, &path) && path.Op == "fork/exec", errors.As(err, &call) && (call.Syscall == "fork" || call.Syscall == "clone"):
		return Processes
	}
	return ""
}

// Counts counts what was used up, and tells of it. The zero value counts and tells nobody.
type Counts struct {
	mu     sync.Mutex
	number map[What]int64
	tell   func(what What, doing string, number int64, err error)
	told   map[What]telling
}

// telling is what was told of one thing last.
type telling struct {
	at     time.Time
	number int64
}

// every is how often it is told, at most, that the same thing is used up.
const every = time.Minute

// Process are the counts of this process.
var Process Counts

// Note counts an error of something that was being done, where it says that something is used
// up. It returns the error.
func Note(doing string, err error) error { return Process.Note(doing, err) }

// Note is [Note] for these counts.
func (c *Counts) Note(doing string, err error) error {
	what := Of(err)
	if what == "" {
		return err
	}
	c.mu.Lock()
	if c.number == nil {
		c.number, c.told = map[What]int64{}, map[What]telling{}
	}
	c.number[what]++
	last, now := c.told[what], time.Now()
	tell, number := c.tell, c.number[what]-last.number
	if !last.at.IsZero() && now.Sub(last.at) < every {
		tell = nil
	}
	if tell != nil {
		c.told[what] = telling{now, c.number[what]}
	}
	c.mu.Unlock()
	if tell != nil {
		tell(what, doing, number, err)
	}
	return err
}

// Tell has f called when something is used up, at most once a minute for each thing: with what
// it is, what was being done, and how often it has happened since f was called last.
func (c *Counts) Tell(f func(what What, doing string, number int64, err error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell, c.told = f, map[What]telling{}
	if c.number == nil {
		c.number = map[What]int64{}
	}
	for what, n := range c.number { // what was before is counted, and nobody's news
		c.told[what] = telling{number: n}
	}
}

// Numbers is how often each thing was used up.
func (c *Counts) Numbers() map[What]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[What]int64{}
	for _, what := range All {
		all[what] = c.number[what]
	}
	return all
}
