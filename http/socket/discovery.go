package socket

import (
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/http/access"
	"troupe/http/answer"
)

// Version is what clients ask for before they connect, in the names of Chromium.
type Version struct {
	Browser  string `json:"Browser"`
	Protocol string `json:"Protocol-Version"`
	Address  string `json:"webSocketDebuggerUrl"`
}

// Listed is one thing to connect to, in the names of Chromium.
type Listed struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	URL     string `json:"url"`
	Address string `json:"webSocketDebuggerUrl"`
}

// Version says where to connect. It does not use a ticket up: the address carries it on.
func (s *Sockets) Version(ctx *fasthttp.RequestCtx, session string) *answer.Refusal {
	b, no := s.authorize(ctx, session, false)
	if no == nil {
		answer.SendJSON(ctx, fasthttp.StatusOK, Version{"Chrome", "1.3", s.address(ctx, session, b.ticket)})
	}
	return no
}

// List lists what to connect to: the session. Its pages are found over the connection.
func (s *Sockets) List(ctx *fasthttp.RequestCtx, session string) *answer.Refusal {
	b, no := s.authorize(ctx, session, false)
	if no == nil {
		answer.SendJSON(ctx, fasthttp.StatusOK, []Listed{{ID: session, Type: "browser", Title: b.session.Label, Address: s.address(ctx, session, b.ticket)}})
	}
	return no
}

// address is where the socket of a session is, as the client has reached the service.
func (s *Sockets) address(ctx *fasthttp.RequestCtx, session, ticket string) string {
	u := url.URL{Scheme: "ws", Host: string(ctx.Host()), Path: "/v1/sessions/" + session + "/cdp"}
	proto := string(ctx.Request.Header.Peek("X-Forwarded-Proto"))
	if ctx.IsTLS() || s.cfg.Control.Trusted(access.AddrOf(ctx.Conn())) && strings.EqualFold(proto, "https") {
		u.Scheme = "wss"
	}
	if ticket != "" {
		u.RawQuery = "ticket=" + url.QueryEscape(ticket)
	}
	return u.String()
}
