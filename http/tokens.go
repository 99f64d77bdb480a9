package http

import (
	"context"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/persistence"
)

// Tokens knows the tokens of accounts. [persistence.Accounts] is one.
type Tokens interface {
	TokensOf(ctx context.Context, account string) ([]persistence.Token, error)
	TokenEvents(ctx context.Context, account string) ([]persistence.TokenEvent, error)
	FollowTokens(ctx context.Context, heard func(persistence.TokenEvent))
}

// ownTokens is what an account is told of its tokens.
type ownTokens struct {
	Success bool           `json:"success"`
	Tokens  []ownToken     `json:"tokens"`
	Revoked []revokedToken `json:"revoked"`
}

type (
	ownToken struct {
		ID       string             `json:"tokenId"`
		Created  time.Time          `json:"createdAt"`
		IssuedBy persistence.Issuer `json:"issuedBy"`
		Current  bool               `json:"current"` // the request was sent with it
	}
	revokedToken struct {
		ID        string             `json:"tokenId"`
		Created   time.Time          `json:"createdAt"`
		IssuedBy  persistence.Issuer `json:"issuedBy"`
		Revoked   time.Time          `json:"revokedAt"`
		RevokedBy persistence.Issuer `json:"revokedBy"`
	}
	tokenNews struct {
		Event string             `json:"event"` // issued or revoked
		ID    string             `json:"tokenId"`
		At    time.Time          `json:"at"`
		By    persistence.Issuer `json:"by"`
	}
)

// listOwnTokens answers with the tokens of the account, those that were revoked
// too: an operator may issue one, use it and revoke it.
func (s *Server) listOwnTokens(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	if s.cfg.Tokens == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	tokens, err := s.cfg.Tokens.TokensOf(s.base, account.ID)
	if err != nil {
		return s.faults.Refuse(ctx, "list an account's tokens", err)
	}
	events, err := s.cfg.Tokens.TokenEvents(s.base, account.ID)
	if err != nil {
		return s.faults.Refuse(ctx, "list an account's tokens", err)
	}
	shown, _ := access.Bearer(ctx)
	current := persistence.DigestOf(shown).TokenID()
	a := ownTokens{Success: true, Tokens: []ownToken{}, Revoked: []revokedToken{}}
	alive := map[string]bool{}
	for _, t := range tokens {
		alive[t.ID] = true
		a.Tokens = append(a.Tokens, ownToken{t.ID, t.Created, answer.IssuerOf(t.Issued), t.ID == current})
	}
	for _, e := range events {
		if e.Event == persistence.TokenRevoked && !alive[e.Token] {
			a.Revoked = append(a.Revoked, revokedToken{e.Token, e.Created, answer.IssuerOf(e.Issued), e.At, answer.IssuerOf(&e.By)})
		}
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, a)
	return nil
}

// maxTokenFeed is how many events wait for a reader before it is cut off.
const maxTokenFeed = 100

// tokenFeeds hands what happens to tokens to those who read an account's news.
type tokenFeeds struct {
	mu sync.Mutex
	by map[string]map[*tokenFeed]struct{}
}

// tokenFeed is what one reader has not taken yet.
type tokenFeed struct {
	account string
	mu      sync.Mutex
	events  []persistence.TokenEvent
	behind  bool
	rouse   func() // nil: nobody waits
}

func (f *tokenFeeds) open(account string) *tokenFeed {
	r := &tokenFeed{account: account}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[string]map[*tokenFeed]struct{}{}
	}
	if f.by[account] == nil {
		f.by[account] = map[*tokenFeed]struct{}{}
	}
	f.by[account][r] = struct{}{}
	return r
}

func (f *tokenFeeds) close(r *tokenFeed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.by[r.account], r)
	if len(f.by[r.account]) == 0 {
		delete(f.by, r.account)
	}
}

// tell hands an event to the readers of its account. It waits for nobody.
func (f *tokenFeeds) tell(e persistence.TokenEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.by[e.Account] {
		r.add(e)
	}
}

func (r *tokenFeed) add(e persistence.TokenEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.behind = r.behind || len(r.events) == maxTokenFeed; !r.behind {
		r.events = append(r.events, e)
	}
	if r.rouse != nil {
		r.rouse()
	}
}

// wake calls rouse as soon as there is an event.
func (r *tokenFeed) wake(rouse func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rouse = rouse; len(r.events) > 0 || r.behind {
		rouse()
	}
}

// take returns the events since the last call. After that rouse is not called.
func (r *tokenFeed) take() (events []persistence.TokenEvent, behind bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events, r.events, r.rouse = r.events, nil, nil
	return events, r.behind
}
