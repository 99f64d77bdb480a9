package http

import (
	"net"
	"net/netip"

	"github.com/valyala/fasthttp"

	"troupe/engine/host"
)

// strictTransport tells browsers to come over TLS only for half a year. Names
// below this one are other services' own matter.
const strictTransport = "max-age=15768000"

// setTransport tells browsers that they came over TLS to come so again. For names
// of this machine it does not: what browsers remember of localhost holds for
// every port, also for programs without TLS.
func setTransport(ctx *fasthttp.RequestCtx) {
	if ctx.IsTLS() && !localName(string(ctx.Host())) {
		ctx.Response.Header.Set(fasthttp.HeaderStrictTransportSecurity, strictTransport)
	}
}

// localName reports whether a Host is a name of the machine itself, or an address,
// for which browsers remember nothing.
func localName(name string) bool {
	if only, _, err := net.SplitHostPort(name); err == nil {
		name = only
	}
	name = host.Name(name)
	_, err := netip.ParseAddr(name)
	return err == nil || name == "" || host.Local(name)
}
