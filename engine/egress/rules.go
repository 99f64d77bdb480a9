package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	"github.com/rs/zerolog"

	"troupe/engine/host"
)

// ErrRefused: the rules do not allow the address.
var ErrRefused = errors.New("refused by the operator's outbound rules")

// errOnlyHTTP: a reserved host was asked for something else.
var errOnlyHTTP = errors.New("this reserved host answers only http on port 80")

// errInward: the address is one of the proxy's own.
var errInward = errors.New("it leads back into the proxy")

// errNear: the address is public, and this side of whatever guards it.
var errNear = errors.New("it is an address of this machine or of a network that it is on")

// moreDenied is what ssrf takes for public, and is not: the address at which
// one provider's machines reach its control plane.
var moreDenied = []netip.Prefix{netip.MustParsePrefix("168.63.129.16/32")}

// exits opens every connection that leaves the service.
type exits struct {
	guarded  net.Dialer // checks each address it dials
	free     net.Dialer
	open     bool     // every address is allowed
	names    []string // allowed whatever their address
	near     *localNetworks
	reserved map[string]*pipe
	upstream *Upstream
	timeout  time.Duration
	idle     time.Duration             // how long an unused connection is kept
	inward   func(netip.AddrPort) bool // leads back into the proxy
	log      zerolog.Logger
}

func newExits(c Config) *exits {
	x := &exits{
		open: c.AllowPrivate, upstream: c.Upstream, timeout: c.DialTimeout, idle: c.Idle, log: c.Log,
		reserved: map[string]*pipe{},
	}
	x.free = net.Dialer{Resolver: c.Resolver, KeepAlive: 30 * time.Second, Control: x.outward}
	x.guarded = x.free
	rules := guard(c.Allow)
	x.near = newLocalNetworks(c.addresses, c.Log)
	x.guarded.Control = func(network, address string, raw syscall.RawConn) error {
		if err := rules(network, address, raw); err != nil {
			return err
		}
		if err := x.far(address, c.Allow); err != nil {
			return err
		}
		return x.outward(network, address, raw)
	}
	for _, h := range c.AllowHosts {
		x.names = append(x.names, hostName(h))
	}
	for name, handler := range c.Hosts {
		x.reserved[hostName(name)] = newPipe(handler)
	}
	return x
}

// guard returns the check of an address that is about to be dialled.
func guard(allow []netip.Prefix) func(network, address string, c syscall.RawConn) error {
	var four, six []netip.Prefix
	for _, p := range allow {
		if p.Addr().Is4() {
			four = append(four, p)
		} else {
			six = append(six, p)
		}
	}
	return ssrf.New(
		ssrf.WithAnyPort(),
		ssrf.WithAllowedV4Prefixes(four...),
		ssrf.WithAllowedV6Prefixes(six...),
		ssrf.WithDeniedV4Prefixes(moreDenied...),
	).Safe
}

// far refuses what is this machine's or next to it, unless it is allowed.
func (x *exits) far(address string, allow []netip.Prefix) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	contains := func(p netip.Prefix) bool { return p.Contains(a.Addr().Unmap().WithZone("")) }
	if !slices.ContainsFunc(allow, contains) && x.near.has(a.Addr()) {
		return errNear
	}
	return nil
}

// outward refuses the proxy's own doors, whatever else is allowed.
func (x *exits) outward(_, address string, _ syscall.RawConn) error {
	if a, err := netip.ParseAddrPort(address); err == nil && x.inward != nil && x.inward(a) {
		return errInward
	}
	return nil
}

// connect opens a connection, handed on to a proxy unless that is nil.
func (x *exits) connect(ctx context.Context, through *Upstream, network, name, host, port string) (net.Conn, error) {
	if p := x.reserved[name]; p != nil {
		if port != "80" {
			return nil, fmt.Errorf("connect to %s:%s: %w", host, port, errOnlyHTTP)
		}
		return p.dial(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	d, check := &x.guarded, x.guarded.Control
	if x.open || x.named(name) {
		d, check = &x.free, nil
	}
	dial := d.DialContext
	if through != nil {
		dial = func(ctx context.Context, _, address string) (net.Conn, error) {
			return through.dial(ctx, &x.free, check, address)
		}
	}
	c, err := dial(ctx, network, net.JoinHostPort(host, port))
	if errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork) || errors.Is(err, errInward) || errors.Is(err, errNear) {
		x.log.Warn().Str("host", host).Str("port", port).Err(err).Msg("refused a connection")
		return nil, fmt.Errorf("%s is %w", net.JoinHostPort(host, port), ErrRefused)
	}
	return c, err
}

// named reports whether a name is allowed whatever its address.
func (x *exits) named(name string) bool {
	for _, n := range x.names {
		if below, ok := strings.CutPrefix(n, "*"); ok && len(name) > len(below) && strings.HasSuffix(name, below) || n == name {
			return true
		}
	}
	return false
}

// Literal says why a host that is a literal address, or this machine by its reserved name,
// can never be reached; nil: it can, or that depends on what its name stands for.
func (p *Proxy) Literal(called string) error {
	x, name := p.exits, hostName(called)
	if x.open || x.reserved[name] != nil || x.named(name) {
		return nil
	}
	ip, err := netip.ParseAddr(name)
	switch {
	case err != nil && host.Local(name):
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case err != nil:
		return nil
	}
	network := "tcp6"
	if ip = ip.Unmap(); ip.Is4() {
		network = "tcp4"
	}
	if err := x.guarded.Control(network, netip.AddrPortFrom(ip, 443).String(), nil); err != nil {
		return fmt.Errorf("%s is %w", called, ErrRefused)
	}
	return nil
}

// hostName gives the one spelling of a host that is compared.
var hostName = host.Name

// close ends the reserved hosts, and the watching of addresses.
func (x *exits) close() {
	x.near.end()
	for _, p := range x.reserved {
		p.server.Close()
	}
}
