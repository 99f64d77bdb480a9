package http

import (
	"context"
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

// ownTokens is what an account sees of its tokens.
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
		Current  bool               `json:"current"`         // the request was sent with it
		Sites    []string           `json:"sites,omitempty"` // that pages of its tasks may be from
	}
	revokedToken struct {
		ID        string             `json:"tokenId"`
		Created   time.Time          `json:"createdAt"`
		IssuedBy  persistence.Issuer `json:"issuedBy"`
		Revoked   time.Time          `json:"revokedAt"`
		RevokedBy persistence.Issuer `json:"revokedBy"`
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
		a.Tokens = append(a.Tokens, ownToken{t.ID, t.Created, answer.IssuerOf(t.Issued), t.ID == current, t.Sites})
	}
	for _, e := range events {
		if e.Event == persistence.TokenRevoked && !alive[e.Token] {
			a.Revoked = append(a.Revoked, revokedToken{e.Token, e.Created, answer.IssuerOf(e.Issued), e.At, answer.IssuerOf(&e.By)})
		}
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, a)
	return nil
}
