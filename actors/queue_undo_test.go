package actors_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// halfStore writes records of the queue and says that it has not, and removes none.
type halfStore struct {
	persistence.Store
	half atomic.Bool
}

func (s *halfStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	revision, err := s.Store.Put(ctx, w)
	if s.half.Load() && strings.HasPrefix(w.Key, "queued/") {
		return 0, persistence.ErrFull
	}
	return revision, err
}

func (s *halfStore) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	if s.half.Load() && strings.HasPrefix(key, "queued/") {
		return persistence.ErrFull
	}
	return s.Store.Delete(ctx, key, revision, durable)
}

// TestNoTaskWithoutItsFiles: a task that could not be queued, and whose record could not be
// removed either, has its files when its turn comes, also after a restart.
func TestNoTaskWithoutItsFiles(t *testing.T) {
	for name, restart := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			store, dir := &halfStore{Store: persistence.NewMemory()}, t.TempDir()
			var read atomic.Int32
			o := testkit.Options{Workers: 1, Store: store, Engine: each(func(c testkit.Call) testkit.Script {
				for _, f := range c.Task.Files {
					if b, err := os.ReadFile(f.Path); err == nil && string(b) == "text" {
						read.Add(1)
					}
				}
				return testkit.Script{Takes: time.Second}
			})}
			o.Config = func(c *actors.Config) { c.QueuedUploads = filepath.Join(dir, "queued") }
			testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
				k.Node.HoldQueue(true)
				path := filepath.Join(dir, "a.txt")
				if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
					t.Fatal(err)
				}
				task := queued(t, `true`)
				task.Files = []engine.Upload{{Name: "a.txt", Path: path}}
				store.half.Store(true)
				x := k.SendAsync(&api.Execute{Account: anna, Task: task}, testkit.Script{})
				if x.Refusal == nil {
					t.Fatal("a task is queued that is not on the disk")
				}
				store.half.Store(false)
				if n := k.Node.Status().Queued; n != 1 {
					t.Errorf("%d tasks are known to wait, and the record of one is there", n)
				}
				if restart {
					k.Restart()
				}
				k.Node.HoldQueue(false)
				time.Sleep(time.Minute)
				if plays := len(k.Engine.Plays()); plays != 1 || read.Load() != 1 {
					t.Errorf("%d tasks were played, %d with their file", plays, read.Load())
				}
			})
		})
	}
}
