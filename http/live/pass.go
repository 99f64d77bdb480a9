package live

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/answer"
	"troupe/persistence"
)

// Pass is by what somebody looks at something for longer than an answer takes.
type Pass struct {
	account persistence.Account
	token   string  // empty: a ticket was shown
	ticket  *ticket // nil: a token was
}

// Protocol is the protocol of live pictures over a socket. Beside it a page
// names its ticket: browsers let it say nothing else in the headers, and unlike
// an address they are in no log and no history.
const Protocol = "troupe.live"

// Pass finds what a request for an object carries: a token, or a ticket for it.
// A link is not taken from an address.
func (s *Passes) Pass(ctx *fasthttp.RequestCtx, object string) (*Pass, *answer.Refusal) {
	named := protocolTicket(ctx)
	plain := named
	if plain == "" {
		plain = string(ctx.QueryArgs().Peek("ticket"))
	}
	if plain == "" || len(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)) > 0 {
		account, token, no := s.cfg.Control.Account(ctx)
		return &Pass{account: account, token: token}, no
	}
	if no := s.cfg.Control.Admit(ctx, plain); no != nil {
		return nil, no
	}
	t, ok, err := s.tickets.of(s.cfg.Faults.Base, plain, object, time.Now())
	switch {
	case err != nil:
		return nil, s.cfg.Faults.Refuse(ctx, "look for a ticket", err)
	case !ok:
		s.cfg.Control.Wrong(ctx)
		return nil, answer.RefuseText(engine.CodeUnauthorized, "The ticket is not valid: it has ended, was revoked, or is for something else")
	case t.link && named == "":
		return nil, answer.RefuseText(engine.CodeUnauthorized, `A link is not taken from an address, which ends up in logs: name it beside the protocol "`+Protocol+`" (Sec-WebSocket-Protocol)`)
	}
	if err := s.stands(t); errors.Is(err, persistence.ErrNotFound) {
		return nil, answer.RefuseText(engine.CodeUnauthorized, "The ticket is not valid: the token that made it was revoked")
	} else if err != nil {
		return nil, s.cfg.Faults.Refuse(ctx, "look up the token of a ticket", err)
	}
	return &Pass{account: t.account, ticket: t}, nil
}

// stands looks whether the token is still valid that a ticket was made with. With
// it goes all that it has made.
func (s *Passes) stands(t *ticket) error {
	_, err := s.cfg.Auth.LookupDigest(s.cfg.Faults.Base, t.by)
	if errors.Is(err, persistence.ErrNotFound) {
		if err := s.tickets.fall(s.cfg.Faults.Base, t.by); err != nil { // the others see it for themselves
			s.cfg.Faults.Log.Warn().Err(err).Msg("the other nodes could not be told of tickets that have ended")
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
	if !slices.Contains(named, Protocol) {
		return ""
	}
	for _, p := range named {
		if strings.HasPrefix(p, Ticket.sign) || strings.HasPrefix(p, Link.sign) {
			return p
		}
	}
	return ""
}

// revoked is closed when the pass is worth nothing any more before its time; nil
// where only asking tells.
func (p *Pass) revoked() <-chan struct{} {
	if p.ticket == nil {
		return nil
	}
	return p.ticket.revoked
}

// ends is how long a link still lives. What a ticket or a token has opened goes
// on.
func (p *Pass) ends() <-chan time.Time {
	if p.ticket == nil || !p.ticket.link {
		return nil
	}
	return time.After(time.Until(p.ticket.expires))
}

// holds reports whether the token is still valid, that of a ticket the one that
// made it. A store that does not answer ends nothing.
func (s *Passes) holds(p *Pass) bool {
	var err error
	if p.ticket != nil {
		err = s.stands(p.ticket)
	} else {
		_, err = s.cfg.Auth.Lookup(s.cfg.Faults.Base, p.token)
	}
	return err == nil || !errors.Is(err, persistence.ErrNotFound)
}
