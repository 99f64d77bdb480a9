package http

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"troupe/engine"
)

// disconnectInterval is how often waiting connections are checked, and so the
// time within which the task of a disconnected client is cancelled.
const disconnectInterval = 100 * time.Millisecond

// disconnectDetector detects which clients disconnect while their tasks run. One
// goroutine checks all waiting connections at once, with one system call and
// without reading from them, so that a request which the client has already sent
// after this one is not lost. The goroutine ends when no connection waits.
//
// A client that closes only its sending side counts as gone: the network does
// not tell the two apart.
type disconnectDetector struct {
	every time.Duration

	mu      sync.Mutex
	waiting map[*waitingConn]struct{}
	running bool
}

// waitingConn is a connection whose client waits for an answer. Its descriptor is
// valid as long as it is in the detector's set: the request's handler removes it
// before it returns, and poll holds the lock.
type waitingConn struct {
	fd     int
	cancel context.CancelCauseFunc
}

func newDisconnectDetector(every time.Duration) *disconnectDetector {
	return &disconnectDetector{every: every, waiting: map[*waitingConn]struct{}{}}
}

// track returns a context that ends with [engine.ErrClientGone] when the client
// of c disconnects. The caller must call stop in the end.
func (d *disconnectDetector) track(parent context.Context, c net.Conn) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	if own, ok := c.(*innerConn); ok {
		forget := context.AfterFunc(own.ctx, func() { cancel(engine.ErrClientGone) })
		return ctx, func() { forget(); cancel(context.Canceled) }
	}
	fd, ok := descriptor(c)
	if !ok {
		return ctx, func() { cancel(context.Canceled) }
	}
	one := &waitingConn{fd: fd, cancel: cancel}
	d.mu.Lock()
	d.waiting[one] = struct{}{}
	if !d.running {
		d.running = true
		go d.run()
	}
	d.mu.Unlock()
	return ctx, func() {
		d.mu.Lock()
		delete(d.waiting, one)
		d.mu.Unlock()
		cancel(context.Canceled)
	}
}

func (d *disconnectDetector) run() {
	tick := time.NewTicker(d.every)
	defer tick.Stop()
	for range tick.C {
		if !d.poll() {
			return
		}
	}
}

// poll cancels the requests of disconnected clients. It reports whether any
// connection still waits.
func (d *disconnectDetector) poll() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 {
		d.running = false
		return false
	}
	all := make([]*waitingConn, 0, len(d.waiting))
	for one := range d.waiting {
		all = append(all, one)
	}
	for _, one := range disconnected(all) {
		delete(d.waiting, one)
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
