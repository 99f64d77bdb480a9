package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/proxy"
)

// Upstream is an operator's proxy between this one and the internet that makes
// tunnels, by CONNECT or by SOCKS5.
//
// It gets addresses instead of names: it reaches exactly the address that was
// checked here, however it would have resolved the name. Names that the operator
// always allows are passed on as names.
type Upstream struct {
	name    string // for people; empty: the one for all traffic
	address string
	secure  *tls.Config // nil: plain
	auth    string
	socks   bool
	user    *proxy.Auth // with socks; nil: nobody
}

// ParseUpstream reads the URL of a proxy, such as http://proxy.example:3128, and
// the credentials for it as user:password, which may be empty.
func ParseUpstream(s, credentials string) (*Upstream, error) {
	return parseUpstream("", s, credentials, map[string]string{"http": "80", "https": "443"})
}

// ParseNamed is ParseUpstream for a proxy that has a name. It may also be a SOCKS5 proxy,
// such as socks5://proxy.example:1080.
func ParseNamed(name, s, credentials string) (*Upstream, error) {
	return parseUpstream(name, s, credentials, map[string]string{"http": "80", "https": "443", "socks5": "1080"})
}

func parseUpstream(name, s, credentials string, ports map[string]string) (*Upstream, error) {
	u, err := url.Parse(s)
	if err != nil || ports[u.Scheme] == "" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("want the address of a proxy such as http://proxy.example:3128, with one of the schemes %s",
			strings.Join(slices.Sorted(maps.Keys(ports)), ", "))
	}
	if u.User != nil {
		return nil, errors.New("the address must have no credentials, as many can read it: give them in a file")
	}
	port := u.Port()
	if port == "" {
		port = ports[u.Scheme]
	}
	up := &Upstream{name: name, address: net.JoinHostPort(u.Hostname(), port), socks: u.Scheme == "socks5"}
	if u.Scheme == "https" {
		up.secure = &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}}
	}
	if credentials == "" {
		return up, nil
	}
	user, password, ok := strings.Cut(credentials, ":")
	switch {
	case !ok:
		return nil, errors.New("the credentials want a user and a password: user:password")
	case !up.socks:
		up.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
	case user == "" || password == "" || len(user) > 255 || len(password) > 255:
		return nil, errors.New("a SOCKS5 proxy wants a user and a password of 1 to 255 bytes each")
	default:
		up.user = &proxy.Auth{User: user, Password: password}
	}
	return up, nil
}

// String is what people call the proxy.
func (u *Upstream) String() string {
	if u.name == "" {
		return "the operator's upstream proxy"
	}
	return fmt.Sprintf("the proxy %q", u.name)
}

// same reports whether two are the same proxy with the same credentials.
func (u *Upstream) same(v *Upstream) bool {
	if u == nil || v == nil {
		return u == v
	}
	return u.name == v.name && u.address == v.address && u.auth == v.auth && u.socks == v.socks && (u.secure == nil) == (v.secure == nil) &&
		(u.user == nil) == (v.user == nil) && (u.user == nil || *u.user == *v.user)
}

// upstreamError is what went wrong between here and the world.
type upstreamError struct {
	net  string
	what string
	err  error
}

func (e *upstreamError) Error() string { return e.what }
func (e *upstreamError) Unwrap() error { return e.err }

// dial makes a tunnel to an address, if it passes the check.
func (u *Upstream) dial(ctx context.Context, d *net.Dialer, check func(network, address string, c syscall.RawConn) error, address string) (net.Conn, error) {
	if check == nil {
		return u.tunnel(ctx, d, address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	all, err := lookUp(ctx, d.Resolver, host)
	if err != nil {
		return nil, err
	}
	var no error
	for _, a := range all {
		network := "tcp6"
		if a.Is4() {
			network = "tcp4"
		}
		at := net.JoinHostPort(a.String(), port)
		if err := check(network, at, nil); err != nil {
			no = err
			continue
		}
		c, err := u.tunnel(ctx, d, at)
		if err == nil {
			return c, nil
		}
		if no = err; ctx.Err() != nil {
			break
		}
	}
	return nil, no
}

func lookUp(ctx context.Context, r *net.Resolver, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if r == nil {
		r = net.DefaultResolver
	}
	all, err := r.LookupNetIP(ctx, "ip", host)
	for i := range all {
		all[i] = all[i].Unmap()
	}
	if err == nil && len(all) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return all, err
}

// tunnel asks the proxy for a connection.
func (u *Upstream) tunnel(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
	c, err := d.DialContext(ctx, "tcp", u.address)
	if err != nil {
		return nil, &upstreamError{"net::ERR_PROXY_CONNECTION_FAILED", u.String() + " cannot be reached", err}
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	through, err := u.greet(ctx, c, address)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
			err = &upstreamError{"net::ERR_CONNECTION_TIMED_OUT", "a connection through " + u.String() + " took too long", err}
		}
		return nil, err
	}
	return through, nil
}

func (u *Upstream) greet(ctx context.Context, c net.Conn, address string) (net.Conn, error) {
	if u.secure != nil {
		t := tls.Client(c, u.secure)
		if err := t.HandshakeContext(ctx); err != nil {
			return nil, &upstreamError{"net::ERR_PROXY_CERTIFICATE_INVALID", u.String() + " does not prove who it is", err}
		}
		c = t
	}
	if u.socks {
		return u.greetSOCKS(ctx, c, address)
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{"User-Agent": {""}}}
	if u.auth != "" {
		req.Header.Set("Proxy-Authorization", u.auth)
	}
	failed := func(err error) error {
		return &upstreamError{"net::ERR_TUNNEL_CONNECTION_FAILED", u.String() + " does not answer as one", err}
	}
	if err := req.Write(c); err != nil {
		return nil, failed(err)
	}
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, req)
	switch {
	case err != nil:
		return nil, failed(err)
	case resp.StatusCode == http.StatusProxyAuthRequired:
		return nil, &upstreamError{"net::ERR_PROXY_AUTH_REQUESTED", u.String() + " answered 407: it wants other credentials than those of the operator", nil}
	case resp.StatusCode != http.StatusOK:
		return nil, &upstreamError{"net::ERR_TUNNEL_CONNECTION_FAILED", fmt.Sprintf("%s answered %d", u, resp.StatusCode), nil}
	case r.Buffered() > 0: // a server that speaks first would do that; what is behind a tunnel to a web server does not
		return nil, failed(errors.New("it sent more than its answer"))
	}
	return c, nil
}

// greetSOCKS asks a SOCKS5 proxy for the connection.
func (u *Upstream) greetSOCKS(ctx context.Context, c net.Conn, address string) (net.Conn, error) {
	d, err := proxy.SOCKS5("tcp", u.address, u.user, nil)
	if err != nil {
		return nil, err
	}
	over, ok := d.(interface {
		DialWithConn(ctx context.Context, c net.Conn, network, address string) (net.Addr, error)
	})
	if !ok {
		return nil, errors.New("the SOCKS5 client takes no connection")
	}
	if _, err = over.DialWithConn(ctx, c, "tcp", address); err == nil {
		return c, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, err
	}
	// The client has texts for its errors, and no types.
	name, what := "net::ERR_SOCKS_CONNECTION_FAILED", " does not answer as a SOCKS5 proxy"
	switch _, reply, refused := strings.Cut(err.Error(), "unknown error "); {
	case strings.Contains(err.Error(), "authentication"):
		name, what = "net::ERR_PROXY_AUTH_REQUESTED", " wants other credentials than those of the operator"
	case refused && reply == "host unreachable":
		name, what = "net::ERR_SOCKS_CONNECTION_HOST_UNREACHABLE", " made no connection: "+reply
	case refused:
		what = " made no connection: " + reply
	}
	return nil, &upstreamError{name, u.String() + what, err}
}
