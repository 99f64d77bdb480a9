package persistence

import (
	"bytes"
	"context"
	"strings"
	"sync"
)

// A watcher may be so many events behind, and so many bytes of them. A single event
// may be larger.
const (
	watchBuffer = 1024
	watchBytes  = 8 << 20
)

// Hub hands events to watchers, for every store. It never waits for one: a
// watcher that is too far behind is closed. The zero value is ready.
type Hub struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
	closed   bool
}

type watcher struct {
	prefix string
	events chan Event
	sizes  []int       // of the events in the channel, and of some that have been taken out
	bytes  int         // the sum of sizes
	forget func() bool // ends waiting for the watcher's context
}

// send sends an event to the watcher, unless it is too far behind.
func (w *watcher) send(e Event) bool {
	for len(w.sizes) > len(w.events) { // the first ones have been taken out
		w.bytes -= w.sizes[0]
		w.sizes = w.sizes[1:]
	}
	size := len(e.Key) + len(e.Value)
	if len(w.sizes) == watchBuffer || w.bytes > 0 && w.bytes+size > watchBytes {
		return false
	}
	e.Value = bytes.Clone(e.Value)
	w.sizes, w.bytes = append(w.sizes, size), w.bytes+size
	w.events <- e // has room: nobody else puts anything in
	return true
}

// Watch sends the events that are published from now on, until ctx ends.
func (h *Hub) Watch(ctx context.Context, prefix string) (<-chan Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	w := &watcher{prefix: prefix, events: make(chan Event, watchBuffer)}
	if h.watchers == nil {
		h.watchers = map[*watcher]struct{}{}
	}
	h.watchers[w] = struct{}{}
	w.forget = context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.drop(w)
	})
	return w.events, nil
}

// Publish hands out events in their order. Events reach a watcher in the order
// of the calls, so only one goroutine at a time may call it.
func (h *Hub) Publish(events []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		for _, e := range events {
			if !strings.HasPrefix(e.Key, w.prefix) {
				continue
			}
			if !w.send(e) {
				h.drop(w)
				break
			}
		}
	}
}

// drop ends a watcher. The caller holds the lock.
func (h *Hub) drop(w *watcher) {
	if _, there := h.watchers[w]; there {
		delete(h.watchers, w)
		w.forget()
		close(w.events)
	}
}

// CloseAll ends every watcher, because events cannot be delivered.
func (h *Hub) CloseAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		h.drop(w)
	}
}

// Close ends every watcher, and all later ones.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.CloseAll()
}
