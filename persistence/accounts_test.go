package persistence_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"troupe/persistence"
	"troupe/testkit/wait"
)

// counting is a store that counts reads.
type counting struct {
	persistence.Store
	gets atomic.Int64
}

func (c *counting) Get(ctx context.Context, key string) (persistence.Record, error) {
	c.gets.Add(1)
	return c.Store.Get(ctx, key)
}

func memory(t *testing.T) *counting {
	s := &counting{Store: persistence.NewMemory()}
	t.Cleanup(func() { s.Close() })
	return s
}

func newAccount(t *testing.T, a *persistence.Accounts, name string) persistence.Account {
	t.Helper()
	acc, err := a.Create(ctx, name, "free")
	if err != nil {
		t.Fatal(err)
	}
	return acc
}

func newToken(t *testing.T, a *persistence.Accounts, account string) (string, persistence.Token) {
	t.Helper()
	plain, tok, err := a.CreateToken(ctx, account, persistence.Issuer{})
	if err != nil {
		t.Fatal(err)
	}
	return plain, tok
}

func TestAccounts(t *testing.T) {
	a := persistence.NewAccounts(memory(t))
	bob := newAccount(t, a, "bob")
	ann := newAccount(t, a, "ann@example.com")
	if bob.ID == ann.ID || url.PathEscape(bob.ID) != bob.ID || bob.Name != "bob" || bob.Plan != "free" || bob.Created.IsZero() {
		t.Fatalf("got %+v", bob)
	}
	if _, err := a.Create(ctx, "bob", "pro"); !errors.Is(err, persistence.ErrNameTaken) {
		t.Fatalf("a second bob: %v", err)
	}
	for _, find := range []func() (persistence.Account, error){
		func() (persistence.Account, error) { return a.Get(ctx, bob.ID) },
		func() (persistence.Account, error) { return a.ByName(ctx, "bob") },
	} {
		if got, err := find(); err != nil || !reflect.DeepEqual(got, bob) {
			t.Fatalf("got %+v, %v; want %+v", got, err, bob)
		}
	}
	if list, err := a.List(ctx); err != nil || len(list) != 2 || !reflect.DeepEqual(list, []persistence.Account{ann, bob}) {
		t.Fatalf("List = %+v, %v", list, err)
	}
	if got, err := a.SetPlan(ctx, bob.ID, "pro"); err != nil || got.Plan != "pro" || got.ID != bob.ID {
		t.Fatalf("SetPlan = %+v, %v", got, err)
	}
	if got, _ := a.Get(ctx, bob.ID); got.Plan != "pro" {
		t.Fatalf("the plan is %q", got.Plan)
	}
	for _, name := range []string{"", ".x", "a/b", "a b", "ä", "a~b", "a\n", strings.Repeat("x", 65)} {
		if _, err := a.Create(ctx, name, "free"); err == nil {
			t.Errorf("the name %q was taken", name)
		}
		if _, err := a.ByName(ctx, name); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("ByName(%q): %v", name, err)
		}
	}
	for _, id := range []string{"", "bob", "bob~", "bob~aaaaaaaa", "../bob", "eve~aaaaaaaa"} {
		if _, err := a.Get(ctx, id); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("Get(%q): %v", id, err)
		}
	}
}

func TestOneOfManyGetsTheName(t *testing.T) {
	a := persistence.NewAccounts(memory(t))
	var won atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := a.Create(ctx, "bob", "free"); err == nil {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d accounts of one name", won.Load())
	}
}

func TestDeletedAccount(t *testing.T) {
	store := memory(t)
	a := persistence.NewAccounts(store)
	bob, eve := newAccount(t, a, "bob"), newAccount(t, a, "eve")
	plain, tok := newToken(t, a, bob.ID)
	other, _ := newToken(t, a, eve.ID)
	if _, err := a.Lookup(ctx, plain); err != nil { // now it is remembered
		t.Fatal(err)
	}
	if err := a.Delete(ctx, bob.ID); err != nil {
		t.Fatal(err)
	}
	late, _ := json.Marshal(persistence.Token{ID: "tok_0000000000000000", Account: bob.ID}) // made at the same moment
	if _, err := store.Put(ctx, persistence.Write{Key: "token/" + strings.Repeat("0", 64), Value: late}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Create(ctx, "bob", "free"); !errors.Is(err, persistence.ErrNameTaken) || !strings.Contains(err.Error(), "still being removed") {
		t.Fatalf("the name of one that is being removed: %v", err)
	}
	for what, err := range map[string]error{
		"Get":         second(a.Get(ctx, bob.ID)),
		"ByName":      second(a.ByName(ctx, "bob")),
		"Lookup":      second(a.Lookup(ctx, plain)),
		"SetPlan":     second(a.SetPlan(ctx, bob.ID, "pro")),
		"CreateToken": third(a.CreateToken(ctx, bob.ID, persistence.Issuer{})),
	} {
		if !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("%s of a deleted account: %v", what, err)
		}
	}
	if list, err := a.List(ctx); err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], eve) {
		t.Fatalf("List = %+v, %v", list, err)
	}
	if list, err := a.Removed(ctx); err != nil || len(list) != 1 || list[0].ID != bob.ID || list[0].Plan != "free" {
		t.Fatalf("Removed = %+v, %v", list, err)
	}
	if err := a.Forget(ctx, eve.ID); err == nil {
		t.Fatal("an account was forgotten that was not deleted")
	}
	for range 2 { // again, where it was not finished
		if err := a.Delete(ctx, bob.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Forget(ctx, bob.ID); err != nil {
		t.Fatal(err)
	}
	again := newAccount(t, a, "bob")
	if again.ID == bob.ID {
		t.Fatal("the new bob is taken for the old one")
	}
	if got, err := a.Lookup(ctx, plain); !errors.Is(err, persistence.ErrNotFound) {
		t.Fatalf("the token of a deleted account stands for %+v, %v", got, err)
	}
	if _, err := a.Get(ctx, bob.ID); !errors.Is(err, persistence.ErrNotFound) {
		t.Fatalf("the old identifier: %v", err)
	}
	if list, _ := store.List(ctx, "token/"); len(list) != 1 {
		t.Fatalf("%d tokens are left, want eve's", len(list))
	}
	if err := a.RevokeToken(ctx, tok.ID, persistence.Issuer{}); !errors.Is(err, persistence.ErrNotFound) {
		t.Fatalf("revoking a deleted token: %v", err)
	}
	if got, err := a.Lookup(ctx, other); err != nil || !reflect.DeepEqual(got, eve) {
		t.Fatalf("eve's token: %+v, %v", got, err)
	}
	for what, err := range map[string]error{"Delete": a.Delete(ctx, bob.ID), "Forget": a.Forget(ctx, bob.ID)} {
		if !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("%s of a forgotten account: %v", what, err)
		}
	}
	if _, err := a.Get(ctx, again.ID); err != nil {
		t.Fatalf("the new bob went with the old one: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

func TestTokens(t *testing.T) {
	store := memory(t)
	a := persistence.NewAccounts(store)
	bob, eve := newAccount(t, a, "bob"), newAccount(t, a, "eve")
	plain, tok := newToken(t, a, bob.ID)
	second, _ := newToken(t, a, bob.ID)
	eves, _ := newToken(t, a, eve.ID)
	if !strings.HasPrefix(plain, "troupe_") || len(plain) != len("troupe_")+43 || url.PathEscape(plain) != plain || plain == second {
		t.Fatalf("tokens %q and %q", plain, second)
	}
	for token, want := range map[string]persistence.Account{plain: bob, second: bob, eves: eve} {
		for range 2 {
			if got, err := a.Lookup(ctx, token); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("Lookup = %+v, %v; want %+v", got, err, want)
			}
		}
	}
	for _, bad := range []string{"", "troupe_", plain[:len(plain)-1], plain + "A", strings.ToUpper(plain), plain[:10] + "AAAA" + plain[14:], fmt.Sprintf("%x", tok.Hash)} {
		if got, err := a.Lookup(ctx, bad); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("Lookup(%q) = %+v, %v", bad, got, err)
		}
	}
	records, err := store.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if whole := r.Key + string(r.Value); strings.Contains(whole, plain) || strings.Contains(whole, plain[len("troupe_"):]) {
			t.Fatalf("the token itself is in the store: %s", whole)
		}
	}
	list, err := a.ListTokens(ctx, bob.ID)
	if err != nil || len(list) != 2 || !slices.ContainsFunc(list, func(x persistence.Token) bool { return x.ID == tok.ID && x.Account == bob.ID }) {
		t.Fatalf("ListTokens = %+v, %v", list, err)
	}
	if all, err := a.AllTokens(ctx); err != nil || len(all) != 3 {
		t.Fatalf("AllTokens = %+v, %v", all, err)
	}
	if _, _, err := a.CreateToken(ctx, "nobody~aaaaaaaa", persistence.Issuer{}); !errors.Is(err, persistence.ErrNotFound) {
		t.Fatalf("a token for nobody: %v", err)
	}

	if err := a.RevokeToken(ctx, tok.ID, persistence.Issuer{}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Lookup(ctx, plain); !errors.Is(err, persistence.ErrNotFound) {
		t.Fatalf("a revoked token: %v", err)
	}
	if _, err := a.Lookup(ctx, second); err != nil {
		t.Fatalf("the account's other token: %v", err)
	}
	for _, id := range []string{"", "tok_", tok.ID[:8], "token/", "tok_zzzzzzzzzzzzzzzz", tok.ID} {
		if err := a.RevokeToken(ctx, id, persistence.Issuer{}); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("RevokeToken(%q): %v", id, err)
		}
	}
	if list, _ := store.List(ctx, "token/"); len(list) != 2 {
		t.Fatalf("%d tokens are left, want 2", len(list))
	}
}

// A token that was looked up before is found without the store, until
// something changes, here or elsewhere.
func TestLookupRemembers(t *testing.T) {
	store := memory(t)
	a := persistence.NewAccounts(store)
	elsewhere := persistence.NewAccounts(store)
	bob := newAccount(t, a, "bob")
	plain, tok := newToken(t, a, bob.ID)
	lookup := func() (persistence.Account, bool) { // whether the store was read
		before := store.gets.Load()
		acc, err := a.Lookup(ctx, plain)
		if err != nil {
			t.Fatal(err)
		}
		return acc, store.gets.Load() != before
	}
	wait.Until(t, "a lookup without the store", func() bool { _, read := lookup(); return !read })
	if _, err := a.SetPlan(ctx, bob.ID, "pro"); err != nil {
		t.Fatal(err)
	}
	if acc, _ := lookup(); acc.Plan != "pro" {
		t.Fatalf("right after SetPlan the plan is %q", acc.Plan)
	}
	wait.Until(t, "a lookup without the store", func() bool { _, read := lookup(); return !read })
	if _, err := elsewhere.SetPlan(ctx, bob.ID, "basic"); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "a change made elsewhere is seen", func() bool { acc, _ := lookup(); return acc.Plan == "basic" })
	wait.Until(t, "a lookup without the store", func() bool { _, read := lookup(); return !read })
	if err := elsewhere.RevokeToken(ctx, tok.ID, persistence.Issuer{}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "a revocation made elsewhere is seen", func() bool {
		_, err := a.Lookup(ctx, plain)
		return errors.Is(err, persistence.ErrNotFound)
	})
}

// However a lookup and a revocation meet, the token is worthless afterwards.
func TestLookupWhileRevoking(t *testing.T) {
	a := persistence.NewAccounts(memory(t))
	bob := newAccount(t, a, "bob")
	for range 200 {
		plain, tok := newToken(t, a, bob.ID)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _, _ = a.Lookup(ctx, plain) })
		}
		if err := a.RevokeToken(ctx, tok.ID, persistence.Issuer{}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Lookup(ctx, plain); !errors.Is(err, persistence.ErrNotFound) {
			t.Fatalf("right after its revocation: %v", err)
		}
		wg.Wait()
		if _, err := a.Lookup(ctx, plain); !errors.Is(err, persistence.ErrNotFound) {
			t.Fatalf("a revoked token was remembered: %v", err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	store := persistence.NewMemory()
	defer store.Close()
	a := persistence.NewAccounts(store)
	acc, err := a.Create(ctx, "bob", "free")
	if err != nil {
		b.Fatal(err)
	}
	plain, _, err := a.CreateToken(ctx, acc.ID, persistence.Issuer{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := a.Lookup(ctx, plain); err != nil {
			b.Fatal(err)
		}
	}
}
