package persistence

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"troupe/persistence/owned"
)

// ErrNameTaken: there is an account of that name.
var ErrNameTaken = errors.New("the name is taken")

// accountPrefix is followed by the account's name, which is part of its
// identifier too: so one record is all there is, and it is found by either.
const accountPrefix = "account/"

var _ = owned.Register(owned.Kind{Prefix: accountPrefix, By: owned.Nobody, Apart: "one for each account"})

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$`)

// Accounts keeps accounts and their tokens.
type Accounts struct {
	store Store
	cache tokenCache
}

// NewAccounts keeps accounts in a store. Its cache follows the store's changes
// until the store is closed.
func NewAccounts(store Store) *Accounts {
	a := &Accounts{store: store}
	a.cache.follow(store)
	return a
}

// Create makes an account. Its identifier is the name and something random:
// a later account of the same name is not taken for this one.
func (a *Accounts) Create(ctx context.Context, name, plan string) (Account, error) {
	return a.create(ctx, Account{Name: name, Plan: plan})
}

// CreateOperator makes an account for an operator of the service.
func (a *Accounts) CreateOperator(ctx context.Context, name, plan string) (Account, error) {
	return a.create(ctx, Account{Name: name, Plan: plan, Operator: true})
}

func (a *Accounts) create(ctx context.Context, acc Account) (Account, error) {
	name := acc.Name
	if !validName.MatchString(name) {
		return Account{}, fmt.Errorf("the name %q is not 1 to 64 of letters, digits and . _ @ + -, beginning with a letter or a digit", name)
	}
	acc.ID, acc.Created = name+"~"+randomText(5), time.Now().UTC()
	var none uint64
	err := a.put(ctx, acc, &none)
	if errors.Is(err, ErrConflict) {
		err = ErrNameTaken
		if _, e := a.ByName(ctx, name); errors.Is(e, ErrNotFound) {
			err = fmt.Errorf("%w: the account that had it is still being removed", err)
		}
	}
	if err != nil {
		return Account{}, fmt.Errorf("create account %q: %w", name, err)
	}
	return acc, nil
}

// Get returns the account with an identifier, or ErrNotFound.
func (a *Accounts) Get(ctx context.Context, id string) (Account, error) {
	acc, _, err := a.read(ctx, id)
	return living(acc, err)
}

// ByName returns the account of a name, or ErrNotFound.
func (a *Accounts) ByName(ctx context.Context, name string) (Account, error) {
	if !validName.MatchString(name) {
		return Account{}, ErrNotFound
	}
	r, err := a.store.Get(ctx, accountPrefix+name)
	if err != nil {
		return Account{}, err
	}
	return living(accountOf(r))
}

// List returns all accounts, by name.
func (a *Accounts) List(ctx context.Context) ([]Account, error) {
	return a.list(ctx, func(acc Account) bool { return acc.Removed.IsZero() })
}

// Removed returns the accounts that were deleted and not forgotten yet.
func (a *Accounts) Removed(ctx context.Context) ([]Account, error) {
	return a.list(ctx, func(acc Account) bool { return !acc.Removed.IsZero() })
}

func (a *Accounts) list(ctx context.Context, is func(Account) bool) ([]Account, error) {
	records, err := a.store.List(ctx, accountPrefix)
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	list := make([]Account, 0, len(records))
	for _, r := range records {
		acc, err := accountOf(r)
		if err != nil {
			return nil, err
		}
		if is(acc) {
			list = append(list, acc)
		}
	}
	return list, nil
}

func (a *Accounts) put(ctx context.Context, acc Account, only *uint64) error {
	value, err := json.Marshal(acc)
	if err != nil {
		return err
	}
	_, err = PutOwn(ctx, a.store, Write{Key: accountPrefix + acc.Name, Value: value, If: only, Durable: true})
	return err
}

func accountOf(r Record) (Account, error) {
	var acc Account
	if err := json.Unmarshal(r.Value, &acc); err != nil {
		return Account{}, fmt.Errorf("read account at %q: %w", r.Key, err)
	}
	return acc, nil
}

// randomText gives lower-case letters and digits made of n random bytes.
func randomText(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}
