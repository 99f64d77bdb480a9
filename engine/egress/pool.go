package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"troupe/engine/scarce"
)

// pool holds the connections to servers of one entrance, during one task. No
// request of another entrance, or of a later task, uses them: a server that sends
// more than it was asked for, or answers late, can harm only the task that asked.
type pool struct {
	exits     *exits
	entrance  *entrance
	through   *Upstream       // the task's own; nil: that of the exits, if they have one
	transport *http.Transport // for plain http requests of browsers
	failures  failures
	client    func() *http.Client

	mu     sync.Mutex
	conns  map[*outside]struct{}
	closed bool
}

func newPool(x *exits, e *entrance, through *Upstream) *pool {
	p := &pool{exits: x, entrance: e, through: through, conns: map[*outside]struct{}{}}
	p.transport = p.newTransport()
	p.transport.DialContext = p.dial
	p.client = sync.OnceValue(p.newClient)
	return p
}

// newTransport returns a transport that follows no proxy of the environment, and
// leaves compression to the reader.
func (p *pool) newTransport() *http.Transport {
	return &http.Transport{
		DisableCompression:     true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        p.exits.idle,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHead,
		ReadBufferSize:         16 << 10,
		WriteBufferSize:        16 << 10,
	}
}

// maxHead bounds the head of an answer. Chromium has the same bound.
const maxHead = 256 << 10

// newClient returns an HTTP client that goes by the same rules, at redirects too.
// Its bytes count as the entrance's.
func (p *pool) newClient() *http.Client {
	t := p.newTransport()
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := p.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return p.entrance.adopt(&fetching{c, p.entrance})
	}
	t.DisableCompression = false
	t.ForceAttemptHTTP2 = true
	return &http.Client{
		Transport: t,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= 10 {
				return errors.New("stopped after 10 redirects")
			}
			if s := r.URL.Scheme; s != "http" && s != "https" {
				return fmt.Errorf("redirected to a URL of scheme %q", s)
			}
			return nil
		},
	}
}

// dial connects to host:port, if the rules allow it.
func (p *pool) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	name := hostName(host)
	through := p.through
	if through == nil {
		through = p.exits.upstream
	}
	c, err := p.exits.connect(ctx, through, network, name, host, port)
	if scarce.Note("connect to a site", err) != nil {
		why := failureOf(name, err)
		if !errors.Is(err, context.Canceled) { // somebody wants to know
			p.failures.note(hostKey(name, port), why)
			p.exits.log.Debug().Str("host", host).Str("port", port).Err(err).Msg("no connection")
		}
		return nil, &dialError{why, err}
	}
	p.failures.clear(hostKey(name, port))
	return p.track(c)
}

// track remembers a connection until it is closed.
func (p *pool) track(c net.Conn) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return nil, net.ErrClosed
	}
	o := &outside{Conn: c, pool: p}
	p.conns[o] = struct{}{}
	return o, nil
}

// close ends every connection, also those that are in use.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
	p.transport.CloseIdleConnections()
}

// outside is a connection to a server.
type outside struct {
	net.Conn
	pool  *pool
	ended atomic.Bool // the server has closed it, and more was expected
}

func (o *outside) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	if err == io.EOF {
		o.ended.Store(true)
	}
	return n, err
}

func (o *outside) Close() error {
	o.pool.mu.Lock()
	delete(o.pool.conns, o)
	o.pool.mu.Unlock()
	return o.Conn.Close()
}

// CloseWrite and CloseRead let a tunnel end one side at a time.
func (o *outside) CloseWrite() error { return closeWrite(o.Conn) }
func (o *outside) CloseRead() error  { return nil }
