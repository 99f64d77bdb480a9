package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"troupe/http/address"
	"troupe/persistence"
)

// stored is a [Journal] in a store, for all nodes.
type stored struct {
	store  persistence.Store
	ledger *persistence.Ledger // counts the entries; nil: nobody does
}

// NewStored makes a journal that outlives the process. An entry goes an hour after the
// last call. The steps in it need room in the account, see [WithRoom].
func NewStored(store persistence.Store, ledger *persistence.Ledger) Journal {
	return stored{store, ledger}
}

type roomKey struct{}

// WithRoom is the context of a request of an account that may keep nothing more where full
// says why.
func WithRoom(ctx context.Context, full func() error) context.Context {
	return context.WithValue(ctx, roomKey{}, full)
}

// full says why the account of a request may keep nothing more, or nil.
func full(ctx context.Context) error {
	if f, ok := ctx.Value(roomKey{}).(func() error); ok {
		return f()
	}
	return nil
}

// errBadSession is the error of what cannot be the identifier of a session: it must not
// lead to another record.
var errBadSession = errors.New("no session is called so")

func keyOf(account, session string) (string, error) {
	if address.Session.Check(session) != nil {
		return "", errBadSession
	}
	return persistence.ModelSessionPrefix + account + "/" + session, nil
}

func (s stored) read(ctx context.Context, key string) (k Kept, r persistence.Record, err error) {
	r, err = s.store.Get(ctx, key)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return k, persistence.Record{}, nil
	case err != nil:
		return k, r, err
	}
	if err := json.Unmarshal(r.Value, &k); err != nil {
		return k, r, fmt.Errorf("read %s: %w", key, err)
	}
	return k, r, nil
}

func (s stored) Load(ctx context.Context, account, session string) (Kept, error) {
	key, err := keyOf(account, session)
	if err != nil { // the API says that there is no such session
		return Kept{}, nil
	}
	k, _, err := s.read(ctx, key)
	return k, err
}

func (s stored) Change(ctx context.Context, account, session string, f func(*Kept)) error {
	key, err := keyOf(account, session)
	if err != nil {
		return err
	}
	for {
		k, before, err := s.read(ctx, key)
		if err != nil {
			return err
		}
		f(&k)
		if len(k.Steps) > 0 && full(ctx) != nil { // what bounds the session stays
			k.Left, k.Steps = k.Left+len(k.Steps), nil
		}
		value, err := json.Marshal(k)
		if err != nil {
			return err
		}
		w := persistence.Write{Key: key, Value: value, Expires: time.Now().Add(journalLifetime), If: &before.Revision}
		if _, err = persistence.PutOwn(ctx, s.store, w); err == nil {
			s.ledger.Wrote(account, before, persistence.Change{Write: w})
		}
		if !errors.Is(err, persistence.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}

func (s stored) Forget(ctx context.Context, account, session string) error {
	key, err := keyOf(account, session)
	if err != nil {
		return nil
	}
	before, err := s.store.Get(ctx, key)
	if errors.Is(err, persistence.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = s.store.Delete(ctx, key, nil, false)
	}
	if err == nil {
		s.ledger.Wrote(account, before, persistence.Change{Write: persistence.Write{Key: key}, Delete: true})
	}
	return err
}
