package persistence

import (
	"bytes"
	"context"
	"fmt"
	"io"
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
