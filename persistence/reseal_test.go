package persistence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence/sealed"
)

func init() {
	sealed.Register(sealed.Kind{Prefix: "state/", Holds: "values of tests"})
	sealed.Register(sealed.Kind{Prefix: "s/", Holds: "more values of tests"})
	sealed.Register(sealed.Kind{Prefix: "object/", Form: sealed.Field, Field: "notify", Holds: "objects of tests"})
}

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
	all := SealedRecords{store, files, seal}
	done, err := all.Reseal(ctx)
	if err != nil || done.Records != len(want) || !slices.Equal(done.Lost, []PrefixCount{{"state/", 1}}) {
		t.Errorf("%+v, %v; want %d", done, err, len(want))
	}
	if done, err = all.Reseal(ctx); err != nil || done.Records != 0 {
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
	if done, err := (SealedRecords{store, NewMemoryFiles(), seal}).Reseal(ctx); err != nil || done.Records != 1 {
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
	if done, err := (SealedRecords{store, NewMemoryFiles(), seal}).Reseal(ctx); err != nil || done.Records != 1 {
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

// TestSealingNeedsARegisteredPrefix: whoever seals something new and does not register it
// finds out at once, and not when the key has changed.
func TestSealingNeedsARegisteredPrefix(t *testing.T) {
	store := NewMemory()
	defer store.Close()
	seal, err := NewSeal(testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	err = NewValueStore(store, NewMemoryFiles()).Sealed(seal).Put(t.Context(), Item{Key: "novel/1", Value: []byte("x")})
	if err == nil || !strings.Contains(err.Error(), "novel/1") {
		t.Errorf("%v", err)
	}
	if _, err := store.Get(t.Context(), "novel/1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("it was written all the same: %v", err)
	}
}

// TestSealedFieldsAreSealedAgain: the other fields of an object stay, and it says which
// revision it is the same as.
func TestSealedFieldsAreSealedAgain(t *testing.T) {
	ctx := t.Context()
	store := NewMemory()
	defer store.Close()
	seal, err := NewSeal(testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	closed, err := seal.Close("object/1", []byte("receivers"))
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		ID       string `json:"id"`
		Big      uint64 `json:"big"`
		Notify   []byte `json:"notify,omitempty"`
		Resealed uint64 `json:"resealed,omitempty"`
	}
	revisions := map[string]uint64{}
	for id, o := range map[string]object{"object/1": {"a", 1<<63 + 1, closed, 0}, "object/2": {"b", 2, nil, 0}} {
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if revisions[id], err = store.Put(ctx, Write{Key: id, Value: b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := seal.Use(testKey(2), testKey(1)); err != nil {
		t.Fatal(err)
	}
	if done, err := (SealedRecords{store, NewMemoryFiles(), seal}).Reseal(ctx); err != nil || done.Records != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if err := seal.Use(testKey(2)); err != nil {
		t.Fatal(err)
	}
	r, err := store.Get(ctx, "object/1")
	var o object
	if err != nil || json.Unmarshal(r.Value, &o) != nil {
		t.Fatalf("%s, %v", r.Value, err)
	}
	if plain, err := seal.Open("object/1", o.Notify); err != nil || string(plain) != "receivers" || o.ID != "a" || o.Big != 1<<63+1 || o.Resealed != revisions["object/1"] {
		t.Errorf("%+v, %q, %v", o, plain, err)
	}
	if r, err := store.Get(ctx, "object/2"); err != nil || r.Revision != revisions["object/2"] {
		t.Errorf("an object without the field was written: %v", err)
	}
}

// TestWhatOnlyTheOldKeyOpens is found under any prefix, also one that this release does not
// know, and counted; what no key opens is something else.
func TestWhatOnlyTheOldKeyOpens(t *testing.T) {
	ctx := t.Context()
	store, files := NewMemory(), NewMemoryFiles()
	defer store.Close()
	seal, err := NewSeal(testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	all := SealedRecords{store, files, seal}
	put := func(key string, value []byte) {
		t.Helper()
		if _, err := store.Put(ctx, Write{Key: key, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	aead := (*seal.keys.Load())[0]
	put("later/1", aead.Seal(nil, nil, []byte("x"), []byte("later/1")))
	put("later/2", Inline(aead.Seal(nil, nil, []byte("x"), []byte("later/2"))))
	put("plain/1", []byte(`{"a":1}`))
	put("state/x", Inline([]byte("sealed by nobody")))
	if err := all.Store.Delete(ctx, "none", nil, false); err != nil {
		t.Fatal(err)
	}
	if err := (NewValueStore(store, files).Sealed(seal)).Put(ctx, Item{Key: "state/1", Value: bytes.Repeat([]byte("y"), 2*maxInline)}); err != nil {
		t.Fatal(err)
	}
	if err := seal.Use(testKey(2), testKey(1)); err != nil {
		t.Fatal(err)
	}
	if got, err := all.OnlyOld(ctx); err != nil || !slices.Equal(got, []PrefixCount{{"later/", 2}, {"state/", 1}}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := all.Reseal(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := all.OnlyOld(ctx); err != nil || !slices.Equal(got, []PrefixCount{{"later/", 2}}) {
		t.Errorf("after sealing again: %+v, %v", got, err)
	}
	if got := seal.Unreadable(); got["values of tests"] != 1 || got["more values of tests"] != 0 {
		t.Errorf("unreadable: %v", got)
	}
}

// TestUnreadableRecordsAreCounted until they are gone or written anew.
func TestUnreadableRecordsAreCounted(t *testing.T) {
	ctx := t.Context()
	store, files := NewMemory(), NewMemoryFiles()
	defer store.Close()
	seal, err := NewSeal(testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	values, all := NewValueStore(store, files).Sealed(seal), SealedRecords{store, files, seal}
	for i := range 3 {
		if err := values.Put(ctx, Item{Key: fmt.Sprintf("state/%d", i), Value: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	count := func(want int) {
		t.Helper()
		if got := seal.Unreadable()["values of tests"]; got != want {
			t.Errorf("%d are unreadable, want %d", got, want)
		}
	}
	if err := seal.Use(testKey(2)); err != nil {
		t.Fatal(err)
	}
	count(0)
	if _, err := values.Get(ctx, "state/0"); !errors.Is(err, ErrSealed) {
		t.Errorf("read: %v", err)
	}
	count(1)
	if err := all.Survey(ctx); err != nil {
		t.Fatal(err)
	}
	count(3)
	if err := errors.Join(values.Delete(ctx, "state/0", false), values.Put(ctx, Item{Key: "state/1", Value: []byte("new")}), all.Recheck(ctx)); err != nil {
		t.Fatal(err)
	}
	count(1)
}

// TestUnreadableRecordsAreWatched: they are found without anybody asking for them, and
// forgotten when they are gone.
func TestUnreadableRecordsAreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		store, files := NewMemory(), NewMemoryFiles()
		defer store.Close()
		seal, err := NewSeal(testKey(1))
		if err != nil {
			t.Fatal(err)
		}
		values := NewValueStore(store, files).Sealed(seal)
		if err := errors.Join(values.Put(ctx, Item{Key: "state/0", Value: []byte("x")}), seal.Use(testKey(2))); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		go SealedRecords{store, files, seal}.Watch(ctx, zerolog.New(&log))
		time.Sleep(surveyAfter + time.Second)
		synctest.Wait()
		if n := seal.Unreadable()["values of tests"]; n != 1 || !strings.Contains(log.String(), `"values of tests":1`) {
			t.Errorf("%d are unreadable, and the log says %q", n, log.String())
		}
		if err := values.Delete(ctx, "state/0", false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(recheckEvery + time.Second)
		synctest.Wait()
		if n := seal.Unreadable()["values of tests"]; n != 0 {
			t.Errorf("%d are unreadable after the record is gone", n)
		}
	})
}
