package testkit

import (
	"context"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/persistence"
)

// boot starts a node on what the kit's store and files have.
func (k *Kit) boot(cold bool) {
	k.T.Helper()
	d := &disk{}
	k.mu.Lock()
	k.disk, k.states, k.changed = d, map[string]api.WorkerInfo{}, make(chan struct{})
	k.mu.Unlock()
	cfg := actors.Config{
		Engine: k.Engine, Store: diskStore{k.Store, d}, Files: diskFiles{k.Files, d}, Seal: k.seal,
		Workers: k.options.Specs, OnChange: func(w api.WorkerInfo) { k.workerChanged(d, w) }, Log: zerolog.Nop(),
	}
	cfg.Workers = cfg.Workers[:len(cfg.Workers):len(cfg.Workers)]
	for i := range k.options.Workers {
		n := strconv.Itoa(i + 1)
		cfg.Workers = append(cfg.Workers, api.WorkerSpec{ID: "w" + n, Name: "worker-" + n})
	}
	if k.options.Config != nil {
		k.options.Config(&cfg)
	}
	node, err := actors.Start(cfg)
	if err != nil {
		k.T.Fatalf("start the node: %v", err)
	}
	k.Node = node
	if !cold {
		for _, w := range cfg.Workers {
			k.until(w.ID, "come up", func(s api.State) bool { return s != api.Offline }) // a task of the queue may have it already
		}
	}
}

// Crash ends the node as the death of its process does: nothing gets into the store or
// the files any more. Waiting requests get an answer that no client would get. Boot
// starts the next node.
func (k *Kit) Crash() {
	k.T.Helper()
	k.mu.Lock()
	d := k.disk
	k.mu.Unlock()
	d.gone.Store(true)
	k.Node.Stop()
}

// Boot starts a new node, with the same workers, on what the last one left, and
// waits until every worker has a browser. BootCold does not wait.
func (k *Kit) Boot() {
	k.T.Helper()
	k.boot(false)
}

// BootCold is part of [Kit.Boot].
func (k *Kit) BootCold() {
	k.T.Helper()
	k.boot(true)
}

// Restart ends the node in order, with its running tasks interrupted, and starts
// a new one.
func (k *Kit) Restart() {
	k.T.Helper()
	k.Node.Stop()
	k.boot(false)
}

// disk is what one node has of the store and the files: after the node's death
// nothing.
type disk struct{ gone atomic.Bool }

func (d *disk) err() error {
	if d.gone.Load() {
		return persistence.ErrClosed
	}
	return nil
}

type diskStore struct {
	persistence.Store
	disk *disk
}

func (s diskStore) Get(ctx context.Context, key string) (persistence.Record, error) {
	if err := s.disk.err(); err != nil {
		return persistence.Record{}, err
	}
	return s.Store.Get(ctx, key)
}

func (s diskStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if err := s.disk.err(); err != nil {
		return 0, err
	}
	return s.Store.Put(ctx, w)
}

func (s diskStore) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	if err := s.disk.err(); err != nil {
		return err
	}
	return s.Store.Delete(ctx, key, revision, durable)
}

func (s diskStore) List(ctx context.Context, prefix string) ([]persistence.Record, error) {
	if err := s.disk.err(); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, prefix)
}

func (s diskStore) Keys(ctx context.Context, prefix, after string, most int) ([]persistence.KeySize, error) {
	if err := s.disk.err(); err != nil {
		return nil, err
	}
	return s.Store.Keys(ctx, prefix, after, most)
}

func (s diskStore) Add(ctx context.Context, key string, delta, limit int64, expires time.Time) (int64, bool, error) {
	if err := s.disk.err(); err != nil {
		return 0, false, err
	}
	return s.Store.Add(ctx, key, delta, limit, expires)
}

type diskFiles struct {
	persistence.Files
	disk *disk
}

func (f diskFiles) Put(ctx context.Context, b persistence.Blob, r io.Reader) (persistence.Blob, error) {
	if err := f.disk.err(); err != nil {
		return persistence.Blob{}, err
	}
	return f.Files.Put(ctx, b, r)
}

func (f diskFiles) Delete(ctx context.Context, id string) error {
	if err := f.disk.err(); err != nil {
		return err
	}
	return f.Files.Delete(ctx, id)
}
