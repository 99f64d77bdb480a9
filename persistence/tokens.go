package persistence

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"troupe/persistence/owned"
)

const (
	tokenPrefix = "token/"  // followed by the token's hash in hexadecimal
	tokenSign   = "troupe_" // begins every token, so that scanners know one
	tokenBytes  = 32        // of randomness
	tokenID     = "tok_"    // followed by the beginning of the hash
	tokenIDSize = 16        // hexadecimal digits of the hash in an identifier
)

var _ = owned.Register(owned.Kind{Prefix: tokenPrefix, By: owned.Nobody, Apart: "the operator makes them"})

// LooksLikeToken reports whether a text is a token rather than a token's
// identifier.
func LooksLikeToken(s string) bool { return strings.HasPrefix(s, tokenSign) }

// CreateToken makes a token for an account and returns its only copy. The account
// can see who has made it. Sites bound where its tasks may go; none: anywhere.
func (a *Accounts) CreateToken(ctx context.Context, account string, by Issuer, sites ...string) (string, Token, error) {
	if _, err := a.Get(ctx, account); err != nil {
		return "", Token{}, fmt.Errorf("create token for %q: %w", account, err)
	}
	secret := make([]byte, tokenBytes)
	rand.Read(secret)
	plain := tokenSign + base64.RawURLEncoding.EncodeToString(secret)
	sum := sha256.Sum256([]byte(plain))
	digits := hex.EncodeToString(sum[:])
	t := Token{ID: tokenID + digits[:tokenIDSize], Account: account, Hash: sum[:], Created: time.Now().UTC(), Issued: &by, Sites: sites}
	value, err := json.Marshal(t)
	if err == nil {
		err = a.recordEvent(ctx, TokenEvent{Event: TokenIssued, Token: t.ID, Account: account, At: t.Created, By: by, Created: t.Created})
	}
	if err == nil {
		var none uint64
		_, err = PutOwn(ctx, a.store, Write{Key: tokenPrefix + digits, Value: value, If: &none, Durable: true})
	}
	if err != nil {
		return "", Token{}, fmt.Errorf("create token for %q: %w", account, err)
	}
	return plain, t, nil
}

// Digest identifies a token where only its validity matters. The token cannot be
// derived from it.
type Digest [sha256.Size]byte

// TokenID returns the identifier of the token with a digest.
func (d Digest) TokenID() string { return tokenID + hex.EncodeToString(d[:])[:tokenIDSize] }

// DigestOf is the digest of a token.
func DigestOf(plain string) Digest { return sha256.Sum256([]byte(plain)) }

// Lookup returns the account of a token, or ErrNotFound, mostly from memory.
func (a *Accounts) Lookup(ctx context.Context, plain string) (Account, error) {
	if len(plain) != len(tokenSign)+base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return Account{}, ErrNotFound
	}
	return a.LookupDigest(ctx, DigestOf(plain))
}

// LookupDigest is Lookup for a token that was shown before.
func (a *Accounts) LookupDigest(ctx context.Context, sum Digest) (Account, error) {
	acc, generation, known := a.cache.get(sum)
	if known {
		return acc, nil
	}
	r, err := a.store.Get(ctx, tokenPrefix+hex.EncodeToString(sum[:]))
	if err != nil {
		return Account{}, err
	}
	t, err := tokenOf(r)
	if err != nil {
		return Account{}, err
	}
	if subtle.ConstantTimeCompare(t.Hash, sum[:]) != 1 {
		return Account{}, ErrNotFound
	}
	acc, err = a.Get(ctx, t.Account)
	if err != nil {
		return Account{}, err
	}
	acc.Sites = t.Sites
	a.cache.put(sum, acc, generation)
	return acc, nil
}

// ListTokens returns the tokens of an account.
func (a *Accounts) ListTokens(ctx context.Context, account string) ([]Token, error) {
	return a.tokens(ctx, func(t Token) bool { return t.Account == account })
}

// AllTokens returns the tokens of all accounts.
func (a *Accounts) AllTokens(ctx context.Context) ([]Token, error) {
	return a.tokens(ctx, func(Token) bool { return true })
}

func (a *Accounts) tokens(ctx context.Context, is func(Token) bool) ([]Token, error) {
	records, err := a.store.List(ctx, tokenPrefix)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	var list []Token
	for _, r := range records {
		t, err := tokenOf(r)
		if err != nil {
			return nil, err
		}
		if is(t) {
			list = append(list, t)
		}
	}
	return list, nil
}

// RevokeToken revokes a token by its [Token.ID]. The account can see who has
// revoked it.
func (a *Accounts) RevokeToken(ctx context.Context, id string, by Issuer) error {
	return a.revoke(ctx, id, func(t Token) error {
		return a.recordEvent(ctx, TokenEvent{Event: TokenRevoked, Token: t.ID, Account: t.Account, At: time.Now().UTC(), By: by, Created: t.Created, Issued: t.Issued})
	})
}

// revoke calls before for the token before it is revoked.
func (a *Accounts) revoke(ctx context.Context, id string, before func(Token) error) error {
	digits, ok := strings.CutPrefix(id, tokenID)
	if _, err := hex.DecodeString(digits); !ok || err != nil || len(digits) != tokenIDSize {
		return fmt.Errorf("revoke token %q: %w", id, ErrNotFound)
	}
	records, err := a.store.List(ctx, tokenPrefix+digits)
	if err == nil && len(records) == 0 {
		err = ErrNotFound
	}
	for _, r := range records {
		t, e := tokenOf(r)
		if e == nil {
			e = before(t)
		}
		// The token is revoked even if the event could not be recorded.
		err = errors.Join(err, e, a.store.Delete(ctx, r.Key, nil, true))
	}
	a.cache.clear()
	if err != nil {
		return fmt.Errorf("revoke token %q: %w", id, err)
	}
	return nil
}

func tokenOf(r Record) (Token, error) {
	var t Token
	if err := json.Unmarshal(r.Value, &t); err != nil {
		return Token{}, fmt.Errorf("read token at %q: %w", r.Key, err)
	}
	return t, nil
}

// cacheSize bounds how many tokens are remembered.
const cacheSize = 10_000

// tokenCache remembers whose token is whose. Any change to a token or an
// account empties it.
type tokenCache struct {
	mu         sync.Mutex
	following  bool // changes are followed
	generation uint64
	accounts   map[[sha256.Size]byte]Account
	tokens     map[string][]Token // by account; nil: not read since the last change
}

// get returns what is remembered, or what put wants to know later on.
func (c *tokenCache) get(sum [sha256.Size]byte) (Account, uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	acc, ok := c.accounts[sum]
	return acc, c.generation, ok
}

// put remembers what was read since get, unless something changed meanwhile.
func (c *tokenCache) put(sum [sha256.Size]byte, acc Account, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.following || c.generation != generation {
		return
	}
	if len(c.accounts) >= cacheSize {
		clear(c.accounts)
	}
	if c.accounts == nil {
		c.accounts = map[[sha256.Size]byte]Account{}
	}
	c.accounts[sum] = acc
}

func (c *tokenCache) clear() { c.set(func() {}) }

func (c *tokenCache) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	clear(c.accounts)
	c.tokens = nil
	f()
}

// follow empties the cache at every change, until the store is closed. While
// changes cannot be followed nothing is remembered.
func (c *tokenCache) follow(store Store) {
	ctx, cancel := context.WithCancel(context.Background())
	tokens, err := store.Watch(ctx, tokenPrefix)
	accounts, err2 := store.Watch(ctx, accountPrefix)
	if err := errors.Join(err, err2); err != nil {
		cancel()
		if !errors.Is(err, ErrClosed) {
			time.AfterFunc(time.Second, func() { c.follow(store) })
		}
		return
	}
	c.set(func() { c.following = true })
	go func() {
		for open := true; open; {
			select {
			case _, open = <-tokens:
			case _, open = <-accounts:
			}
			c.clear()
		}
		c.set(func() { c.following = false })
		cancel()
		c.follow(store)
	}()
}
