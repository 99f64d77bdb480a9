package persistence_test

import (
	"context"
	"testing"

	"troupe/persistence"
)

// TestTokenEvents: an account is told of its tokens, of a bounded number, and
// nobody else is; with the account goes what it was told.
func TestTokenEvents(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := persistence.NewMemory()
	defer store.Close()
	a := persistence.NewAccounts(store)
	ada, err := a.Create(ctx, "ada", "pro")
	if err != nil {
		t.Fatal(err)
	}
	bob, err := a.Create(ctx, "bob", "pro")
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan persistence.TokenEvent, 1000)
	follow, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() { defer close(over); a.FollowTokens(follow, func(e persistence.TokenEvent) { heard <- e }) }()
	defer func() { stop(); <-over }()

	ops := persistence.Issuer{Via: persistence.ViaHTTP, Account: "ops", Token: "tok_0", Request: "r1"}
	_, kept, err := a.CreateToken(ctx, ada.ID, ops)
	if err != nil {
		t.Fatal(err)
	}
	for range 120 {
		_, tok, err := a.CreateToken(ctx, ada.ID, ops)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.RevokeToken(ctx, tok.ID, ops); err != nil {
			t.Fatal(err)
		}
	}
	events, err := a.TokenEvents(ctx, ada.ID)
	if err != nil || len(events) != 200 {
		t.Errorf("%d events, %v", len(events), err)
	}
	last := events[len(events)-1]
	if last.Event != persistence.TokenRevoked || last.By != ops || last.Issued == nil || *last.Issued != ops || last.Account != ada.ID {
		t.Errorf("the last one is %+v", last)
	}
	for e := range heard {
		if e.Account != ada.ID {
			t.Errorf("somebody else's: %+v", e)
		}
		if e.Token == last.Token && e.Event == last.Event {
			break
		}
	}
	for range 2 { // out of the store, and out of memory
		own, err := a.TokensOf(ctx, ada.ID)
		if err != nil || len(own) != 1 || own[0].ID != kept.ID || *own[0].Issued != ops {
			t.Errorf("the tokens are %+v, %v", own, err)
		}
		if own, err := a.TokensOf(ctx, bob.ID); err != nil || len(own) != 0 {
			t.Errorf("somebody else has %+v, %v", own, err)
		}
	}
	if err := a.Delete(ctx, ada.ID); err != nil {
		t.Fatal(err)
	}
	if left, err := store.List(ctx, "token"); err != nil || len(left) != 0 {
		t.Errorf("%d records are left, %v", len(left), err)
	}
}
