package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// linger is how long one side of a tunnel may go on when the other has ended.
const linger = 15 * time.Second

// entrance is a place where browsers come in. It knows its connections, also
// those that became tunnels, and counts their bytes.
type entrance struct {
	net.Listener
	admitted func(net.Conn) bool
	exits    *exits
	in, out  atomic.Int64 // to the browser, from the browser
	most     atomic.Int64 // of both together; zero: no bound

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil: it is closed
	pool  *pool                 // the connections to servers
	shut  bool                  // the quota is used up
	spent func()
}

func (e *entrance) Accept() (net.Conn, error) {
	for {
		c, err := e.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if !e.admitted(c) {
			c.Close()
			continue
		}
		i, err := e.adopt(&inside{Conn: c, entrance: e})
		if err != errSpent {
			return i, err
		}
	}
}

// adopt takes a connection in, or closes it.
func (e *entrance) adopt(c net.Conn) (net.Conn, error) {
	e.mu.Lock()
	why := error(nil)
	switch {
	case e.conns == nil:
		why = net.ErrClosed
	case e.shut:
		why = errSpent
	default:
		e.conns[c] = struct{}{}
		if i, ok := c.(*inside); ok {
			i.pool = e.pool
		}
	}
	e.mu.Unlock()
	if why != nil {
		c.Close()
		return nil, why
	}
	return c, nil
}

func (e *entrance) leave(c net.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.conns, c)
}

// connections are those to servers, of the task that runs.
func (e *entrance) connections() *pool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pool
}

// renew ends everything that goes through the entrance, which stays open, and hands on
// to a proxy what comes from then on. Unless it always is to, it does nothing where that
// is the proxy already.
func (e *entrance) renew(through *Upstream, always bool) {
	e.mu.Lock()
	if e.conns == nil || !always && e.pool.through.same(through) {
		e.mu.Unlock()
		return
	}
	conns, old := e.conns, e.pool
	e.conns, e.pool = map[net.Conn]struct{}{}, newPool(e.exits, e, through)
	e.mu.Unlock()
	for c := range conns {
		c.Close()
	}
	old.close()
}

// count adds bytes, and shuts the door after the last that may pass.
func (e *entrance) count(to *atomic.Int64, n int) {
	to.Add(int64(n))
	if most := e.most.Load(); most > 0 && e.in.Load()+e.out.Load() > most {
		e.close(most)
	}
}

// close ends all connections because a bound was passed, unless there is another
// bound by now.
func (e *entrance) close(most int64) {
	e.mu.Lock()
	if e.shut || e.conns == nil || e.most.Load() != most {
		e.mu.Unlock()
		return
	}
	e.shut = true
	conns, spent := e.conns, e.spent
	e.conns = map[net.Conn]struct{}{}
	e.mu.Unlock()
	spent() // first: a caller that sees a connection end must know why
	for c := range conns {
		c.Close()
	}
}

// lock is close without a bound that was passed.
func (e *entrance) lock() {
	e.mu.Lock()
	e.shut = true
	conns := e.conns
	if conns != nil {
		e.conns = map[net.Conn]struct{}{}
	}
	e.mu.Unlock()
	for c := range conns {
		c.Close()
	}
}

func (e *entrance) bound(quota int64, spent func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shut, e.spent = false, spent
	if quota > 0 {
		quota += e.in.Load() + e.out.Load()
	}
	e.most.Store(quota)
}

// Close stops listening. It can be called more than once: the browser and the
// proxy may end at the same time.
func (e *entrance) Close() error {
	if err := e.Listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// end closes the entrance and everything that goes through it.
func (e *entrance) end() {
	e.Close()
	e.mu.Lock()
	conns := e.conns
	e.conns = nil
	e.mu.Unlock()
	for c := range conns {
		c.Close()
	}
	e.connections().close()
}

// inside is a connection of a browser.
type inside struct {
	net.Conn
	entrance *entrance
	pool     *pool
	served   atomic.Bool // a request was understood, and its answer may be under way
}

func (i *inside) Read(p []byte) (int, error) {
	n, err := i.Conn.Read(p)
	i.entrance.count(&i.entrance.out, n)
	return n, err
}

// Write sends responses to requests. It drops what net/http itself answers to a
// malformed or too long request: a page could take that for a server's response.
func (i *inside) Write(p []byte) (int, error) {
	if !i.served.Load() {
		i.Conn.Close()
		return 0, errNotOurs
	}
	n, err := i.Conn.Write(p)
	i.entrance.count(&i.entrance.in, n)
	return n, err
}

var errNotOurs = errors.New("an answer to no request")

type connKey struct{}

// withConn lets a handler find the connection that its request came by.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connState hears that a connection waits for its next request.
func connState(c net.Conn, s http.ConnState) {
	if i, ok := c.(*inside); ok && s == http.StateIdle {
		i.served.Store(false)
	}
}

func (i *inside) Close() error {
	i.entrance.leave(i)
	return i.Conn.Close()
}

// CloseWrite and CloseRead let a tunnel end one side at a time.
func (i *inside) CloseWrite() error { return closeWrite(i.Conn) }
func (i *inside) CloseRead() error  { return nil }

// closeWrite says that no more will be written, and gives the other side some
// time to end too. (A full close here could lose what is still on its way.)
func closeWrite(c net.Conn) error {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		return c.Close()
	}
	if err := c.SetReadDeadline(time.Now().Add(linger)); err != nil {
		return err
	}
	return half.CloseWrite()
}

// replay is a tunnel's connection whose first bytes were read already.
type replay struct {
	*inside
	first io.Reader
}

func (r *replay) Read(p []byte) (int, error) {
	n, err := r.first.Read(p)
	if n > 0 || err != io.EOF {
		return n, nil
	}
	return r.inside.Read(p)
}

func replaying(c net.Conn, buffered []byte) net.Conn {
	i, ok := c.(*inside)
	if !ok || len(buffered) == 0 {
		return c
	}
	return &replay{i, bytes.NewReader(bytes.Clone(buffered))}
}

// quiet gives the words of a net/http server to the log at debug level.
func quiet(l zerolog.Logger) *log.Logger { return log.New(debug{l}, "", 0) }

type debug struct{ log zerolog.Logger }

func (d debug) Write(p []byte) (int, error) {
	d.log.Debug().Str("from", "proxy").Msg(string(bytes.TrimSpace(p)))
	return len(p), nil
}

// Printf is what goproxy warns through.
func (d debug) Printf(format string, v ...any) { d.log.Debug().Str("from", "proxy").Msgf(format, v...) }
