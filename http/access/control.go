package access

import (
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/answer"
	"troupe/persistence"
)

// Control finds out who sends a request, and slows down addresses that try tokens.
type Control struct {
	auth    Authenticator
	proxies []netip.Prefix
	faults  *answer.Faults
	limiter *authLimiter
}

// NewControl makes one. Proxies are believed about who sent a request.
func NewControl(auth Authenticator, proxies []netip.Prefix, faults *answer.Faults) *Control {
	return &Control{auth: auth, proxies: proxies, faults: faults, limiter: newAuthLimiter()}
}

// Account finds whose token a request carries.
func (c *Control) Account(ctx *fasthttp.RequestCtx) (account persistence.Account, token string, no *answer.Refusal) {
	token, ok := Bearer(ctx)
	if !ok {
		return account, "", answer.RefuseText(engine.CodeUnauthorized, `The header "Authorization: Bearer <token>" is missing`)
	}
	// Before anything is counted, so that a valid token always works. For one that nobody has it
	// is one read of the store: 4 µs on the disk of a node (BenchmarkWrongToken).
	account, err := c.auth.Lookup(c.faults.Base, token)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return account, "", c.Wrong(ctx, "The bearer token is not valid")
	case err != nil:
		return account, "", c.faults.Refuse(ctx, "look up a token", err)
	}
	return account, token, nil
}

// Bearer copies the token out of the request's Authorization header. No other
// place counts: addresses and forms end up in logs and histories.
func Bearer(ctx *fasthttp.RequestCtx) (string, bool) {
	scheme, token, ok := strings.Cut(string(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)), " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// Wrong refuses a request with a secret that nobody has. An address that has sent too many
// of them is told to wait.
func (c *Control) Wrong(ctx *fasthttp.RequestCtx, text string) *answer.Refusal {
	wait, tell := c.limiter.wrong(c.Client(ctx), time.Now())
	if tell > 0 {
		c.faults.Log.Warn().Str("from", c.ClientText(ctx)).Int("count", tell).Str("request", answer.RequestID(ctx)).Msg("requests with tokens that are not valid")
	}
	if wait <= 0 {
		return answer.RefuseText(engine.CodeUnauthorized, text)
	}
	r := answer.RefuseText(engine.CodeRateLimited, "Too many requests with tokens that are not valid came from this address. A valid token works at any time")
	r.RetryAfter = wait
	return r
}

// Client returns the address that a request comes from. A proxy's header counts only if
// the operator trusts the proxy.
func (c *Control) Client(ctx *fasthttp.RequestCtx) netip.Prefix {
	peer := AddrOf(ctx.Conn())
	if !c.Trusted(peer) {
		return Network(peer)
	}
	for _, a := range forwarded(&ctx.Request.Header) {
		if peer = a; !c.Trusted(a) {
			break
		}
	}
	return Network(peer)
}

// Trusted reports whether the operator believes what an address says of others.
func (c *Control) Trusted(a netip.Addr) bool {
	for _, p := range c.proxies {
		if p.Contains(a.Unmap()) {
			return true
		}
	}
	return false
}

// ClientText is the address that a request comes from; of IPv6 its network.
func (c *Control) ClientText(ctx *fasthttp.RequestCtx) string {
	from := c.Client(ctx)
	if from.IsSingleIP() {
		return from.Addr().String()
	}
	return from.String()
}

// Network is what counts as one address: a customer of a network provider
// has one of IPv4, or 64 bits of IPv6 to choose from.
func Network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.Prefix(bits) // without an address it stays the zero value
	return p
}
