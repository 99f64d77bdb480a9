package storetest

import (
	"context"
	"strings"
	"sync"

	"troupe/persistence"
)

// Lossy is a store whose answers are lost: a write is carried out, and whoever asked for it
// hears [persistence.ErrNoQuorum].
type Lossy struct {
	persistence.Store
	mu   sync.Mutex
	lose map[string]int // how many answers, by the prefix of the keys
	deaf bool
}

// NewLossy returns a store that loses answers when it is told to.
func NewLossy(store persistence.Store) *Lossy {
	return &Lossy{Store: store, lose: map[string]int{}}
}

// Lose loses the answers to the next so many writes and deletions of keys with a prefix.
func (s *Lossy) Lose(prefix string, answers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose[prefix] = answers
}

// Deaf says whether all that follows a lost answer fails, until it is called again: as for a
// node that is cut off when a write of it is under way.
func (s *Lossy) Deaf(deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = deaf
}

// Left reports whether answers are still to be lost.
func (s *Lossy) Left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.lose {
		if n > 0 {
			return true
		}
	}
	return false
}

// lost reports whether the answer to a change of a key is lost.
func (s *Lossy) lost(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for prefix, n := range s.lose {
		if n > 0 && strings.HasPrefix(key, prefix) {
			s.lose[prefix] = n - 1
			return true
		}
	}
	return false
}

func (s *Lossy) isDeaf() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.deaf {
		return false
	}
	for _, n := range s.lose {
		if n > 0 {
			return false
		}
	}
	return true
}

// Put implements [persistence.Store].
func (s *Lossy) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if s.isDeaf() {
		return 0, persistence.ErrNoQuorum
	}
	revision, err := s.Store.Put(ctx, w)
	if err == nil && s.lost(w.Key) {
		return 0, persistence.ErrNoQuorum
	}
	return revision, err
}

// Delete implements [persistence.Store].
func (s *Lossy) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	if s.isDeaf() {
		return persistence.ErrNoQuorum
	}
	err := s.Store.Delete(ctx, key, revision, durable)
	if err == nil && s.lost(key) {
		return persistence.ErrNoQuorum
	}
	return err
}

// Get implements [persistence.Store].
func (s *Lossy) Get(ctx context.Context, key string) (persistence.Record, error) {
	if s.isDeaf() {
		return persistence.Record{}, persistence.ErrNoQuorum
	}
	return s.Store.Get(ctx, key)
}
