package persistence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// AccountName returns the name in an account's identifier.
func AccountName(id string) string {
	name, _, _ := strings.Cut(id, "~")
	return name
}

// SetPlan changes the plan of an account.
func (a *Accounts) SetPlan(ctx context.Context, id, plan string) (Account, error) {
	acc, err := a.change(ctx, id, func(acc *Account) error {
		acc.Plan = plan
		_, err := living(*acc, nil) // a deleted one has none
		return err
	})
	if err != nil {
		return Account{}, fmt.Errorf("set the plan of %q: %w", id, err)
	}
	return acc, nil
}

// Delete removes an account and its tokens. From the first moment no token of it
// is valid, whatever may go wrong after that; and none becomes valid again. The
// name stays taken until [Accounts.Forget].
func (a *Accounts) Delete(ctx context.Context, id string) error {
	_, err := a.change(ctx, id, func(acc *Account) error {
		if acc.Removed.IsZero() {
			acc.Removed = time.Now().UTC()
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete account %q: %w", id, err)
	}
	return a.revokeAll(ctx, id)
}

// Forget removes the rest of a deleted account.
func (a *Accounts) Forget(ctx context.Context, id string) error {
	acc, revision, err := a.read(ctx, id)
	switch {
	case err != nil:
	case acc.Removed.IsZero():
		err = errors.New("it was not deleted")
	default:
		if err = a.revokeAll(ctx, id); err == nil { // one may have been made while it was deleted
			err = a.store.Delete(ctx, accountPrefix+acc.Name, &revision, true)
		}
	}
	if err != nil {
		return fmt.Errorf("forget account %q: %w", id, err)
	}
	return nil
}

// revokeAll removes the tokens of an account, its secrets and flows, and its token events.
func (a *Accounts) revokeAll(ctx context.Context, id string) error {
	tokens, err := a.ListTokens(ctx, id)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if err := a.revoke(ctx, t.ID, func(Token) error { return nil }); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	for _, prefix := range []string{secretPrefix, flowPrefix, flowVersionPrefix, flowRemovedPrefix, profileWriterPrefix, profilePrefix, profilePartPrefix, ModelSessionPrefix} {
		if err := forgetAll(ctx, a.store, prefix+id+"/"); err != nil {
			return fmt.Errorf("remove the secrets, flows, profiles and notes of account %q: %w", id, err)
		}
	}
	return a.forgetTokenEvents(ctx, id)
}

// change lets f change the record of an account, again when somebody else has
// changed it meanwhile.
func (a *Accounts) change(ctx context.Context, id string, f func(*Account) error) (Account, error) {
	for {
		acc, revision, err := a.read(ctx, id)
		if err == nil {
			err = f(&acc)
		}
		if err == nil {
			err = a.put(ctx, acc, &revision)
		}
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return Account{}, err
		}
		a.cache.clear()
		return acc, nil
	}
}

// read finds an account by its identifier, a deleted one too.
func (a *Accounts) read(ctx context.Context, id string) (Account, uint64, error) {
	name := AccountName(id)
	if !validName.MatchString(name) {
		return Account{}, 0, ErrNotFound
	}
	r, err := a.store.Get(ctx, accountPrefix+name)
	if err != nil {
		return Account{}, 0, err
	}
	acc, err := accountOf(r)
	if err == nil && acc.ID != id {
		err = ErrNotFound
	}
	return acc, r.Revision, err
}

// living lets an account pass that was not deleted.
func living(acc Account, err error) (Account, error) {
	if err == nil && !acc.Removed.IsZero() {
		err = ErrNotFound
	}
	if err != nil {
		return Account{}, err
	}
	return acc, nil
}
