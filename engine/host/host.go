// Package host gives hosts of addresses the one spelling in which they are compared.
package host

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Name is a host as it is compared: in small letters, without the dot that may end a name,
// and without the brackets of an address.
func Name(h string) string {
	return strings.TrimSuffix(strings.ToLower(strings.Trim(h, "[]")), ".")
}

// Local reports whether a host is this machine whatever a resolver says: browsers trust it
// without TLS.
func Local(h string) bool {
	n := Name(h)
	if n == "localhost" || strings.HasSuffix(n, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(n)
	return err == nil && ip.Unmap().IsLoopback()
}

// WithPort is the host of an address with its port, where that is not the usual one of its
// scheme.
func WithPort(u *url.URL) string {
	name, port := Name(u.Hostname()), u.Port()
	if scheme := strings.ToLower(u.Scheme); port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		if strings.Contains(name, ":") {
			return "[" + name + "]"
		}
		return name
	}
	return net.JoinHostPort(name, port)
}
