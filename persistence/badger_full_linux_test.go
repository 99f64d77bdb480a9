package persistence_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"troupe/persistence"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// fullWriterEnv makes the test binary a process that writes, whatever its disk
// does, until its input ends; then it closes the store.
const fullWriterEnv = "TROUPE_TEST_FULL_WRITER"

func init() {
	if dir := os.Getenv(fullWriterEnv); dir != "" {
		if err := writeOnFullDisk(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// writeOnFullDisk says what was acknowledged and when writes begin to be refused
// and to be taken.
func writeOnFullDisk(dir string) error {
	b, err := persistence.OpenBadger(dir, persistence.Options{SyncEvery: 20 * time.Millisecond})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	kept, err := b.List(context.Background(), "")
	if err != nil {
		return err
	}
	for _, r := range kept {
		fmt.Printf("has %s %x\n", r.Key, r.Value[:8])
	}
	fmt.Println("open")
	clear := sync.OnceFunc(func() { // else what earlier ones have left would fill the disk
		for _, r := range kept {
			fmt.Printf("del %s\n", r.Key)
			_ = b.Delete(context.Background(), r.Key, nil, false)
		}
	})
	var ending atomic.Bool
	go func() { io.Copy(io.Discard, os.Stdin); ending.Store(true) }()
	var writers sync.WaitGroup
	failed := make(chan error, 4)
	var refused atomic.Bool
	for g := range 4 {
		writers.Go(func() {
			value := make([]byte, 60<<10)
			for i := 0; !ending.Load(); i++ {
				rand.Read(value)
				key := fmt.Sprintf("%d/%d/%d", os.Getpid(), g, i)
				_, err := b.Put(context.Background(), persistence.Write{Key: key, Value: value, Durable: i%8 == 0})
				switch {
				case err == nil:
					fmt.Printf("put %s %x\n", key, value[:8])
					if refused.Swap(false) {
						fmt.Println("taken")
					}
					clear()
				case errors.Is(err, persistence.ErrFull):
					if !refused.Swap(true) {
						fmt.Println("refused")
					}
					time.Sleep(time.Millisecond)
				default:
					failed <- err
					return
				}
				if i >= 40 { // else it would fill the disk by itself
					fmt.Printf("del %d/%d/%d\n", os.Getpid(), g, i-40) // before: it may be killed after it
					if err := b.Delete(context.Background(), fmt.Sprintf("%d/%d/%d", os.Getpid(), g, i-40), nil, false); err != nil && !errors.Is(err, persistence.ErrFull) {
						failed <- err
						return
					}
				}
			}
		})
	}
	writers.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return b.Close()
	}
}

// disks are small ones of their own, which a test can fill.
var disks = map[string]func(t *testing.T, dir string) error{
	"tmpfs": func(t *testing.T, dir string) error { return syscall.Mount("none", dir, "tmpfs", 0, "size=100m") },
	"ext4": func(t *testing.T, dir string) error {
		image := filepath.Join(t.TempDir(), "image")
		for _, c := range [][]string{{"truncate", "-s", "200M", image}, {"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}} {
			if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", c[0], err, out)
			}
		}
		return nil
	},
}

// TestFullDiskEndsNothing fills the disk to the last byte again and again under a
// process that writes, stops it there, and opens the store while the disk is
// still full: nothing dies, and all that was acknowledged is there.
func TestFullDiskEndsNothing(t *testing.T) {
	need.All(t)
	for name, mount := range disks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "disk")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := mount(t, dir); err != nil {
				t.Skipf("no disk of its own can be made here: %v", err)
			}
			t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
			store := filepath.Join(dir, "data", "store")
			w := startWriter(t, store, nil)
			for round := range 3 {
				w.until(t, "more is acknowledged", func(w *writer) bool { return w.puts >= 200*(round+1) })
				fill(t, dir)
				w.until(t, "writes are refused", func(w *writer) bool { return w.refused })
				fill(t, dir)
				empty(t, dir)
				w.until(t, "writes are taken again", func(w *writer) bool { return !w.refused })
			}
			fill(t, dir)
			w.until(t, "writes are refused", func(w *writer) bool { return w.refused })
			fill(t, dir)
			w.end(t)

			again := startWriter(t, store, w.acked)
			again.until(t, "writes are refused", func(w *writer) bool { return w.refused })
			again.check(t, w.acked, "on the full disk")
			again.end(t) // a few of its writes may have been taken before, and then it deletes what there was
			empty(t, dir)
			b := openBadger(t, store)
			for key, value := range again.acked {
				if r, err := b.Get(ctx, key); err != nil || fmt.Sprintf("%x", r.Value[:8]) != value {
					t.Errorf("%s: %v", key, err)
				}
			}
			if err := b.Close(); err != nil { // before its disk goes
				t.Error(err)
			}
		})
	}
}

// fill takes what is left of a disk, in as many steps as there is any.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.CreateTemp(dir, "filler-")
	if err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			return
		}
		t.Fatal(err)
	}
	defer f.Close()
	for _, step := range []int{1 << 20, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, step))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

func empty(t *testing.T, dir string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "filler-*"))
	for _, name := range all {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writer is the process that writes.
type writer struct {
	cmd  *exec.Cmd
	in   io.Closer
	done chan error
	errs *strings.Builder

	mu         sync.Mutex
	puts       int
	open       bool
	refused    bool // the last that was said
	acked, has map[string]string
}

// startWriter starts the process. Acked is what an earlier one has acknowledged.
func startWriter(t *testing.T, store string, acked map[string]string) *writer {
	t.Helper()
	w := &writer{cmd: exec.Command(os.Args[0]), done: make(chan error, 1), errs: &strings.Builder{}, acked: map[string]string{}, has: map[string]string{}}
	maps.Copy(w.acked, acked)
	w.cmd.Env = append(os.Environ(), fullWriterEnv+"="+store)
	w.cmd.Stderr = w.errs
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		w.in, err = w.cmd.StdinPipe()
	}
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.cmd.Process.Kill() })
	go func() {
		for in := bufio.NewScanner(out); in.Scan(); {
			w.hear(strings.Fields(in.Text()))
		}
		w.done <- w.cmd.Wait()
	}()
	return w
}

func (w *writer) hear(said []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(said) == 3 && said[0] == "put":
		w.puts++
		w.acked[said[1]] = said[2]
	case len(said) == 3 && said[0] == "has":
		w.has[said[1]] = said[2]
	case len(said) == 2 && said[0] == "del":
		delete(w.acked, said[1])
	case said[0] == "open":
		w.open = true
	case said[0] == "refused", said[0] == "taken":
		w.refused = said[0] == "refused"
	}
}

// until waits for something that the process has said.
func (w *writer) until(t *testing.T, what string, so func(*writer) bool) {
	t.Helper()
	wait.Until(t, what, func() bool {
		select {
		case err := <-w.done:
			t.Fatalf("the writer ended: %v\n%.2000s", err, w.errs)
		default:
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		return so(w)
	})
}

func (w *writer) end(t *testing.T) {
	t.Helper()
	w.in.Close()
	select {
	case err := <-w.done:
		if err != nil {
			t.Fatalf("the stop: %v\n%.2000s", err, w.errs)
		}
	case <-time.After(wait.Hang):
		t.Fatal("the stop takes for ever")
	}
}
