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

// Credential is the token or ticket with which a client follows a stream.
type Credential struct {
	account persistence.Account
	token   string  // empty: a ticket was shown
	ticket  *ticket // nil: a token was
}

// Protocol is the protocol of live pictures over a socket. Beside it a page
// names its ticket: browsers let it say nothing else in the headers, and unlike
// an address they are in no log and no history.
const Protocol = "troupe.live"

// Authorize finds the credential of a request for an object: a token, or a ticket
// for it. A link in the URL is refused.
func (s *Authorizer) Authorize(ctx *fasthttp.RequestCtx, object string) (*Credential, *answer.Refusal) {
	named := protocolTicket(ctx)
	plain := named
	if plain == "" {
		plain = string(ctx.QueryArgs().Peek("ticket"))
	}
	if plain == "" || len(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)) > 0 {
		account, token, no := s.cfg.Control.Account(ctx)
		return &Credential{account: account, token: token}, no
	}
	t, ok, err := s.tickets.of(s.cfg.Faults.Base, plain, object, time.Now())
	switch {
	case err != nil:
		return nil, s.cfg.Faults.Refuse(ctx, "look for a ticket", err)
	case !ok:
		return nil, s.cfg.Control.Wrong(ctx, "The ticket is not valid: it has expired, was revoked, or is for another object")
	case t.link && named == "":
		return nil, answer.RefuseText(engine.CodeUnauthorized, `A link must not appear in a URL, which ends up in logs: send it beside the protocol "`+Protocol+`" (Sec-WebSocket-Protocol)`)
	}
	if err := s.checkToken(t); errors.Is(err, persistence.ErrNotFound) {
		return nil, answer.RefuseText(engine.CodeUnauthorized, "The ticket is not valid: the token that made it was revoked")
	} else if err != nil {
		return nil, s.cfg.Faults.Refuse(ctx, "look up the token of a ticket", err)
	}
	return &Credential{account: t.account, ticket: t}, nil
}

// checkToken checks that the token that issued a ticket is still valid. When it is
// not, all tickets that it issued are revoked.
func (s *Authorizer) checkToken(t *ticket) error {
	_, err := s.cfg.Auth.LookupDigest(s.cfg.Faults.Base, t.by)
	if errors.Is(err, persistence.ErrNotFound) {
		if err := s.tickets.revokeMadeBy(s.cfg.Faults.Base, t.by); err != nil { // the others see it for themselves
			s.cfg.Faults.Log.Warn().Err(err).Msg("other nodes could not be notified of tickets that have ended")
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

// revoked is closed when the credential is revoked; nil for a token, which is
// checked by valid.
func (p *Credential) revoked() <-chan struct{} {
	if p.ticket == nil {
		return nil
	}
	return p.ticket.revoked
}

// ends receives when a link expires. Streams opened by a ticket or a token go on.
func (p *Credential) ends() <-chan time.Time {
	if p.ticket == nil || !p.ticket.link {
		return nil
	}
	return time.After(time.Until(p.ticket.expires))
}

// valid reports whether the token is still valid, or that of the ticket. A store
// that does not answer ends no stream.
func (s *Authorizer) valid(p *Credential) bool {
	var err error
	if p.ticket != nil {
		err = s.checkToken(p.ticket)
	} else {
		_, err = s.cfg.Auth.Lookup(s.cfg.Faults.Base, p.token)
	}
	return err == nil || !errors.Is(err, persistence.ErrNotFound)
}
