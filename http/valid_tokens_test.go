package http_test

import (
	"sync"
	"testing"

	"troupe/http"
	"troupe/persistence"
	"troupe/testkit"
)

// TestValidTokensAfterARestart: beside clients that go on with revoked tokens, each valid token
// of the same address works with its first request to a service that has seen none of them.
func TestValidTokensAfterARestart(t *testing.T) {
	k := testkit.New(t, testkit.Options{Workers: 1})
	accounts := persistence.NewAccounts(k.Store)
	a, err := accounts.Create(t.Context(), "ada", "pro")
	if err != nil {
		t.Fatal(err)
	}
	var valid, revoked []string
	for i := range 90 {
		token, made, err := accounts.CreateToken(t.Context(), a.ID, persistence.Issuer{})
		if err == nil && i%2 == 1 {
			err = accounts.RevokeToken(t.Context(), made.ID, persistence.Issuer{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			revoked = append(revoked, token)
		} else {
			valid = append(valid, token)
		}
	}
	e := openServer(t, k.Node, func(c *http.Config) { c.Auth = persistence.NewAccounts(k.Store) }) // with nothing in memory
	var work sync.WaitGroup
	for i, token := range revoked {
		work.Go(func() {
			for range 5 {
				if status, _ := call(t, e, "GET", "/v1/workers", token, ""); status != 401 && status != 429 {
					t.Errorf("revoked token %d: %d", i, status)
				}
			}
		})
	}
	for i, token := range valid {
		work.Go(func() {
			if status, body := call(t, e, "GET", "/v1/workers", token, ""); status != 200 {
				t.Errorf("valid token %d: %d %s", i, status, body)
			}
		})
	}
	work.Wait()
}
