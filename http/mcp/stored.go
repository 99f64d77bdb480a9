package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/persistence"
)

// stored is a [Journal] in a store, for all nodes.
type stored struct{ store persistence.Store }

// NewStored makes a journal that outlives the process. An entry goes an hour after the
// last call.
func NewStored(store persistence.Store) Journal { return stored{store} }

// errBadSession is the error of what cannot be the identifier of a session: it must not
// lead to another record.
var errBadSession = errors.New("no session is called so")

func keyOf(account, session string) (string, error) {
	if session == "" || len(session) > 100 || strings.ContainsAny(session, "/\x00") {
		return "", errBadSession
	}
	return persistence.ModelSessionPrefix + account + "/" + session, nil
}

func (s stored) read(ctx context.Context, key string) (k Kept, revision uint64, err error) {
	r, err := s.store.Get(ctx, key)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return k, 0, nil
	case err != nil:
		return k, 0, err
	}
	if err := json.Unmarshal(r.Value, &k); err != nil {
		return k, 0, fmt.Errorf("read %s: %w", key, err)
	}
	return k, r.Revision, nil
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
		k, revision, err := s.read(ctx, key)
		if err != nil {
			return err
		}
		f(&k)
		value, err := json.Marshal(k)
		if err != nil {
			return err
		}
		_, err = s.store.Put(ctx, persistence.Write{Key: key, Value: value, Expires: time.Now().Add(journalLifetime), If: &revision})
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
	return s.store.Delete(ctx, key, nil, false)
}
