package persistence

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"
)

// memoryFiles keeps blobs as long as the process.
type memoryFiles struct {
	mu    sync.Mutex
	blobs map[string]memoryBlob
}

type memoryBlob struct {
	about Blob
	bytes []byte
}

// NewMemoryFiles returns [Files] that end with the process, for tests and for a
// service that keeps nothing.
func NewMemoryFiles() Files { return &memoryFiles{blobs: map[string]memoryBlob{}} }

func (m *memoryFiles) Put(ctx context.Context, b Blob, r io.Reader) (Blob, error) {
	all, err := io.ReadAll(contextReader{ctx, r})
	if err != nil {
		return Blob{}, fmt.Errorf("keep a file: %w", err)
	}
	b.ID, b.Size, b.Created = NewFileID(b.ContentType), int64(len(all)), time.Now().UTC()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blobs[b.ID] = memoryBlob{b, all}
	return b, nil
}

func (m *memoryFiles) Open(ctx context.Context, id string) (Blob, io.ReadSeekCloser, error) {
	if ctx.Err() != nil {
		return Blob{}, nil, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blobs[id]
	if !ok || expired(stamp(b.about.Expires), time.Now()) {
		return Blob{}, nil, ErrNotFound
	}
	return b.about, readCloser{bytes.NewReader(b.bytes)}, nil
}

// All implements [Lister].
func (m *memoryFiles) All(ctx context.Context) iter.Seq2[Blob, error] {
	return func(yield func(Blob, error) bool) {
		m.mu.Lock()
		var all []Blob
		for _, b := range m.blobs {
			all = append(all, b.about)
		}
		m.mu.Unlock()
		for _, b := range all {
			if !yield(b, nil) {
				return
			}
		}
	}
}

// readCloser reads bytes that need no closing.
type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

func (m *memoryFiles) Delete(ctx context.Context, id string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blobs, id)
	return nil
}

func (m *memoryFiles) Sweep(ctx context.Context, now time.Time) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for id, b := range m.blobs {
		if expired(stamp(b.about.Expires), now) {
			delete(m.blobs, id)
			n++
		}
	}
	return n, nil
}
