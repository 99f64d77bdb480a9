package persistence

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"troupe/persistence/sealed"
)

// ErrSealed is the error of a value that the key does not open: it was sealed
// with another key or for another purpose, or it was changed.
var ErrSealed = errors.New("the value cannot be decrypted with this key")

// Seal encrypts values, so that they are unreadable without the key. It may have
// further keys, which it only opens values with.
type Seal struct {
	keys atomic.Pointer[[]cipher.AEAD]

	mu   sync.Mutex
	lost map[string]bool // keys of records that were not opened, see [Seal.Unreadable]
}

// OpenSeal reads the key from a file, and makes one if there is none. Protect the
// file like the values sealed with it, and do not put it into the same backup as
// the store.
func OpenSeal(path string) (*Seal, error) {
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = makeKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the sealing key: %w", err)
	}
	return NewSeal(key)
}

// NewSeal seals with a key of 32 bytes, and opens with others too.
func NewSeal(key []byte, others ...[]byte) (*Seal, error) {
	s := &Seal{}
	return s, s.Use(key, others...)
}

// Use changes the keys: values are sealed with the first from now on, and opened with
// any of them.
func (s *Seal) Use(key []byte, others ...[]byte) error {
	var keys []cipher.AEAD
	for _, k := range append([][]byte{key}, others...) {
		aead, err := newAEAD(k)
		if err != nil {
			return fmt.Errorf("read the sealing key: %w", err)
		}
		keys = append(keys, aead)
	}
	s.keys.Store(&keys)
	return nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("it has %d bytes, want 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// makeKey writes a new key. A key that is there by now, from another process,
// is taken instead: two keys would lose what the first has sealed.
func makeKey(path string) ([]byte, error) {
	key := make([]byte, 32)
	rand.Read(key)
	f, err := os.CreateTemp(filepath.Dir(path), ".key")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(key)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return os.ReadFile(path)
		}
		return nil, err
	}
	return key, nil
}

// Close encrypts a value. The purpose is the key of its record: it is needed to open the
// value, so that it cannot be moved elsewhere. A change of the key finds records by their
// prefixes, so one that is not in the register of [sealed] is an error.
func (s *Seal) Close(purpose string, plain []byte) ([]byte, error) {
	if _, known := sealed.Of(purpose); !known {
		return nil, fmt.Errorf("seal %s: its prefix is not registered in package sealed", purpose)
	}
	return (*s.keys.Load())[0].Seal(nil, nil, plain, []byte(purpose)), nil
}

// Open is the reverse of Close. What cannot be opened is remembered: see [Seal.Unreadable].
func (s *Seal) Open(purpose string, closed []byte) ([]byte, error) {
	plain, _, err := s.open(purpose, closed)
	s.note(purpose, err != nil)
	return plain, err
}

// open also reports whether the value was sealed with the key in use.
func (s *Seal) open(purpose string, closed []byte) (plain []byte, newest bool, err error) {
	for i, aead := range *s.keys.Load() {
		if plain, err := aead.Open(nil, nil, closed, []byte(purpose)); err == nil {
			return plain, i == 0, nil
		}
	}
	return nil, false, fmt.Errorf("open a sealed value for %s: %w", purpose, ErrSealed)
}
