package persistence

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/persistence/owned"
)

// How a token was issued or revoked, see [Issuer.Via].
const (
	ViaSocket  = "socket"  // an operator's command, through the private socket
	ViaCommand = "command" // an operator's command while no service ran
	ViaStart   = "start"   // the first start of the service
	ViaHTTP    = "http"    // an operator's token, over HTTP
	ViaUnknown = "unknown" // by a version that did not record it
)

// Issuer is the operator or account that issued or revoked a token. The token's
// account may see it.
type Issuer struct {
	Via     string `json:"via"`
	Account string `json:"account,omitempty"`   // with ViaHTTP: the name of the operator's account
	Token   string `json:"tokenId,omitempty"`   // with ViaHTTP: the id of the operator's token
	Request string `json:"requestId,omitempty"` // with ViaHTTP
}

// The kinds of [TokenEvent].
const (
	TokenIssued  = "issued"
	TokenRevoked = "revoked"
)

// TokenEvent is a change to the tokens of an account, as the account sees it. It
// outlives the token: one that was issued, used and revoked within a minute is
// visible, too.
type TokenEvent struct {
	Event   string    `json:"event"`
	Token   string    `json:"tokenId"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
	By      Issuer    `json:"by"`
	Created time.Time `json:"created"`            // of the token
	Issued  *Issuer   `json:"issuedBy,omitempty"` // of a revoked token
}

const (
	// tokenEventPrefix is followed by the account, the time and the token.
	tokenEventPrefix = "token-event/"
	tokenEventsKept  = 90 * 24 * time.Hour
	// maxTokenEvents bounds how many are kept of an account: the oldest go first.
	maxTokenEvents = 200
)

var _ = owned.Register(owned.Kind{Prefix: tokenEventPrefix, By: owned.Nobody, Apart: "maxTokenEvents of an account"})

// recordEvent keeps an event. It is written before the change itself: no change may
// happen without its event, while the event of a failed change does no harm.
func (a *Accounts) recordEvent(ctx context.Context, e TokenEvent) error {
	value, err := json.Marshal(e)
	if err != nil {
		return err
	}
	prefix := tokenEventPrefix + e.Account + "/"
	key := fmt.Sprintf("%s%019d-%s-%s", prefix, e.At.UnixNano(), strings.TrimPrefix(e.Token, tokenID), e.Event)
	if _, err := a.store.Put(ctx, Write{Key: key, Value: value, Expires: e.At.Add(tokenEventsKept), Durable: true}); err != nil {
		return fmt.Errorf("tell the account: %w", err)
	}
	all, err := a.store.List(ctx, prefix)
	for i := 0; err == nil && i < len(all)-maxTokenEvents; i++ {
		err = a.store.Delete(ctx, all[i].Key, nil, false)
	}
	if err != nil {
		return fmt.Errorf("tell the account: %w", err)
	}
	return nil
}

// TokenEvents returns the events of an account's tokens, oldest first: the last
// 200 of the last 90 days.
func (a *Accounts) TokenEvents(ctx context.Context, account string) ([]TokenEvent, error) {
	records, err := a.store.List(ctx, tokenEventPrefix+account+"/")
	if err != nil {
		return nil, fmt.Errorf("list events of tokens: %w", err)
	}
	list := make([]TokenEvent, 0, len(records))
	for _, r := range records {
		e, err := tokenEventOf(r)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

func tokenEventOf(r Record) (TokenEvent, error) {
	var e TokenEvent
	if err := json.Unmarshal(r.Value, &e); err != nil {
		return TokenEvent{}, fmt.Errorf("read the event of a token at %q: %w", r.Key, err)
	}
	return e, nil
}

// FollowTokens calls heard for each token event of all accounts, until ctx ends or
// the store is closed. It skips events while the store does not answer:
// [Accounts.TokenEvents] has them.
func (a *Accounts) FollowTokens(ctx context.Context, heard func(TokenEvent)) {
	for ctx.Err() == nil {
		events, err := a.store.Watch(ctx, tokenEventPrefix)
		if errors.Is(err, ErrClosed) {
			return
		}
		for err == nil {
			e, open := <-events
			if !open {
				break
			}
			if e.Deleted {
				continue
			}
			if t, err := tokenEventOf(e.Record); err == nil {
				heard(t)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// forgetTokenEvents removes the token events of a deleted account.
func (a *Accounts) forgetTokenEvents(ctx context.Context, account string) error {
	records, err := a.store.List(ctx, tokenEventPrefix+account+"/")
	for _, r := range records {
		err = errors.Join(err, a.store.Delete(ctx, r.Key, nil, true))
	}
	if err != nil {
		return fmt.Errorf("remove the events of tokens: %w", err)
	}
	return nil
}

// TokensOf returns the tokens of an account, the oldest first. It seldom reads
// the store: clients may ask for it often, and the tokens of all accounts lie
// together.
func (a *Accounts) TokensOf(ctx context.Context, account string) ([]Token, error) {
	list, generation, known := a.cache.tokensOf(account)
	if known {
		return list, nil
	}
	all, err := a.AllTokens(ctx)
	if err != nil {
		return nil, err
	}
	by := map[string][]Token{}
	for _, t := range all {
		by[t.Account] = append(by[t.Account], t)
	}
	for _, own := range by {
		slices.SortFunc(own, func(x, y Token) int { return cmp.Or(x.Created.Compare(y.Created), strings.Compare(x.ID, y.ID)) })
	}
	a.cache.putTokens(by, generation)
	return by[account], nil
}

// tokensOf returns what is remembered of the tokens of an account, or what
// putTokens wants to know later on.
func (c *tokenCache) tokensOf(account string) ([]Token, uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tokens[account], c.generation, c.tokens != nil
}

func (c *tokenCache) putTokens(by map[string][]Token, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.following && c.generation == generation {
		c.tokens = by
	}
}
