package http

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/engine/host"
	"troupe/http/answer"
)

// LocalHosts is what stands for the names under which a machine knows itself,
// in [Config.Hosts].
const LocalHosts = "localhost"

// ParseOrigin checks the spelling of an origin, such as
// "https://console.example.org".
func ParseOrigin(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q is not an origin: want a scheme and a host, such as https://console.example.org", s)
	}
	return strings.ToLower(s), nil
}

// foreign refuses what a browser sends on behalf of somebody else's page, and
// answers the question that browsers ask before they send such a request.
//
// A name of an attacker may resolve to this machine, and then a browser takes
// the service for the attacker's own site: only the Host tells. Everything else
// that a page of another site sends carries its Origin.
func (s *Server) foreign(ctx *fasthttp.RequestCtx) (*answer.Refusal, bool) {
	host := string(ctx.Request.Header.Host())
	if !s.ownHost(host) || !s.ownHost(string(ctx.Host())) { // the second is that of an absolute address
		return answer.Refuse(answer.CodeWrongHost), true
	}
	sent := ctx.Request.Header.PeekAll(fasthttp.HeaderOrigin)
	if len(s.cfg.Origins) > 0 {
		ctx.Response.Header.Add(fasthttp.HeaderVary, fasthttp.HeaderOrigin) // no cache may give one origin's answer to another
	}
	if len(sent) == 0 {
		return nil, false
	}
	origin := string(sent[0])
	allowed := len(sent) == 1 && slices.Contains(s.cfg.Origins, strings.ToLower(origin))
	if !allowed && (len(sent) > 1 || !sameHost(origin, host)) {
		return answer.Refuse(answer.CodeForeignOrigin), true
	}
	if !allowed {
		return nil, false
	}
	h := &ctx.Response.Header
	h.Set(fasthttp.HeaderAccessControlAllowOrigin, origin)
	h.Set(fasthttp.HeaderAccessControlExposeHeaders, exposedHeaders)
	method := string(ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestMethod))
	if string(ctx.Method()) != fasthttp.MethodOptions || method == "" {
		return nil, false
	}
	methods, headers := s.router.preflight(pathOf(ctx), method)
	h.Set(fasthttp.HeaderAccessControlAllowMethods, strings.Join(methods, ", "))
	h.Set(fasthttp.HeaderAccessControlAllowHeaders, strings.Join(headers, ", "))
	h.Set(fasthttp.HeaderAccessControlMaxAge, "600")
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil, true
}

// exposedHeaders are those of answers that a page of an allowed origin may read.
const exposedHeaders = "X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, " +
	"Allow, ETag, Content-Disposition, Content-Range, Accept-Ranges"

// ownHost reports whether a Host header names the service.
func (s *Server) ownHost(header string) bool {
	if len(s.cfg.Hosts) == 0 {
		return true
	}
	name := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		name = h
	}
	name = host.Name(name)
	for _, own := range s.cfg.Hosts {
		if name == host.Name(own) {
			return true
		}
		if own == LocalHosts && host.Local(name) {
			return true
		}
	}
	return false
}

// sameHost reports whether an origin is that of the service's own address. The
// scheme is not compared: something before the service may do TLS.
func sameHost(origin, name string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false // "null" is what a sandboxed or local page sends
	}
	own, err := url.Parse(u.Scheme + "://" + name)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && host.WithPort(u) == host.WithPort(own)
}
