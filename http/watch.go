package http

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"troupe/engine"
)

// watchEvery is how often waiting connections are looked at, and so the time
// within which a vanished client's task is cancelled.
const watchEvery = 100 * time.Millisecond

// watcher finds out which clients went away while their tasks run. One
// goroutine looks at all waiting connections at once, with one system call and
// without reading from them: a request that the client has already sent after
// this one is neither lost nor taken for a farewell. The goroutine ends when
// nothing is left to look at.
//
// A client that closes only its sending side counts as gone: the network does
// not tell the two apart.
type watcher struct {
	every time.Duration

	mu      sync.Mutex
	watched map[*watched]struct{}
	running bool
}

// watched is a connection on which somebody waits. Its descriptor is valid as
// long as it is in the watcher's set: the request's handler takes it out before
// it returns, and looking happens under the lock.
type watched struct {
	fd     int
	cancel context.CancelCauseFunc
}

func newWatcher(every time.Duration) *watcher {
	return &watcher{every: every, watched: map[*watched]struct{}{}}
}

// while returns a context that ends with [engine.ErrClientGone] when the client
// of c goes away. The caller must call stop in the end.
func (w *watcher) while(parent context.Context, c net.Conn) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	fd, ok := descriptor(c)
	if !ok {
		return ctx, func() { cancel(context.Canceled) }
	}
	one := &watched{fd: fd, cancel: cancel}
	w.mu.Lock()
	w.watched[one] = struct{}{}
	if !w.running {
		w.running = true
		go w.run()
	}
	w.mu.Unlock()
	return ctx, func() {
		w.mu.Lock()
		delete(w.watched, one)
		w.mu.Unlock()
		cancel(context.Canceled)
	}
}

func (w *watcher) run() {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for range tick.C {
		if !w.look() {
			return
		}
	}
}

// look cancels the requests of clients that are gone. It reports whether
// anything is left to look at.
func (w *watcher) look() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.watched) == 0 {
		w.running = false
		return false
	}
	all := make([]*watched, 0, len(w.watched))
	for one := range w.watched {
		all = append(all, one)
	}
	for _, one := range gone(all) {
		delete(w.watched, one)
		one.cancel(engine.ErrClientGone)
	}
	return true
}

// descriptor finds the socket under a connection.
func descriptor(c net.Conn) (int, bool) {
	if own := connOf(c); own != nil {
		c = own.Conn
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return 0, false
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return 0, false
	}
	found := -1
	if err := rc.Control(func(fd uintptr) { found = int(fd) }); err != nil {
		return 0, false
	}
	return found, found >= 0
}
