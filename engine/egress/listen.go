package egress

import (
	"bytes"
	"io"
	"log"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// linger is how long one side of a tunnel may go on when the other has ended.
const linger = 15 * time.Second

// entrance is a door for browsers. It knows its connections, also those that
// became tunnels, and counts their bytes.
type entrance struct {
	net.Listener
	name    string
	in, out atomic.Int64 // to the browser, from the browser

	mu    sync.Mutex
	conns map[*inside]struct{} // nil: the door is closed
}

func (e *entrance) Accept() (net.Conn, error) {
	c, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	i := &inside{Conn: c, entrance: e}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conns == nil {
		c.Close()
		return nil, net.ErrClosed
	}
	e.conns[i] = struct{}{}
	return i, nil
}

// end closes the door and everything that goes through it.
func (e *entrance) end() {
	e.Listener.Close()
	e.mu.Lock()
	conns := e.conns
	e.conns = nil
	e.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
}

func (e *entrance) isOpen() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.conns != nil
}

// inside is a connection of a browser.
type inside struct {
	net.Conn
	entrance *entrance
}

func (i *inside) Read(p []byte) (int, error) {
	n, err := i.Conn.Read(p)
	i.entrance.out.Add(int64(n))
	return n, err
}

func (i *inside) Write(p []byte) (int, error) {
	n, err := i.Conn.Write(p)
	i.entrance.in.Add(int64(n))
	return n, err
}

func (i *inside) Close() error {
	i.entrance.mu.Lock()
	delete(i.entrance.conns, i)
	i.entrance.mu.Unlock()
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
