package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

// CreateToken makes a token for the account of a name. An account that does not
// exist is created, which takes a plan. One that exists keeps its plan, so naming
// another plan is an error.
type CreateToken struct {
	Account string `json:"account"`
	Plan    string `json:"plan,omitempty"`
	// Sites bound the pages of all tasks that are sent with the token; none: any site.
	Sites []string `json:"sites,omitempty"`
}

// TokenMade is a token with its secret, which is shown this once.
type TokenMade struct {
	Token   string `json:"token"`
	ID      string `json:"id"`
	Account string `json:"account"`
}

func (CreateToken) path() string    { return "/token/create" }
func (c CreateToken) about() string { return c.Account }

// Do is part of [Command].
func (c CreateToken) Do(ctx context.Context, o *Admin) (TokenMade, error) {
	if c.Plan != "" {
		if _, err := engine.ParsePlan(c.Plan); err != nil {
			return TokenMade{}, err
		}
	}
	if err := lang.CheckSites(c.Sites); err != nil {
		return TokenMade{}, fmt.Errorf("the token's sites: %w", err)
	}
	account, err := o.Accounts.ByName(ctx, c.Account)
	switch {
	case errors.Is(err, persistence.ErrNotFound) && c.Plan == "":
		err = fmt.Errorf("there is no account %q: name a plan to create it", c.Account)
	case errors.Is(err, persistence.ErrNotFound):
		account, err = o.Accounts.Create(ctx, c.Account, c.Plan)
	case err == nil && c.Plan != "" && account.Plan != c.Plan:
		err = fmt.Errorf("account %q has the plan %s, not %s: leave the plan out to make a token for it", c.Account, account.Plan, c.Plan)
	}
	if err == nil && account.Operator && o.remote {
		err = fmt.Errorf("account %q is the operator's: its tokens are made on the machine itself, with troupe token create", c.Account)
	}
	if err == nil && account.Operator && len(c.Sites) > 0 {
		err = fmt.Errorf("account %q is the operator's: its tokens cannot be bounded by sites, since they can make others; use another account", c.Account)
	}
	if err != nil {
		return TokenMade{}, err
	}
	secret, t, err := o.Accounts.CreateToken(ctx, account.ID, o.By, c.Sites...)
	return TokenMade{Token: secret, ID: t.ID, Account: account.Name}, err
}

func (CreateToken) gone(ctx context.Context, o *Admin, result json.RawMessage) (string, error) {
	var t TokenMade
	if err := json.Unmarshal(result, &t); err != nil {
		return "", err
	}
	_, err := o.Accounts.Lookup(ctx, t.Token)
	if errors.Is(err, persistence.ErrNotFound) {
		return "token", nil
	}
	return "", err
}

// ListTokens lists the tokens of an account, or of all without a name.
type ListTokens struct {
	Account string `json:"account,omitempty"`
}

// Token is a token without its secret.
type Token struct {
	ID       string             `json:"id"`
	Account  string             `json:"account"`
	Created  time.Time          `json:"created"`
	IssuedBy persistence.Issuer `json:"issuedBy"`
	Sites    []string           `json:"sites,omitempty"` // that pages of its tasks may be from; none: any
}

func (t TokenMade) detail() string { return t.ID }
func (t Token) detail() string     { return t.Account }

func (ListTokens) path() string { return "/token/list" }

// Do is part of [Command].
func (l ListTokens) Do(ctx context.Context, o *Admin) ([]Token, error) {
	find := o.Accounts.AllTokens
	if l.Account != "" {
		a, err := o.account(ctx, l.Account)
		if err != nil {
			return nil, err
		}
		find = func(ctx context.Context) ([]persistence.Token, error) { return o.Accounts.ListTokens(ctx, a.ID) }
	}
	found, err := find(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Token, len(found))
	for i, t := range found {
		all[i] = Token{ID: t.ID, Account: persistence.AccountName(t.Account), Created: t.Created, IssuedBy: answer.IssuerOf(t.Issued), Sites: t.Sites}
	}
	slices.SortFunc(all, func(a, b Token) int {
		return cmp.Or(strings.Compare(a.Account, b.Account), a.Created.Compare(b.Created))
	})
	return all, nil
}

// RevokeToken makes a token worthless.
type RevokeToken struct {
	ID string `json:"id"`
}

func (RevokeToken) path() string { return "/token/revoke" }

func (r RevokeToken) about() string {
	if persistence.LooksLikeToken(r.ID) {
		return ""
	}
	return r.ID
}

// Do is part of [Command].
func (r RevokeToken) Do(ctx context.Context, o *Admin) (Token, error) {
	if persistence.LooksLikeToken(r.ID) {
		return Token{}, errors.New("that is a token itself, which must not appear on a command line: name its id, which begins with tok_")
	}
	all, err := ListTokens{}.Do(ctx, o)
	if err != nil {
		return Token{}, err
	}
	i := slices.IndexFunc(all, func(t Token) bool { return t.ID == r.ID })
	if i < 0 {
		return Token{}, fmt.Errorf("there is no token %q", r.ID)
	}
	return all[i], o.Accounts.RevokeToken(ctx, r.ID, o.By)
}
