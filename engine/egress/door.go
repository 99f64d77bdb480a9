package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// Door is an entrance of its own to the proxy, with the same rules. Its bytes
// are counted, and can be bounded.
type Door struct {
	proxy  *Proxy
	e      *entrance
	client func() *http.Client
}

// Traffic is a number of bytes: what went to the clients of a door, and what
// came from them. They are the bytes between browser and proxy (for what is
// fetched without a browser, those between proxy and server): payload, TLS and
// the heads of requests and answers.
type Traffic struct{ In, Out int64 }

// Since is what has passed since an earlier count.
func (t Traffic) Since(earlier Traffic) Traffic {
	return Traffic{t.In - earlier.In, t.Out - earlier.Out}
}

// Open opens a door on a free port of 127.0.0.1.
func (p *Proxy) Open() (*Door, error) {
	e, err := p.enter()
	if err != nil {
		return nil, err
	}
	d := &Door{proxy: p, e: e}
	d.client = sync.OnceValue(func() *http.Client {
		return p.client(func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := p.exits.dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return e.adopt(&fetching{c, e})
		})
	})
	return d, nil
}

// Addr is the address to give to browsers, as host:port.
func (d *Door) Addr() string { return d.e.Addr().String() }

// Client is [Proxy.Client], counted and bounded as what comes through the door.
func (d *Door) Client() *http.Client { return d.client() }

// Traffic is what has passed the door since it was opened.
func (d *Door) Traffic() Traffic { return Traffic{d.e.in.Load(), d.e.out.Load()} }

// Bound lets so many bytes pass from now on, in and out together, and any number
// if quota is zero. With the next byte every connection through the door is
// ended, no other begins until the next call, and spent is called. It must not
// block. What is in a buffer then may still pass.
func (d *Door) Bound(quota int64, spent func()) { d.e.bound(quota, spent) }

// Close ends the door and every connection through it.
func (d *Door) Close() {
	d.proxy.mu.Lock()
	delete(d.proxy.entrances, d.e)
	d.proxy.mu.Unlock()
	d.e.end()
	d.client().CloseIdleConnections()
}

// fetching is a connection to a server without a browser.
type fetching struct {
	net.Conn
	entrance *entrance
}

func (f *fetching) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	f.entrance.count(&f.entrance.in, n)
	return n, err
}

func (f *fetching) Write(p []byte) (int, error) {
	n, err := f.Conn.Write(p)
	f.entrance.count(&f.entrance.out, n)
	return n, err
}

func (f *fetching) Close() error {
	f.entrance.leave(f)
	return f.Conn.Close()
}

var errSpent = errors.New("the quota of this door is used up")
