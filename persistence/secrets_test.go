package persistence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

func TestSecrets(t *testing.T) {
	ctx := context.Background()
	store := NewMemory()
	defer store.Close()
	seal, err := NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	accounts := NewAccounts(store)
	ada, err := accounts.Create(ctx, "ada", "pro")
	if err != nil {
		t.Fatal(err)
	}
	s := NewSecrets(store, seal)
	put := func(account, name, value string) {
		t.Helper()
		if _, err := s.Set(ctx, account, Secret{Name: name, Value: value, Origins: []string{"https://shop.example"}}); err != nil {
			t.Fatal(err)
		}
	}
	values := func(account string) (all string) {
		t.Helper()
		list, err := s.Of(ctx, account)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range list {
			all += v.Name + "=" + v.Value + " "
		}
		return all
	}
	if got := values(ada.ID); got != "" {
		t.Errorf("at first there is %s", got)
	}
	put(ada.ID, "b", "hunter22")
	put(ada.ID, "a", "correct horse")
	put("bert~1", "a", "another")
	if got := values(ada.ID); got != "a=correct horse b=hunter22 " {
		t.Errorf("there is %s", got)
	}
	put(ada.ID, "b", "changed")
	if got := values(ada.ID); got != "a=correct horse b=changed " {
		t.Errorf("after a change there is %s", got)
	}

	// What is stored shows nothing, and cannot be put in another's place.
	records, err := store.List(ctx, "secret/")
	if err != nil || len(records) != 3 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for _, r := range records {
		for _, hidden := range []string{"correct horse", "changed", "another", "shop.example"} {
			if bytes.Contains(r.Value, []byte(hidden)) {
				t.Errorf("%s holds %q", r.Key, hidden)
			}
		}
	}
	if _, err := store.Put(ctx, Write{Key: "secret/bert~1/stolen", Value: records[0].Value}); err != nil {
		t.Fatal(err)
	}
	elsewhere, err := NewSecrets(store, seal).Of(ctx, "bert~1")
	if err != nil || len(elsewhere) != 2 || elsewhere[0].Lost || elsewhere[0].Value != "another" || !elsewhere[1].Lost || elsewhere[1].Name != "stolen" || elsewhere[1].Value != "" {
		t.Errorf("beside a secret put elsewhere: %+v, %v", elsewhere, err)
	}
	other, err := NewSeal(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	lost, err := NewSecrets(store, other).Of(ctx, ada.ID)
	if err != nil || len(lost) != 2 || !lost[0].Lost || lost[0].Name != "a" || lost[0].Value != "" {
		t.Errorf("with another key: %+v, %v", lost, err)
	}

	if err := s.Remove(ctx, ada.ID, "a"); err != nil {
		t.Error(err)
	}
	if err := s.Remove(ctx, ada.ID, "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	if got := values(ada.ID); got != "b=changed " {
		t.Errorf("after a removal there is %s", got)
	}
	for n := range maxSecrets - 1 {
		put(ada.ID, fmt.Sprint("n", n), "value")
	}
	if _, err := s.Set(ctx, ada.ID, Secret{Name: "more", Value: "value"}); !errors.Is(err, ErrTooMany) {
		t.Errorf("one too many: %v", err)
	}
	put(ada.ID, "b", "again") // replacing is still possible

	if err := accounts.Delete(ctx, ada.ID); err != nil {
		t.Fatal(err)
	}
	if left, _ := store.List(ctx, "secret/"+ada.ID+"/"); len(left) != 0 {
		t.Errorf("%d secrets outlive their account", len(left))
	}
}

// TestManyLastSecrets: of many that are set at once, no more are kept than may be.
func TestManyLastSecrets(t *testing.T) {
	t.Parallel()
	store := NewMemory()
	defer store.Close()
	seal, err := NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	s := NewSecrets(store, seal)
	var all sync.WaitGroup
	var kept atomic.Int64
	for i := range 300 {
		all.Go(func() {
			_, err := s.Set(t.Context(), "acct_1", Secret{Name: fmt.Sprint("s", i)})
			switch {
			case err == nil:
				kept.Add(1)
			case !errors.Is(err, ErrTooMany):
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, err := store.List(t.Context(), "secret/")
	if err != nil || len(list) != 100 || kept.Load() != 100 {
		t.Errorf("%d secrets are kept, %d were said to be, %v; 100 may be", len(list), kept.Load(), err)
	}
}
