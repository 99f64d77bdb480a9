package cluster

import (
	"context"

	"troupe/persistence"
)

// near is a store whose reads come from the copy in memory where that has the
// record. It is for what is asked with every request, and may be a moment old:
// whose a token is. What it does not know it asks the others.
type near struct {
	*Store
	copy Copy
}

// Near gives the store with such reads.
func (s *Store) Near() persistence.Store { return near{s, s.Copy()} }

func (n near) Get(ctx context.Context, key string) (persistence.Record, error) {
	if r, err := n.copy.Get(key); err == nil {
		return r, nil
	}
	return n.Store.Get(ctx, key)
}

// Key gives a key of 32 bytes for one purpose, the same on all nodes.
func (m *Member) Key(purpose string) ([]byte, error) { return derive(m.cfg.Secret, "key "+purpose) }
