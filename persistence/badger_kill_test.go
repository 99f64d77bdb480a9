package persistence_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"troupe/persistence"
	"troupe/testkit/need"
)

// writerEnv makes the test binary a process that writes until it is killed.
const writerEnv = "TROUPE_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(dir))
		os.Exit(1)
	}
	need.Cases(25, 50) // each with a store on a disk
	os.Exit(m.Run())
}

// writeUntilKilled says on its output what was acknowledged, after it was.
func writeUntilKilled(dir string) error {
	b, err := persistence.OpenBadger(dir, persistence.Options{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	for g := range 8 {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d/%d", g, i)
				rev, err := b.Put(ctx, persistence.Write{Key: key, Value: fmt.Appendf(nil, "%0300d", i), Durable: g == 0})
				if err != nil {
					cancel(err)
					return
				}
				total, _, err := b.Add(ctx, "n", 1, 0, time.Now().Add(time.Hour))
				if err != nil {
					cancel(err)
					return
				}
				fmt.Printf("%s %d %d\n", key, rev, total) // one write each
			}
		}()
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// acknowledged is what a killed process had said.
type acknowledged struct {
	keys     map[string]uint64
	revision uint64
	total    int64
}

func runAndKill(t *testing.T, dir string, lines int) acknowledged {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() { cmd.Process.Kill() })
	defer stop()
	a := acknowledged{keys: map[string]uint64{}}
	for in := bufio.NewScanner(out); in.Scan(); {
		var key string
		var rev uint64
		var total int64
		if n, _ := fmt.Sscan(in.Text(), &key, &rev, &total); n != 3 {
			break // the last line may be cut off
		}
		a.keys[key], a.revision, a.total = rev, max(a.revision, rev), max(a.total, total)
		if len(a.keys) == lines {
			stop() // what else it said until then is read too
		}
	}
	stop() // a line that cannot be read is no reason to wait for it
	if err := cmd.Wait(); err == nil || len(a.keys) < lines {
		t.Fatalf("the writer ended by itself after %d lines: %v", len(a.keys), err)
	}
	return a
}

func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	dir := folder(t)
	var before acknowledged
	for round := range 3 {
		a := runAndKill(t, dir, 800*(round+1))
		b := openBadger(t, dir)
		for key, rev := range a.keys {
			if r, err := b.Get(ctx, key); err != nil || r.Revision < rev {
				t.Fatalf("%s was acknowledged with revision %d; now %d, %v", key, rev, r.Revision, err)
			}
			if rev <= before.revision {
				t.Fatalf("revision %d was given after %d", rev, before.revision)
			}
		}
		n, _, err := b.Add(ctx, "n", 0, 0, time.Time{})
		if err != nil || n < a.total || n < before.total+int64(len(a.keys)) {
			t.Fatalf("the counter is at %d, %v; acknowledged were %d", n, err, a.total)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		before = a
	}
}
