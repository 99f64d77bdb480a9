package persistence_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/persistence"
)

// starvedWriterEnv makes the test binary a process that writes while it has no descriptors.
const starvedWriterEnv = "TROUPE_TEST_STARVED_WRITER"

func init() {
	if dir := os.Getenv(starvedWriterEnv); dir != "" {
		if err := writeWithoutDescriptors(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// writeWithoutDescriptors writes until it must be refused, reads meanwhile, and goes on when
// there are descriptors again, several times. It says what was acknowledged.
func writeWithoutDescriptors(dir string) error {
	b, err := persistence.OpenBadger(dir, persistence.Options{SyncEvery: 700 * time.Millisecond})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	ctx, n, last := context.Background(), 0, ""
	put := func() error {
		value := make([]byte, 60<<10)
		rand.Read(value)
		key := fmt.Sprintf("task/%d", n)
		_, err := b.Put(ctx, persistence.Write{Key: key, Value: value})
		if err == nil {
			fmt.Printf("put %s %x\n", key, value[:8])
			n, last = n+1, key
		}
		return err
	}
	for round := range 4 {
		for range 50 {
			if err := put(); err != nil {
				return fmt.Errorf("put with descriptors: %w", err)
			}
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 200, Max: 4096}); err != nil {
			return err
		}
		var taken []io.Closer
		starve := func() {
			for {
				f, err := os.Open(os.DevNull)
				if err != nil {
					return
				}
				taken = append(taken, f)
			}
		}
		refused := 0
		for until := time.Now().Add(10 * time.Second); refused < 20; {
			starve() // what the store has closed, something else takes
			err := put()
			switch {
			case err == nil:
			case errors.Is(err, persistence.ErrUnwritable):
				refused++
				time.Sleep(10 * time.Millisecond)
			default:
				return fmt.Errorf("put without descriptors: %w", err)
			}
			if _, err := b.Get(ctx, last); err != nil {
				return fmt.Errorf("read without descriptors: %w", err)
			}
			if time.Now().After(until) {
				return fmt.Errorf("round %d: no write was refused, of %d", round, n)
			}
		}
		for _, f := range taken {
			f.Close()
		}
		for until := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if err := put(); err == nil {
				break
			} else if time.Now().After(until) {
				return fmt.Errorf("put with descriptors again: %w", err)
			}
		}
	}
	return b.Close()
}

// TestStoreWithoutDescriptors: a process whose descriptors are used up refuses writes, reads
// what it has, goes on by itself, and has lost nothing.
//
// Promise: A process without descriptors loses no record, and writes again when it has some (docs/reliability.md#other-faults).
func TestStoreWithoutDescriptors(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), starvedWriterEnv+"="+dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %.3000s", err, said.String())
	}
	b := openBadger(t, dir)
	n := 0
	for line := range strings.Lines(string(out)) {
		var key, value string
		if _, err := fmt.Sscanf(line, "put %s %s", &key, &value); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		n++
		if r, err := b.Get(ctx, key); err != nil || fmt.Sprintf("%x", r.Value[:8]) != value {
			t.Errorf("%s: %v", key, err)
		}
	}
	if n < 200 {
		t.Errorf("only %d records were acknowledged", n)
	}
	t.Logf("%d records", n)
}
