// Package host gives hosts of addresses the one spelling in which they are compared.
package host

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
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

// Fault says why requests never reach a host; empty: they may. An address of IPv4 has one
// spelling with us, though browsers know more: no resolver knows 127.1 or 0x7f000001.
func Fault(h string) string {
	n := Name(h)
	if _, err := netip.ParseAddr(n); err == nil {
		return ""
	}
	labels := strings.Split(n, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || len(n) > 253 {
			return "is no name: want parts of 1 to 63 characters between the dots, and 253 in all"
		}
	}
	last := labels[len(labels)-1]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || strings.Trim(last, "0123456789") == "" {
		return "is neither a name nor an address: want four numbers such as 192.0.2.7"
	}
	return ""
}
