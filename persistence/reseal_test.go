package persistence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func testKey(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// TestResealingKeepsEverything: values of any size, their accounts and times stay, and
// only the new key is needed afterwards.
func TestResealingKeepsEverything(t *testing.T) {
	ctx := context.Background()
	store, files := NewMemory(), NewMemoryFiles()
	defer store.Close()
	seal, err := NewSeal(testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	plain := NewValueStore(store, files)
	values := plain.Sealed(seal)
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	want := map[string]string{}
	for i := range 2*resealed + 3 {
		key, value := fmt.Sprintf("state/%04d", i), fmt.Sprint(i)
		if i%100 == 7 {
			value = strings.Repeat(value, maxInline)
		}
		want[key] = value
		if err := values.Put(ctx, Item{Key: key, Account: "ada", Value: []byte(value), Expires: expires}); err != nil {
			t.Fatal(err)
		}
	}
	alien, err := NewSeal(testKey(9))
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.Sealed(alien).Put(ctx, Item{Key: "state/alien", Value: []byte("x")}); err != nil {
		t.Fatal(err)
	}

	if err := seal.Use(testKey(2), testKey(1)); err != nil {
		t.Fatal(err)
	}
	done, err := values.Reseal(ctx, "state/")
	if err != nil || done != (Resealed{Records: len(want), Lost: 1}) {
		t.Errorf("%+v, %v; want %d", done, err, len(want))
	}
	if done, err = values.Reseal(ctx, "state/"); err != nil || done.Records != 0 {
		t.Errorf("the second time %+v, %v", done, err)
	}
	if err := seal.Use(testKey(2)); err != nil {
		t.Fatal(err)
	}
	for key, value := range want {
		got, err := values.Get(ctx, key)
		if err != nil || string(got) != value {
			t.Fatalf("%s: %d bytes, %v", key, len(got), err)
		}
		r, err := store.Get(ctx, key)
		if err != nil || !r.Expires.Equal(expires) {
			t.Errorf("%s expires at %v, %v", key, r.Expires, err)
		}
		if file := fileIn(r); file != "" {
			b, f, err := files.Open(ctx, file)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			if b.Account != "ada" || !b.Expires.Equal(expires) {
				t.Errorf("the file of %s is %+v", key, b)
			}
		}
	}
	if _, err := values.Get(ctx, "state/alien"); !errors.Is(err, ErrSealed) {
		t.Errorf("what another key has sealed: %v", err)
	}
}

// changingStore writes a record again before each conditional write of it.
type changingStore struct {
	Store
	meddle func(key string)
}

func (s *changingStore) Put(ctx context.Context, w Write) (uint64, error) {
	if w.If != nil {
		s.meddle(w.Key)
	}
	return s.Store.Put(ctx, w)
}

// TestResealingLeavesNewValues: a value that its owner has written, or removed, in
// between stays as the owner has left it.
func TestResealingLeavesNewValues(t *testing.T) {
	ctx := context.Background()
	memory := NewMemory()
	defer memory.Close()
	seal, err := NewSeal(testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	owner := NewValueStore(memory, NewMemoryFiles()).Sealed(seal)
	for _, key := range []string{"s/changed", "s/removed", "s/left"} {
		if err := owner.Put(ctx, Item{Key: key, Value: []byte("old")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := seal.Use(testKey(2), testKey(1)); err != nil {
		t.Fatal(err)
	}
	store := &changingStore{Store: memory, meddle: func(key string) {
		var err error
		switch key {
		case "s/changed":
			err = owner.Put(ctx, Item{Key: key, Value: []byte("new")})
		case "s/removed":
			err = owner.Delete(ctx, key, false)
		}
		if err != nil {
			t.Error(err)
		}
	}}
	if done, err := NewValueStore(store, NewMemoryFiles()).Sealed(seal).Reseal(ctx, "s/"); err != nil || done.Records != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if err := seal.Use(testKey(2)); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"s/changed": "new", "s/left": "old"} {
		if got, err := owner.Get(ctx, key); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", key, got, err)
		}
	}
	if _, err := owner.Get(ctx, "s/removed"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a removed value: %v", err)
	}
}

// TestSecretsOpenWithTheNewKeyAlone once they were sealed again.
func TestSecretsOpenWithTheNewKeyAlone(t *testing.T) {
	ctx := context.Background()
	store := NewMemory()
	defer store.Close()
	seal, err := NewSeal(testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	s := NewSecrets(store, seal)
	if _, err := s.Set(ctx, "ada", Secret{Name: "pass", Value: "v"}); err != nil {
		t.Fatal(err)
	}
	if err := seal.Use(testKey(2), testKey(1)); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Reseal(ctx); err != nil || done.Records != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if err := seal.Use(testKey(2)); err != nil {
		t.Fatal(err)
	}
	all, err := NewSecrets(store, seal).Of(ctx, "ada")
	if err != nil || len(all) != 1 || all[0].Value != "v" || all[0].Lost {
		t.Errorf("%+v, %v", all, err)
	}
}
