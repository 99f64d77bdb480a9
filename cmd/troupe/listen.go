package main

import (
	"crypto/tls"
	"net"
	"net/url"

	"github.com/rs/zerolog"

	"troupe/http"
)

// listening is where and to whom the service answers, as flags.
type listening struct {
	Listen         string   `default:"127.0.0.1:8080" help:"Address to answer on. Default: 127.0.0.1:8080." placeholder:"HOST:PORT"`
	InsecureListen bool     `help:"Allow an address that others can reach without TLS: tokens then cross the network readable."`
	TLSCert        string   `name:"tls-cert" help:"Certificate file (PEM), with --tls-key. Read again when it changes." placeholder:"FILE"`
	TLSKey         string   `name:"tls-key" help:"Key file (PEM)." placeholder:"FILE"`
	Host           []string `help:"Name under which clients reach the service, where it is not one of this machine's. May be repeated. Default: any beyond loopback, those of this machine on loopback." placeholder:"NAME"`
	AllowOrigin    []string `help:"Origin of web pages that may use the service from a browser, such as https://console.example.org. May be repeated. Default: none." placeholder:"ORIGIN"`
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
	for i, o := range l.AllowOrigin {
		if l.AllowOrigin[i], err = http.ParseOrigin(o); err != nil {
			return usage("--allow-origin: %w", err)
		}
	}
	return nil
}

// secure reads the certificate, where there is one.
func (l *listening) secure(log zerolog.Logger) (*tls.Config, error) {
	if l.TLSCert == "" {
		return nil, nil
	}
	c, err := http.OpenCertificate(l.TLSCert, l.TLSKey, log)
	if err != nil {
		return nil, usage("--tls-cert and --tls-key: %w", err)
	}
	return c.Config(), nil
}

// open listens. A name may stand for other addresses than one would think: what
// counts is where the socket is.
func (l *listening) open() (net.Listener, error) {
	ln, err := net.Listen("tcp", l.Listen)
	if err != nil {
		return nil, usage("listen: %w", err)
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
