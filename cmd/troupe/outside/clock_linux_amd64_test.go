package outside_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wallClock sets what a running process believes the time of day to be, as if
// the machine's clock had been set, and leaves everybody else's alone. The
// program needs nothing for it: what it calls to read clocks is code that the
// kernel has put into its memory (the vDSO), and is led to a piece of code that
// asks the kernel and adds a step. The clock that nobody can set stays as it is.
type wallClock struct {
	t    *testing.T
	pid  int
	mem  *os.File
	cell int64 // where the step stands, in seconds
}

// askAndAdd is clock_gettime, by a system call, with the step added to
// CLOCK_REALTIME, which is number 0. The step follows.
var askAndAdd = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov eax, 228
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jne to the end
	0x48, 0x8b, 0x0d, 6, 0, 0, 0, // mov rcx, [rip+6]
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3, 0x90, 0x90, // ret
}

func wallClockOf(t *testing.T, pid int) *wallClock {
	t.Helper()
	fail := func(err error) { t.Fatalf("take over the clock of a process: %v", err) }
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		fail(err)
	}
	t.Cleanup(func() { mem.Close() })
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		fail(err)
	}
	var from, to int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			_, err = fmt.Sscanf(line, "%x-%x", &from, &to)
		}
	}
	image := make([]byte, to-from)
	if err == nil {
		_, err = mem.ReadAt(image, from)
	}
	if err != nil {
		fail(err)
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		fail(err)
	}
	all, err := file.DynamicSymbols()
	if err != nil {
		fail(err)
	}
	var entry int64
	for _, s := range all {
		if s.Name == "__vdso_clock_gettime" {
			entry = from + int64(s.Value)
		}
	}
	const room = 64 // at the end, where nothing is
	if entry == 0 || len(bytes.Trim(image[len(image)-room:], "\x00")) != 0 {
		fail(fmt.Errorf("the vDSO is not as it was known: %d bytes, entry at %x", len(image), entry-from))
	}
	code := to - room
	c := &wallClock{t: t, pid: pid, mem: mem, cell: code + int64(len(askAndAdd))}
	c.write(code, askAndAdd)
	jump := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(int32(code-entry-5)))
	for end := time.Now().Add(5 * time.Second); ; {
		resume := c.freeze()
		free := c.nobodyIn(entry, entry+int64(len(jump)))
		if free {
			c.write(entry, jump)
		}
		resume()
		if free {
			return c
		}
		if time.Now().After(end) {
			t.Fatal("a thread stays where the code is to be changed")
		}
	}
}

// set lets the wall clock of the process be ahead of the machine's.
func (c *wallClock) set(ahead time.Duration) {
	c.t.Helper()
	defer c.freeze()()
	c.write(c.cell, binary.LittleEndian.AppendUint64(nil, uint64(int64(ahead/time.Second))))
}

func (c *wallClock) write(at int64, b []byte) {
	c.t.Helper()
	if _, err := c.mem.WriteAt(b, at); err != nil {
		c.t.Fatalf("write to the memory of a process: %v", err)
	}
}

// freeze stops every thread for a moment.
func (c *wallClock) freeze() (resume func()) {
	c.t.Helper()
	if err := syscall.Kill(c.pid, syscall.SIGSTOP); err != nil {
		c.t.Fatal(err)
	}
	stopped := func() bool {
		for _, b := range c.threads("stat") {
			if rest := string(b); !strings.HasPrefix(rest[strings.LastIndexByte(rest, ')')+1:], " T") {
				return false
			}
		}
		return true
	}
	for end := time.Now().Add(5 * time.Second); !stopped(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			c.t.Fatal("a process does not stop")
		}
	}
	return func() { _ = syscall.Kill(c.pid, syscall.SIGCONT) }
}

// nobodyIn reports whether no stopped thread is within some code.
func (c *wallClock) nobodyIn(from, to int64) bool {
	for _, b := range c.threads("syscall") {
		fields := strings.Fields(string(b))
		var at int64
		if _, err := fmt.Sscanf(fields[len(fields)-1], "0x%x", &at); err != nil || from < at && at < to {
			return false
		}
	}
	return true
}

// threads reads a file of each thread that there is.
func (c *wallClock) threads(file string) (all [][]byte) {
	c.t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", c.pid, file))
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil && len(b) > 0 { // or it has ended
			all = append(all, b)
		}
	}
	if err != nil || len(all) == 0 {
		c.t.Fatalf("look at the threads of a process: %d, %v", len(all), err)
	}
	return all
}
