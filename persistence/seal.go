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
)

// ErrSealed is the error of a value that the key does not open: it was sealed
// with another key or for another purpose, or it was changed.
var ErrSealed = errors.New("the value cannot be decrypted with this key")

// Seal encrypts values, so that they are unreadable without the key.
type Seal struct{ aead cipher.AEAD }

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

// NewSeal seals with a key of 32 bytes.
func NewSeal(key []byte) (*Seal, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("read the sealing key: it has %d bytes, want 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("read the sealing key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("read the sealing key: %w", err)
	}
	return &Seal{aead}, nil
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

// Close encrypts a value. The purpose, such as the key of its record, is needed to
// open it, so that the value cannot be moved elsewhere.
func (s *Seal) Close(purpose string, plain []byte) []byte {
	return s.aead.Seal(nil, nil, plain, []byte(purpose))
}

// Open is the reverse of Close.
func (s *Seal) Open(purpose string, sealed []byte) ([]byte, error) {
	plain, err := s.aead.Open(nil, nil, sealed, []byte(purpose))
	if err != nil {
		return nil, fmt.Errorf("open a sealed value for %s: %w", purpose, ErrSealed)
	}
	return plain, nil
}
