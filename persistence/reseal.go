package persistence

import (
	"context"
	"errors"
	"fmt"
)

// resealed is how many keys Reseal reads at a time.
const resealed = 256

// resealAttempts is how often a record is read again that somebody has changed.
const resealAttempts = 5

// Resealed counts what a change of the key has done.
type Resealed struct {
	Records int // were sealed with another key, and are with the one in use now
	Lost    int // no key opens them
}

// Add adds other counts.
func (r *Resealed) Add(o Resealed) { r.Records, r.Lost = r.Records+o.Records, r.Lost+o.Lost }

// Reseal seals again what a prefix of keys has, where another key than the one in use
// has sealed it. A record that its owner writes meanwhile is left to the owner.
func (s *ValueStore) Reseal(ctx context.Context, prefix string) (done Resealed, err error) {
	err = eachKey(ctx, s.store, prefix, func(key string) error {
		return resealOne(&done, func() (bool, error) { return s.resealOne(ctx, key) })
	})
	return done, err
}

func (s *ValueStore) resealOne(ctx context.Context, key string) (bool, error) {
	r, err := s.store.Get(ctx, key)
	if err != nil {
		return false, err
	}
	it := Item{Key: key, Expires: r.Expires, Durable: true, Over: &r.Revision}
	if file := fileIn(r); file != "" {
		b, f, err := s.files.Open(ctx, file)
		if err != nil {
			return false, err
		}
		it.Account = b.Account
		if err := f.Close(); err != nil {
			return false, err
		}
	}
	value, err := s.read(ctx, r)
	if err != nil {
		return false, err
	}
	plain, newest, err := s.seal.open(key, value)
	if err != nil || newest {
		return false, err
	}
	it.Value = plain
	return true, s.Put(ctx, it)
}

// Reseal is [ValueStore.Reseal] for secrets.
func (s *Secrets) Reseal(ctx context.Context) (done Resealed, err error) {
	done, err = resealAll(ctx, s.store, s.seal, secretPrefix)
	s.forget() // what could not be read before may be now
	return done, err
}

// Reseal is [ValueStore.Reseal] for profiles.
func (p *Profiles) Reseal(ctx context.Context) (done Resealed, err error) {
	for _, prefix := range []string{profilePrefix, profilePartPrefix} {
		some, err := resealAll(ctx, p.store, p.seal, prefix)
		done.Add(some)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// resealAll seals again all records of a prefix whose values are sealed as they are.
func resealAll(ctx context.Context, store Store, seal *Seal, prefix string) (done Resealed, err error) {
	err = eachKey(ctx, store, prefix, func(key string) error {
		return resealOne(&done, func() (bool, error) {
			r, err := store.Get(ctx, key)
			if err != nil {
				return false, err
			}
			plain, newest, err := seal.open(key, r.Value)
			if err != nil || newest {
				return false, err
			}
			_, err = store.Put(ctx, Write{Key: key, Value: seal.Close(key, plain), Expires: r.Expires, If: &r.Revision, Durable: true})
			return true, err
		})
	})
	return done, err
}

// resealOne seals one record, again where somebody has changed it in between.
func resealOne(done *Resealed, seal func() (bool, error)) (err error) {
	for range resealAttempts {
		var changed bool
		changed, err = seal()
		switch {
		case errors.Is(err, ErrConflict):
			continue
		case errors.Is(err, ErrNotFound):
			return nil
		case errors.Is(err, ErrSealed):
			done.Lost++
			return nil
		case err == nil && changed:
			done.Records++
		}
		return err
	}
	return err
}

// eachKey calls f for all keys of a prefix.
func eachKey(ctx context.Context, store Store, prefix string, f func(key string) error) error {
	for after := ""; ; {
		list, err := store.Keys(ctx, prefix, after, resealed)
		if err != nil {
			return fmt.Errorf("list what is sealed: %w", err)
		}
		for _, k := range list {
			after = k.Key
			if err := f(k.Key); err != nil {
				return fmt.Errorf("seal %s again: %w", k.Key, err)
			}
		}
		if len(list) < resealed {
			return nil
		}
	}
}
