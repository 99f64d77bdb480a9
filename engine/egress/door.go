package egress

import (
	"errors"
	"net"
	"net/http"
)

// Door is an entrance of its own to the proxy, with the same rules. Its bytes
// are counted, and can be bounded.
type Door struct {
	proxy *Proxy
	e     *entrance
}

// Traffic is a number of bytes: what went to the clients of a door, and what
// came from them. They are the bytes between browser and proxy (for what is
// fetched without a browser, those between proxy and server): payload, TLS and
// the heads of requests and answers.
type Traffic struct{ In, Out int64 }

// Since returns the difference to an earlier count.
func (t Traffic) Since(earlier Traffic) Traffic {
	return Traffic{t.In - earlier.In, t.Out - earlier.Out}
}

// Open opens a door on a free port of 127.0.0.1.
func (p *Proxy) Open() (*Door, error) {
	e, err := p.enter()
	if err != nil {
		return nil, err
	}
	return &Door{proxy: p, e: e}, nil
}

// Addr is the address to give to browsers, as host:port.
func (d *Door) Addr() string { return d.e.Addr().String() }

// Client returns an HTTP client under the same rules, also for redirects. Its
// traffic is counted and bounded like that of the door. Callers bound the time by
// their contexts, and the size themselves. It ends with the next Renew.
func (d *Door) Client() *http.Client { return d.e.connections().client() }

// Failure says why the last request for a URL failed, or why the last connection
// to its host could not be made, if that was in the last half minute and since the
// last Renew. The URL is to be spelled as the browser reports it: the one that it
// really asked for, after redirects.
func (d *Door) Failure(url string) (Failure, bool) { return d.e.connections().failures.find(url) }

// Renew ends every connection through the door, on both sides, and forgets
// failures and the proxy of Through, so that later traffic shares nothing with earlier
// traffic.
func (d *Door) Renew() { d.e.renew(nil, true) }

// Through hands everything that passes from now on to a proxy, in place of that of the
// configuration; nil: to that one, or to none. Unless it is the same proxy as before, it
// ends connections and forgets failures as Renew does.
func (d *Door) Through(u *Upstream) { d.e.renew(u, false) }

// Shut ends every connection through the door, and lets none begin until the next
// Bound.
func (d *Door) Shut() { d.e.lock() }

// Traffic is what has passed the door since it was opened.
func (d *Door) Traffic() Traffic { return Traffic{d.e.in.Load(), d.e.out.Load()} }

// Bound limits the bytes that may pass from now on, in and out together; zero is
// no limit. At the limit, every connection through the door is ended, no other
// begins until the next call, and spent is called, which must not block. Buffered
// bytes may still pass.
func (d *Door) Bound(quota int64, spent func()) { d.e.bound(quota, spent) }

// Close ends the door and every connection through it.
func (d *Door) Close() {
	d.proxy.mu.Lock()
	delete(d.proxy.entrances, d.e)
	d.proxy.mu.Unlock()
	d.e.end()
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
