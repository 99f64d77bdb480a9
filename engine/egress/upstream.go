package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Upstream is an operator's proxy between this one and the internet that makes
// tunnels by CONNECT.
//
// It gets addresses instead of names: it reaches exactly the address that was
// checked here, however it would have resolved the name. Names that the operator
// always allows are passed on as names.
type Upstream struct {
	address string
	secure  *tls.Config // nil: plain
	auth    string
}

// ParseUpstream reads the URL of a proxy, such as http://proxy.example:3128, and
// the credentials for it as user:password, which may be empty.
func ParseUpstream(s, credentials string) (*Upstream, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("want the address of a proxy such as http://proxy.example:3128")
	}
	if u.User != nil {
		return nil, errors.New("credentials can be seen there by everybody on this machine: give them in a file")
	}
	port := u.Port()
	up := &Upstream{}
	if u.Scheme == "https" {
		up.secure = &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}}
		if port == "" {
			port = "443"
		}
	}
	if port == "" {
		port = "80"
	}
	up.address = net.JoinHostPort(u.Hostname(), port)
	if credentials != "" {
		if !strings.Contains(credentials, ":") {
			return nil, errors.New("the credentials want a user and a password: user:password")
		}
		up.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
	}
	return up, nil
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
		return nil, &upstreamError{"net::ERR_PROXY_CONNECTION_FAILED", "the operator's upstream proxy cannot be reached", err}
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
		return nil, err
	}
	return through, nil
}

func (u *Upstream) greet(ctx context.Context, c net.Conn, address string) (net.Conn, error) {
	if u.secure != nil {
		t := tls.Client(c, u.secure)
		if err := t.HandshakeContext(ctx); err != nil {
			return nil, &upstreamError{"net::ERR_PROXY_CERTIFICATE_INVALID", "the operator's upstream proxy does not prove who it is", err}
		}
		c = t
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{"User-Agent": {""}}}
	if u.auth != "" {
		req.Header.Set("Proxy-Authorization", u.auth)
	}
	failed := func(err error) error {
		return &upstreamError{"net::ERR_TUNNEL_CONNECTION_FAILED", "the operator's upstream proxy does not answer as one", err}
	}
	if err := req.Write(c); err != nil {
		return nil, failed(err)
	}
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, req)
	switch {
	case err != nil:
		return nil, failed(err)
	case resp.StatusCode != http.StatusOK:
		return nil, &upstreamError{"net::ERR_TUNNEL_CONNECTION_FAILED", fmt.Sprintf("the operator's upstream proxy answered %d", resp.StatusCode), nil}
	case r.Buffered() > 0: // a server that speaks first would do that; what is behind a tunnel to a web server does not
		return nil, failed(errors.New("it sent more than its answer"))
	}
	return c, nil
}
