package persistence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// Secret is a value that an account's tasks use without knowing it, and the
// origins of the pages that it is for.
type Secret struct {
	Name    string    `json:"name"`
	Value   string    `json:"value"`
	Origins []string  `json:"origins"`
	Changed time.Time `json:"changed"`
	// Lost says that the secret cannot be read: it was sealed with another key, or
	// is damaged. Only its name is known.
	Lost bool `json:"-"`
}

// secretPrefix is followed by the account's identifier and the secret's name.
const secretPrefix = "secret/"

var _ = sealed.Register(sealed.Kind{Prefix: secretPrefix, Form: sealed.Whole, Holds: "secrets"})

var _ = owned.Register(owned.Kind{Prefix: secretPrefix, By: owned.Key, Apart: "100 of an account, which its operator sets"})

// sealJSON encodes a record and seals it.
func sealJSON(seal *Seal, key string, v any) ([]byte, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return seal.Close(key, plain)
}

// maxSecrets bounds the secrets of one account.
const maxSecrets = 100

// ErrTooMany: the account has as many as it may.
var ErrTooMany = errors.New("the limit is reached")

// Secrets keeps secrets sealed: without the key, neither values nor origins can be
// read or exchanged.
type Secrets struct {
	store  Store
	cached Store // what tasks' secrets are read from
	seal   *Seal

	mu         sync.Mutex
	following  bool // changes are followed
	generation uint64
	known      map[string][]Secret // by account
}

// NewSecrets keeps secrets in a store. Its cache follows the store's changes until
// the store is closed.
func NewSecrets(store Store, seal *Seal) *Secrets {
	s := &Secrets{store: store, cached: store, seal: seal, known: map[string][]Secret{}}
	s.follow()
	return s
}

// ReadFrom lets [Secrets.Of] read the node's own copy of the store, so that a task
// does not wait for other nodes. Call it before anything else.
func (s *Secrets) ReadFrom(cached Store) { s.cached = cached }

// Set makes or replaces a secret, and returns it as stored.
func (s *Secrets) Set(ctx context.Context, account string, secret Secret) (stored Secret, err error) {
	err = InTurn(ctx, s.store, "secrets/"+account, func(ctx context.Context) (err error) {
		stored, err = s.set(ctx, account, secret)
		return err
	})
	return stored, err
}

func (s *Secrets) set(ctx context.Context, account string, secret Secret) (Secret, error) {
	key := secretPrefix + account + "/" + secret.Name
	all, err := s.store.List(ctx, secretPrefix+account+"/")
	if err != nil {
		return Secret{}, fmt.Errorf("keep the secret %q: %w", secret.Name, err)
	}
	there := len(all)
	for _, r := range all {
		if r.Key == key {
			there--
		}
	}
	if there >= maxSecrets {
		return Secret{}, fmt.Errorf("keep the secret %q: %w: an account has at most %d", secret.Name, ErrTooMany, maxSecrets)
	}
	secret.Changed = time.Now().UTC()
	closed, err := sealJSON(s.seal, key, secret)
	if err == nil {
		_, err = s.store.Put(ctx, Write{Key: key, Value: closed, Durable: true})
	}
	s.changed(ctx, account)
	if err != nil {
		return Secret{}, fmt.Errorf("keep the secret %q: %w", secret.Name, err)
	}
	return secret, nil
}

// Of returns the secrets of an account, by name, mostly from memory. Do not change
// the result.
func (s *Secrets) Of(ctx context.Context, account string) ([]Secret, error) {
	s.mu.Lock()
	all, known := s.known[account]
	generation := s.generation
	s.mu.Unlock()
	if known {
		return all, nil
	}
	prefix := secretPrefix + account + "/"
	records, err := s.cached.List(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	for _, r := range records {
		secret := Secret{Name: strings.TrimPrefix(r.Key, prefix), Lost: true}
		if plain, err := s.seal.Open(r.Key, r.Value); err == nil {
			var open Secret
			if json.Unmarshal(plain, &open) == nil && open.Name == secret.Name {
				secret = open
			}
		}
		all = append(all, secret)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.following && s.generation == generation {
		if len(s.known) >= cacheSize {
			clear(s.known)
		}
		s.known[account] = all
	}
	return all, nil
}

// Remove deletes a secret. One that is not there is ErrNotFound.
func (s *Secrets) Remove(ctx context.Context, account, name string) error {
	key := secretPrefix + account + "/" + name
	r, err := s.store.Get(ctx, key)
	if err == nil {
		err = s.store.Delete(ctx, key, &r.Revision, true)
	}
	s.changed(ctx, account)
	if err != nil {
		return fmt.Errorf("remove the secret %q: %w", name, err)
	}
	return nil
}

// changed forgets the state before a change. A read of the store after the change brings
// it into the cache, so its maker finds it here at once.
func (s *Secrets) changed(ctx context.Context, account string) {
	if s.cached != s.store {
		_, _ = s.store.List(ctx, secretPrefix+account+"/") // else it comes a moment later
	}
	s.forget()
}

// Forget reads all secrets from the store again: what could not be opened before may be now.
func (s *Secrets) Forget() { s.forget() }

func (s *Secrets) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
	clear(s.known)
}

// follow forgets at every change, until the store is closed. While changes
// cannot be followed nothing is remembered.
func (s *Secrets) follow() {
	changes, err := s.store.Watch(context.Background(), secretPrefix)
	if err != nil {
		if !errors.Is(err, ErrClosed) {
			time.AfterFunc(time.Second, s.follow)
		}
		return
	}
	s.forget()
	s.setFollowing(true)
	go func() {
		for range changes {
			s.forget()
		}
		s.setFollowing(false)
		s.forget()
		s.follow()
	}()
}

func (s *Secrets) setFollowing(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.following = yes
}
