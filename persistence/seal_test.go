package persistence

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func closed(t *testing.T, s *Seal, key string, plain []byte) []byte {
	t.Helper()
	b, err := s.Close(key, plain)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestASealedValueOpensOnlyWithItsKeyAndPurpose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	s, err := OpenSeal(path)
	if err != nil {
		t.Fatal(err)
	}
	plain := []byte("cookie=secret")
	sealed := closed(t, s, "state/1", plain)
	if bytes.Contains(sealed, []byte("secret")) {
		t.Error("the sealed value can be read")
	}
	if again := closed(t, s, "state/1", plain); bytes.Equal(again, sealed) {
		t.Error("the same value is sealed to the same bytes twice")
	}
	reopened, err := OpenSeal(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := reopened.Open("state/1", sealed); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("after a restart: %q, %v", got, err)
	}
	if _, err := s.Open("state/2", sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("for another purpose: %v", err)
	}
	sealed[len(sealed)-1] ^= 1
	if _, err := s.Open("state/1", sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("changed: %v", err)
	}
	other, err := OpenSeal(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open("state/1", closed(t, s, "state/1", plain)); !errors.Is(err, ErrSealed) {
		t.Errorf("with another key: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file is %v, %v", info.Mode(), err)
	}
}

func TestTheKeyIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	seals := make([]*Seal, 8)
	var all sync.WaitGroup
	for i := range seals {
		all.Go(func() { seals[i], _ = OpenSeal(path) })
	}
	all.Wait()
	sealed := closed(t, seals[0], "state/p", []byte("x"))
	for i, s := range seals {
		if _, err := s.Open("state/p", sealed); err != nil {
			t.Errorf("key %d is another: %v", i, err)
		}
	}
	os.WriteFile(path, []byte("short"), 0o600)
	if _, err := OpenSeal(path); err == nil {
		t.Error("a key of five bytes was taken")
	}
}
