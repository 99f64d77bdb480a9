package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"

	"github.com/rs/zerolog"

	"troupe/http"
)

// listening is where and to whom the service answers, as flags.
type listening struct {
	Listen         string   `default:"127.0.0.1:8080" help:"Address to listen on. Default: 127.0.0.1:8080." placeholder:"HOST:PORT"`
	InsecureListen bool     `help:"Allow an address that others can reach without TLS: tokens then cross the network readable."`
	TLSCert        string   `name:"tls-cert" help:"Certificate file (PEM), with --tls-key. Read again when it changes." placeholder:"FILE"`
	TLSKey         string   `name:"tls-key" help:"Key file (PEM)." placeholder:"FILE"`
	Host           []string `help:"Host name at which clients reach the service. May be repeated. Default: names of this machine when listening on loopback, else any name." placeholder:"NAME"`
	TrustedProxy   []string `help:"Address or network of reverse proxies whose X-Forwarded-For, or else Forwarded, is trusted. May be repeated." placeholder:"CIDR"`
	MaxConnections int      `default:"16384" help:"Open connections. Default: 16384."`
	PerAddress     int      `name:"max-connections-per-address" help:"Open connections from one address, or one /64 of IPv6. Default: 1024, no limit on loopback."`
	RequestMemory  int64    `help:"Memory for requests and answers of all accounts together, in MiB: what arrives, is loaded, or waits for clients that do not read it. One account can have a quarter of it, requests without a token a sixteenth. Default: 512, or a third of what the control group allows, if that is less." placeholder:"MIB"`
	AllowOrigin    []string `help:"Origin of web pages that can call the service (CORS), such as https://console.example.org. May be repeated. Default: none." placeholder:"ORIGIN"`

	proxies []netip.Prefix
}

// check finds what is wrong with the flags.
func (l *listening) check() error {
	host, _, err := net.SplitHostPort(l.Listen)
	switch {
	case err != nil:
		return usage("--listen %q is not an address such as 127.0.0.1:8080: %w", l.Listen, err)
	case (l.TLSCert == "") != (l.TLSKey == ""):
		return usage("--tls-cert and --tls-key belong together: give both")
	case !loopback(host) && l.TLSCert == "" && !l.InsecureListen:
		return usage("--listen %s can be reached from other machines, and tokens would cross the network readable: "+
			"give --tls-cert and --tls-key, or --insecure-listen where something before the service does TLS", l.Listen)
	}
	for _, h := range l.Host {
		if u, err := url.Parse("//" + h); err != nil || u.Hostname() != h || h == "" {
			return usage("--host %q is not a name such as browsers.example.org, without a port", h)
		}
	}
	if l.proxies, err = networks(l.TrustedProxy); err != nil {
		return usage("--trusted-proxy: %w", err)
	}
	if l.MaxConnections < 1 || l.PerAddress < 0 {
		return usage("--max-connections is %d, --max-connections-per-address %d: want 1 or more", l.MaxConnections, l.PerAddress)
	}
	if l.RequestMemory != 0 && l.RequestMemory < http.MinMemory>>20 || l.RequestMemory > 1<<20 {
		return usage("--request-memory is %d: want MiB, %d to %d", l.RequestMemory, http.MinMemory>>20, 1<<20)
	}
	if l.PerAddress == 0 && !l.local() {
		l.PerAddress = 1024
	}
	for i, o := range l.AllowOrigin {
		if l.AllowOrigin[i], err = http.ParseOrigin(o); err != nil {
			return usage("--allow-origin: %w", err)
		}
	}
	return nil
}

// readable says what crosses the network where others can read it, if nothing before the
// service is known to do TLS; empty: nothing does.
func (l *listening) readable() string {
	if l.local() || l.TLSCert != "" || len(l.TrustedProxy) > 0 {
		return ""
	}
	return "clients and tokens come without TLS (--insecure-listen): whoever is between can read them. " +
		"In a container, publish the port for this machine alone (docker run -p 127.0.0.1:8080:8080), " +
		"or give --tls-cert and --tls-key, or --trusted-proxy for the proxy that does TLS"
}

// secure reads the certificate, where there is one.
func (l *listening) secure(log zerolog.Logger) (*http.Certificate, error) {
	if l.TLSCert == "" {
		return nil, nil
	}
	c, err := http.OpenCertificate(l.TLSCert, l.TLSKey, log)
	if err != nil {
		return nil, usage("--tls-cert and --tls-key: %w", err)
	}
	return c, nil
}

// open listens. A name may stand for other addresses than one would think: what
// counts is where the socket is.
func (l *listening) open() (net.Listener, error) {
	ln, err := net.Listen("tcp", l.Listen)
	if err != nil {
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return nil, usage("--listen %s: another program answers there already: stop it, or choose another port", l.Listen)
		case errors.Is(err, syscall.EACCES):
			return nil, usage("--listen %s: this user may not open that port: choose one from 1024 on, or grant CAP_NET_BIND_SERVICE", l.Listen)
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			return nil, usage("--listen %s: this machine has no such address", l.Listen)
		}
		return nil, usage("--listen %s: %w", l.Listen, err)
	}
	if host, _, _ := net.SplitHostPort(ln.Addr().String()); !loopback(host) && l.local() {
		_ = ln.Close()
		return nil, usage("--listen %s: that name stands for %s, which can be reached from other machines", l.Listen, host)
	}
	return ln, nil
}

// local reports whether only this machine can send requests.
func (l *listening) local() bool {
	host, _, _ := net.SplitHostPort(l.Listen)
	return loopback(host)
}

// hosts are the names that requests may be made for. On loopback any page that
// a browser of this machine shows could have its own name stand for the service.
func (l *listening) hosts(filesURL string) []string {
	if !l.local() {
		return l.Host
	}
	all := append([]string{http.LocalHosts}, l.Host...)
	if u, err := url.Parse(filesURL); err == nil && u.Hostname() != "" {
		all = append(all, u.Hostname())
	}
	return all
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// networks reads addresses and networks, such as 10.0.0.7 and 10.0.0.0/8.
func networks(all []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range all {
		if a, err := netip.ParseAddr(s); err == nil {
			out = append(out, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil || p != p.Masked() || p.Addr().Is4In6() {
			return nil, fmt.Errorf("%q is not a network: want an address or a CIDR block such as 10.0.0.0/8", s)
		}
		out = append(out, p)
	}
	return out, nil
}
