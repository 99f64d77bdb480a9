package persistence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"troupe/persistence/sealed"
)

// Errors of a key that does not belong to what is in the store.
var (
	// ErrNoKey says that the store has sealed values, but there is no key.
	ErrNoKey = errors.New("the sealing key is missing")
	// ErrOtherKey says that the store's values were sealed with another key.
	ErrOtherKey = errors.New("the sealing key is not the one that the store was used with")
)

// sealCheck is a record that the store's key, and no other, opens.
const sealCheck = "seal/check"

// SealCheck is the key of the record that says which key a store is used with.
const SealCheck = sealCheck

var _ = sealed.Register(sealed.Kind{Prefix: "seal/", Form: sealed.Whole, Holds: "marks of the key"})

// OpenSealOf opens the key of a store, and makes one only where nothing in the
// store was sealed.
func OpenSealOf(ctx context.Context, path string, store Store) (*Seal, error) {
	check, err := store.Get(ctx, sealCheck)
	has := err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("look for what is sealed: %w", err)
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		used := has
		for _, k := range sealed.Kinds() {
			if k.Form == sealed.Field { // such a record need not have anything sealed
				continue
			}
			some, err := store.Keys(ctx, k.Prefix, "", 1)
			if err != nil {
				return nil, fmt.Errorf("look for what is sealed: %w", err)
			}
			used = used || len(some) > 0
		}
		if used {
			return nil, fmt.Errorf("read %s: %w", path, ErrNoKey)
		}
	}
	seal, err := OpenSeal(path)
	switch {
	case err != nil:
		return nil, err
	case !has:
		return seal, seal.mark(ctx, store)
	}
	if _, err := seal.Open(sealCheck, check.Value); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, ErrOtherKey)
	}
	return seal, nil
}

// mark writes down which key the store is used with. A disk that takes nothing
// puts that off.
func (s *Seal) mark(ctx context.Context, store Store) error {
	closed, err := s.Close(sealCheck, []byte("troupe"))
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, Write{Key: sealCheck, Value: closed, Durable: true})
	if errors.Is(err, ErrFull) || errors.Is(err, ErrUnwritable) {
		return nil
	}
	return err
}

// NewKey makes a new key for a store and moves the old one aside. Values sealed
// with the old key can no longer be opened.
func NewKey(ctx context.Context, path string, store Store) (aside string, err error) {
	if aside, err = moveAside(path, "aside"); err != nil {
		return "", err
	}
	seal, err := OpenSeal(path)
	if err == nil {
		err = seal.mark(ctx, store)
	}
	return aside, err
}
