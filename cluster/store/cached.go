package store

import (
	"context"
	"slices"
	"strings"

	"troupe/persistence"
)

// cachedStore is a store that reads from the copy in memory, if that has the record. It
// is for data that every request needs and that may be a moment old: the account of a
// token, the secrets of an account. It asks the other nodes for the rest.
type cachedStore struct {
	*Store
	copy Copy
}

// Cached gives the store with such reads.
func (s *Store) Cached() persistence.Store { return cachedStore{s, s.Copy()} }

func (n cachedStore) Get(ctx context.Context, key string) (persistence.Record, error) {
	if r, err := n.copy.Get(key); err == nil {
		return r, nil
	}
	return n.Store.Get(ctx, key)
}

// List gives what is in memory, if that is everything.
func (n cachedStore) List(ctx context.Context, prefix string) ([]persistence.Record, error) {
	if all, whole := n.Store.index.complete(prefix); whole {
		slices.SortFunc(all, func(a, b persistence.Record) int { return strings.Compare(a.Key, b.Key) })
		return all, nil
	}
	return n.Store.List(ctx, prefix)
}
