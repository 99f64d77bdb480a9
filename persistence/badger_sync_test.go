package persistence

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"troupe/testkit/wait"
)

// A durable write is answered after a sync, another one before, and Sync
// catches up. (What the disk then really has, no test here can see.)
func TestSyncedBeforeAcknowledged(t *testing.T) {
	ctx := context.Background()
	b, err := OpenBadger(filepath.Join(t.TempDir(), "db"), Options{SyncEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, step := range []struct {
		name  string
		do    func() error
		dirty bool
	}{
		{"a plain write", func() error { _, err := b.Put(ctx, Write{Key: "k"}); return err }, true},
		{"a durable write", func() error { _, err := b.Put(ctx, Write{Key: "k", Durable: true}); return err }, false},
		{"a counter", func() error { _, _, err := b.Add(ctx, "n", 1, 0, time.Time{}); return err }, true},
		{"Sync", func() error { return b.Sync(ctx) }, false},
		{"a plain deletion", func() error { return b.Delete(ctx, "n", nil, false) }, true},
		{"a durable deletion", func() error { return b.Delete(ctx, "k", nil, true) }, false},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if b.dirty.Load() != step.dirty {
			t.Errorf("after %s unsynced is %v, want %v", step.name, b.dirty.Load(), step.dirty)
		}
	}
}

// What is not durable is synced soon after.
func TestSyncedSoon(t *testing.T) {
	b, err := OpenBadger(filepath.Join(t.TempDir(), "db"), Options{SyncEvery: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Put(context.Background(), Write{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "it is synced", func() bool { return !b.dirty.Load() })
}

// A record that is written often does not fill the schedule.
func TestScheduleHoldsOneDeadline(t *testing.T) {
	var s schedule
	now := time.Now()
	for i := range 1000 {
		s.add(deadline{at: stamp(now.Add(time.Duration(i) * time.Second)), key: "session"})
	}
	if len(s.heap) != 1 {
		t.Fatalf("%d deadlines for one key", len(s.heap))
	}
	s.add(deadline{at: stamp(now.Add(-time.Hour)), key: "session"})
	if got := s.take(now, 10); len(got) != 1 || got[0].key != "session" {
		t.Fatalf("an earlier deadline was not taken: %v", got)
	}
	if s.add(deadline{at: stamp(now.Add(time.Hour)), key: "session"}); s.first["session"] != stamp(now.Add(time.Hour)) {
		t.Fatal("a later deadline does not count after the first was taken")
	}
}

// What a disk does not take is told apart from what a folder does not.
func TestUnwritten(t *testing.T) {
	for path, want := range map[string]error{
		"/dev/full":                        ErrFull,
		filepath.Join(t.TempDir(), "a/b"):  ErrUnwritable,
		filepath.Join(t.TempDir(), "file"): nil,
	} {
		err := os.WriteFile(path, []byte{0}, 0o600)
		if path == "/dev/full" && errors.Is(err, os.ErrNotExist) {
			continue // there is none here
		}
		if err := Unwritten(err); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}
