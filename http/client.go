package http

import (
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"
)

// neighbourhood is what counts as one address: a customer of a network provider
// has one of IPv4, or 64 bits of IPv6 to choose from.
func neighbourhood(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.Prefix(bits) // without an address it stays the zero value
	return p
}

// client returns the address that a request comes from. What a proxy says about
// it counts only if the operator trusts the proxy.
func (s *Server) client(ctx *fasthttp.RequestCtx) netip.Prefix {
	peer := addrOf(ctx.Conn())
	if !s.trusted(peer) {
		return neighbourhood(peer)
	}
	var said []string
	for _, h := range ctx.Request.Header.PeekAll(fasthttp.HeaderXForwardedFor) {
		said = append(said, strings.Split(string(h), ",")...)
	}
	for i := len(said) - 1; i >= 0; i-- { // each proxy adds whom it saw at the end
		a, err := netip.ParseAddr(strings.TrimSpace(said[i]))
		if err != nil {
			break
		}
		if peer = a; !s.trusted(a) {
			break
		}
	}
	return neighbourhood(peer)
}

func (s *Server) trusted(a netip.Addr) bool {
	for _, p := range s.cfg.Proxies {
		if p.Contains(a.Unmap()) {
			return true
		}
	}
	return false
}

// clientText is the address that a request comes from; of IPv6 its network.
func (s *Server) clientText(ctx *fasthttp.RequestCtx) string {
	from := s.client(ctx)
	if from.IsSingleIP() {
		return from.Addr().String()
	}
	return from.String()
}
