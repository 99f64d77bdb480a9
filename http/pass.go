package http

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine"
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
func (s *Server) pass(ctx *fasthttp.RequestCtx, object string) (*pass, *refusal) {
	named := protocolTicket(ctx)
	plain := named
	if plain == "" {
		plain = string(ctx.QueryArgs().Peek("ticket"))
	}
	if plain == "" || len(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)) > 0 {
		account, token, no := s.account(ctx)
		return &pass{account: account, token: token}, no
	}
	from := s.client(ctx)
	if wait := s.guesses.wait(from, plain, time.Now()); wait > 0 {
		return nil, guessing(wait)
	}
	t, ok, err := s.tickets.of(s.base, plain, object, time.Now())
	switch {
	case err != nil:
		return nil, s.failed(ctx, "look for a ticket", err)
	case !ok:
		s.guesses.wrong(from, time.Now())
		return nil, refuseText(engine.CodeUnauthorized, "The ticket is not valid: it has ended, was revoked, or is for something else")
	case t.link && named == "":
		return nil, refuseText(engine.CodeUnauthorized, `A link is not taken from an address, which ends up in logs: name it beside the protocol "`+liveProtocol+`" (Sec-WebSocket-Protocol)`)
	}
	return &pass{account: t.account, ticket: t}, nil
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

// holds reports whether the token is still valid. A store that does not answer
// ends nothing.
func (s *Server) holds(p *pass) bool {
	if p.token == "" {
		return true
	}
	_, err := s.cfg.Door.Lookup(s.base, p.token)
	return err == nil || !errors.Is(err, persistence.ErrNotFound)
}

// seats counts how much each account has open at once.
type seats struct {
	most int
	mu   sync.Mutex
	by   map[string]int
	all  int
}

// take takes one, if the account has one left. What it returns gives it back.
func (s *seats) take(account string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[account] >= s.most {
		return nil, false
	}
	if s.by == nil {
		s.by = map[string]int{}
	}
	s.by[account]++
	s.all++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.by[account]--; s.by[account] == 0 {
			delete(s.by, account)
		}
	}), true
}

func (s *seats) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}
