package http

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/answer"
	"troupe/persistence"
)

// pass is by what somebody looks at something for longer than an answer takes.
type pass struct {
	account persistence.Account
	token   string  // empty: a ticket was shown
	ticket  *ticket // nil: a token was
}

// liveProtocol is the protocol of live pictures over a socket. Beside it a page
// names its ticket: browsers let it say nothing else in the headers, and unlike
// an address they are in no log and no history.
const liveProtocol = "troupe.live"

// pass finds what a request for an object carries: a token, or a ticket for it.
// A link is not taken from an address.
func (s *Server) pass(ctx *fasthttp.RequestCtx, object string) (*pass, *answer.Refusal) {
	named := protocolTicket(ctx)
	plain := named
	if plain == "" {
		plain = string(ctx.QueryArgs().Peek("ticket"))
	}
	if plain == "" || len(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)) > 0 {
		account, token, no := s.control.Account(ctx)
		return &pass{account: account, token: token}, no
	}
	if no := s.control.Admit(ctx, plain); no != nil {
		return nil, no
	}
	t, ok, err := s.tickets.of(s.base, plain, object, time.Now())
	switch {
	case err != nil:
		return nil, s.faults.Refuse(ctx, "look for a ticket", err)
	case !ok:
		s.control.Wrong(ctx)
		return nil, answer.RefuseText(engine.CodeUnauthorized, "The ticket is not valid: it has ended, was revoked, or is for something else")
	case t.link && named == "":
		return nil, answer.RefuseText(engine.CodeUnauthorized, `A link is not taken from an address, which ends up in logs: name it beside the protocol "`+liveProtocol+`" (Sec-WebSocket-Protocol)`)
	}
	if err := s.stands(t); errors.Is(err, persistence.ErrNotFound) {
		return nil, answer.RefuseText(engine.CodeUnauthorized, "The ticket is not valid: the token that made it was revoked")
	} else if err != nil {
		return nil, s.faults.Refuse(ctx, "look up the token of a ticket", err)
	}
	return &pass{account: t.account, ticket: t}, nil
}

// stands looks whether the token is still valid that a ticket was made with. With
// it goes all that it has made.
func (s *Server) stands(t *ticket) error {
	_, err := s.cfg.Auth.LookupDigest(s.base, t.by)
	if errors.Is(err, persistence.ErrNotFound) {
		if err := s.tickets.fall(s.base, t.by); err != nil { // the others see it for themselves
			s.cfg.Log.Warn().Err(err).Msg("the other nodes could not be told of tickets that have ended")
		}
	}
	return err
}

// protocolTicket is the ticket that stands beside the protocol of a socket.
func protocolTicket(ctx *fasthttp.RequestCtx) string {
	var named []string
	for _, h := range ctx.Request.Header.PeekAll("Sec-WebSocket-Protocol") {
		for _, p := range strings.Split(string(h), ",") {
			named = append(named, strings.TrimSpace(p))
		}
	}
	if !slices.Contains(named, liveProtocol) {
		return ""
	}
	for _, p := range named {
		if strings.HasPrefix(p, asTicket.sign) || strings.HasPrefix(p, asLink.sign) {
			return p
		}
	}
	return ""
}

// revoked is closed when the pass is worth nothing any more before its time; nil
// where only asking tells.
func (p *pass) revoked() <-chan struct{} {
	if p.ticket == nil {
		return nil
	}
	return p.ticket.revoked
}

// ends is how long a link still lives. What a ticket or a token has opened goes
// on.
func (p *pass) ends() <-chan time.Time {
	if p.ticket == nil || !p.ticket.link {
		return nil
	}
	return time.After(time.Until(p.ticket.expires))
}

// holds reports whether the token is still valid, that of a ticket the one that
// made it. A store that does not answer ends nothing.
func (s *Server) holds(p *pass) bool {
	var err error
	if p.ticket != nil {
		err = s.stands(p.ticket)
	} else {
		_, err = s.cfg.Auth.Lookup(s.base, p.token)
	}
	return err == nil || !errors.Is(err, persistence.ErrNotFound)
}

// guard lets a stream end with the pass that opened it.
type guard struct {
	server *Server
	pass   *pass
	looked time.Time // when the pass was last seen to be valid
}

// guarded ends a stream when its pass is revoked, or when the other thing happens.
func (s *Server) guarded(t *stream, p *pass, also <-chan struct{}) *guard {
	gone := t.stop
	ctx, cancel := context.WithCancel(t.ctx)
	t.ctx = ctx
	go func() { // ends with the stream
		select {
		case <-p.revoked():
			cancel()
		case <-also:
			cancel()
		case <-ctx.Done():
		}
	}()
	t.stop = func() {
		cancel()
		gone()
	}
	return &guard{s, p, time.Now()}
}

// lets looks now and then whether the client may still hear of anything.
func (g *guard) lets() bool {
	now := time.Now()
	if now.Sub(g.looked) < g.server.cfg.Heartbeat {
		return true
	}
	g.looked = now
	return g.server.holds(g.pass)
}
