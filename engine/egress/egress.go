// Package egress is the way out: the proxy on loopback that all traffic of
// every browser goes through, and the HTTP client for what the service fetches
// itself.
//
// Which addresses may be reached is decided when a connection is made, on the
// address that is about to be dialled. So it does not matter how a host is
// spelled, what a name resolved to a moment ago, or who redirected to it.
// Nothing inside a tunnel or a page is looked at.
//
// # What a browser sees
//
// A page that is refused or cannot be reached, and one whose server breaks off or
// answers with something that is no HTTP, must fail to load: nothing that the
// proxy says itself may be content of a page. For https, a CONNECT that is
// answered with 403 or 502 does that: Chromium reports
// net::ERR_TUNNEL_CONNECTION_FAILED. For http the answer is a 403 or 502 too, but
// with two different Location fields: people and simple clients can read it, and
// Chromium reports net::ERR_RESPONSE_HEADERS_MULTIPLE_LOCATION, to scripts as any
// other network error. (To close the connection instead would let Chromium send
// the request once more, forms included.) An answer that breaks off after its head
// breaks off for the browser too. [Door.Failure] then says what really happened.
package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/elazarl/goproxy"
	"github.com/rs/zerolog"

	"troupe/engine/scarce"
)

// Config says which addresses may be reached. The zero value allows the public
// internet.
type Config struct {
	// AllowPrivate allows every address, this machine's own included.
	AllowPrivate bool
	// Allow lists more addresses that may be reached.
	Allow []netip.Prefix
	// AllowHosts lists names that may be reached whatever address they have:
	// "intranet.example", or "*.example" for all names below it.
	AllowHosts []string
	// Hosts answers http requests to some names from memory. These names are never
	// looked up, and answer only http on port 80.
	Hosts map[string]http.Handler
	// DialTimeout bounds finding and connecting to a host. Zero: 10 s.
	DialTimeout time.Duration
	// Idle is how long an unused connection is kept. Zero: 90 s.
	Idle time.Duration
	// Upstream is the proxy that everything but the reserved hosts is handed on
	// to. Nil: none.
	Upstream *Upstream
	// Resolver looks up names. Nil: the system's.
	Resolver *net.Resolver
	// Log receives refusals with hosts and addresses, and URLs only at debug
	// level.
	Log zerolog.Logger

	addresses func() ([]net.Addr, error) // of this machine; nil: those of its interfaces

	ask asker // whose a connection is; nil: the first way that works here
}

// Proxy is a running proxy.
type Proxy struct {
	log       zerolog.Logger
	exits     *exits
	proxy     *goproxy.ProxyHttpServer
	server    *http.Server
	main      *entrance
	callers   callers
	ask       asker // whose a connection is; nil: this system does not tell
	strangers sync.Once

	mu        sync.Mutex
	closed    bool
	entrances map[*entrance]struct{}
}

// Start starts a proxy on a free port of 127.0.0.1.
func Start(c Config) (*Proxy, error) {
	if c.DialTimeout <= 0 {
		c.DialTimeout = 10 * time.Second
	}
	if c.Idle <= 0 {
		c.Idle = 90 * time.Second
	}
	if c.addresses == nil {
		c.addresses = net.InterfaceAddrs
	}
	if c.ask == nil {
		c.ask = askKernel()
	}
	p := &Proxy{log: c.Log, entrances: map[*entrance]struct{}{}, ask: c.ask}
	if p.callers.admit(os.Geteuid()); p.ask == nil {
		c.Log.Warn().Msg("this system does not tell whose a connection is: other users of this machine can use the outbound proxy")
	}
	p.exits = newExits(c)
	p.exits.inward = p.isDoor
	p.proxy = p.forwarder()
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       c.Idle,
		MaxHeaderBytes:    1 << 20,
		ErrorLog:          quiet(c.Log),
		ConnContext:       withConn,
		ConnState:         connState,
	}
	main, err := p.enter()
	if err != nil {
		p.exits.close()
		return nil, err
	}
	p.main = main
	return p, nil
}

// Addr is the address to give to browsers, as host:port.
func (p *Proxy) Addr() string { return p.main.Addr().String() }

// Failure is [Door.Failure] for connections to Addr.
func (p *Proxy) Failure(url string) (Failure, bool) { return p.main.connections().failures.find(url) }

// Client is [Door.Client] for connections to Addr.
func (p *Proxy) Client() *http.Client { return p.main.connections().client() }

// Close ends the proxy and every connection through it.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	entrances := p.entrances
	p.entrances = nil
	p.mu.Unlock()

	err := p.server.Close()
	for e := range entrances {
		e.end()
	}
	p.exits.close()
	return err
}

// enter opens a door.
func (p *Proxy) enter() (*entrance, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for browsers: %w", err)
	}
	e := &entrance{Listener: scarce.Listener{Listener: l, Doing: "accept a browser"}, admitted: p.admitted, exits: p.exits, conns: map[net.Conn]struct{}{}}
	e.pool = newPool(p.exits, e, nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.Close()
		return nil, net.ErrClosed
	}
	p.entrances[e] = struct{}{}
	go p.server.Serve(e)
	return e, nil
}

// isDoor reports whether an address leads back in: through one door to another,
// whose quota is somebody else's.
func (p *Proxy) isDoor(a netip.AddrPort) bool {
	ip := a.Addr().Unmap()
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := range p.entrances {
		if at := addrPort(e.Addr()); at.Port() == a.Port() && (at.Addr() == ip || ip.IsUnspecified()) {
			return true
		}
	}
	return false
}
