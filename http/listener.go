package http

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine/scarce"
	"troupe/http/access"
)

// connections knows every open connection: to turn away what is over the
// limits, to end politely, and to stop without waiting for clients that never
// send anything.
type connections struct {
	max, perIP int
	trusted    func(netip.Addr) bool // proxies, which bring many clients

	mu     sync.Mutex
	closed bool
	doors  []*listener
	open   map[*conn]struct{}
	byIP   map[netip.Prefix]int
}

func newConnections(max, perIP int, trusted func(netip.Addr) bool) *connections {
	return &connections{max: max, perIP: perIP, trusted: trusted, open: map[*conn]struct{}{}, byIP: map[netip.Prefix]int{}}
}

// conn is one connection of a client.
type conn struct {
	net.Conn
	all *connections
	ip  netip.Prefix
	// serving: a request is being answered on it.
	serving atomic.Bool
	// linger: the client may still be sending. What is closed with unread
	// bytes is reset, and a reset can overtake the answer.
	linger atomic.Bool
}

// connOf finds our connection under what fasthttp and TLS put around it, or nil.
func connOf(c net.Conn) *conn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	own, _ := c.(*conn)
	return own
}

// listen returns ln with its connections known. After closeAll it is closed: a
// server that was stopped before it could listen stays stopped.
func (s *connections) listen(ln net.Listener) net.Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &listener{Listener: scarce.Listener{Listener: ln, Doing: "accept a client"}, all: s}
	s.doors = append(s.doors, own)
	if s.closed {
		_ = own.Close()
	}
	return own
}

type listener struct {
	net.Listener
	all  *connections
	once sync.Once
}

// Close closes the listener. It is closed by us and once more by fasthttp.
func (l *listener) Close() (err error) {
	l.once.Do(func() { err = l.Listener.Close() })
	return err
}

// Accept waits for a connection within the limits. One over them is closed at
// once: nothing is read from it, so that turning it away costs nothing. An
// error that passes, such as no descriptor being free, does not end the service.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if own := l.all.add(c); own != nil {
			return own, nil
		}
		_ = c.Close()
	}
}

func (s *connections) add(c net.Conn) *conn {
	from := access.AddrOf(c)
	own := &conn{Conn: c, all: s, ip: access.Network(from)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.open) >= s.max || s.perIP > 0 && own.ip.IsValid() && s.byIP[own.ip] >= s.perIP && !s.trusted(from) {
		return nil
	}
	s.open[own] = struct{}{}
	s.byIP[own.ip]++
	return own
}

func (s *connections) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[c]; !ok {
		return
	}
	delete(s.open, c)
	if s.byIP[c.ip]--; s.byIP[c.ip] <= 0 {
		delete(s.byIP, c.ip)
	}
}

// changed gets the states of connections from fasthttp. Idle comes after
// the answer was written out, and so does hijacked: a socket is no request that
// has to be waited for.
func (s *connections) changed(c net.Conn, state fasthttp.ConnState) {
	if own := connOf(c); own != nil && (state == fasthttp.StateIdle || state == fasthttp.StateHijacked) {
		own.serving.Store(false)
	}
}

// quiet waits until no request is being answered.
func (s *connections) quiet(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for s.serving() > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

func (s *connections) serving() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		if c.serving.Load() {
			n++
		}
	}
	return n
}

// closeAll closes the listeners and every connection, whatever it is doing.
func (s *connections) closeAll() {
	s.mu.Lock()
	s.closed = true
	for _, ln := range s.doors {
		_ = ln.Close()
	}
	all := make([]*conn, 0, len(s.open))
	for c := range s.open {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		_ = c.Conn.Close()
	}
}

// Bounds of a polite end.
const (
	lingerTime  = time.Second
	lingerBytes = 64 << 20
)

// Close ends the connection. If the client may still be sending, Close first closes its
// own direction, and discards for a moment what the client sends. The connection counts as
// long as that takes.
func (c *conn) Close() error {
	defer c.all.remove(c)
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.linger.CompareAndSwap(true, false) {
		if w.CloseWrite() == nil && c.Conn.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}
	return c.Conn.Close()
}
