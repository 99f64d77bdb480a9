package http_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/http"
	"troupe/http/admin"
	"troupe/persistence"
	"troupe/testkit"
)

// operatorEdge is an edge with accounts in its store, the operator's commands and an
// audit log.
func operatorEdge(t *testing.T) (e *edge, k *testkit.Kit, audit *persistence.Audit, folder, ops string) {
	t.Helper()
	k = testkit.New(t, testkit.Options{Workers: 1})
	accounts := persistence.NewAccounts(k.Store)
	ctx := context.Background()
	folder = filepath.Join(t.TempDir(), "audit")
	audit = persistence.NewAudit(folder)
	t.Cleanup(func() { audit.Close() })
	e = openServer(t, k.Node, func(c *http.Config) {
		c.Auth, c.Tokens, c.Live = accounts, accounts, k.Node
		c.Admin = &admin.Admin{Accounts: accounts, Actors: k.Node, Audit: audit}
	})
	boss, err := accounts.CreateOperator(ctx, "ops", "pro")
	if err != nil {
		t.Fatal(err)
	}
	if ops, _, err = accounts.CreateToken(ctx, boss.ID, persistence.Issuer{Via: persistence.ViaSocket}); err != nil {
		t.Fatal(err)
	}
	return e, k, audit, folder, ops
}

// TestNoCommandWithoutAudit: where the audit log takes no lines, a command over HTTP
// changes nothing, and says why.
func TestNoCommandWithoutAudit(t *testing.T) {
	t.Parallel()
	e, k, audit, folder, ops := operatorEdge(t)
	if err := os.WriteFile(folder, nil, 0o600); err != nil { // where the folder would be
		t.Fatal(err)
	}
	const create = `{"account":"ada","plan":"pro"}`
	status, body := call(t, e, "POST", "/v1/operator/token/create", ops, create)
	documented(t, "POST", "/v1/operator/token/create", status, "application/json", []byte(body))
	if status != 503 || !strings.Contains(body, "storage_unwritable") {
		t.Errorf("%d %s", status, body)
	}
	if left, err := k.Store.List(context.Background(), "account/ada"); err != nil || len(left) != 0 {
		t.Errorf("it was done: %v, %v", left, err)
	}
	if status, body := call(t, e, "POST", "/v1/operator/token/list", ops, `{}`); status != 200 {
		t.Errorf("what only reads: %d %s", status, body)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if status, body := call(t, e, "POST", "/v1/operator/token/create", ops, create); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	found, err := audit.Last(10, func(persistence.Act) bool { return true })
	if err != nil || len(found) != 1 || found[0].Result != persistence.ActDone || !strings.HasPrefix(found[0].Detail, "tok_") || found[0].From != "127.0.0.1" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestCommandsAreBounded: nobody pushes what they did out of the audit log by giving
// commands without end.
func TestCommandsAreBounded(t *testing.T) {
	t.Parallel()
	k := testkit.New(t, testkit.Options{Workers: 1})
	e := openServer(t, k.Node, func(c *http.Config) { c.Admin = &admin.Admin{Actors: k.Node} })
	for i := range 620 {
		status, body := call(t, e, "POST", "/v1/operator/worker/drain", "boss", fmt.Sprintf(`{"worker":"nobody-%d"}`, i))
		if status == 429 {
			if i < 600 || !strings.Contains(body, "rate_limited") {
				t.Errorf("after %d: %s", i, body)
			}
			documented(t, "POST", "/v1/operator/worker/drain", status, "application/json", []byte(body))
			if status, body := call(t, e, "POST", "/v1/operator/worker/list", "boss", `{}`); status != 200 {
				t.Errorf("what only reads: %d %s", status, body)
			}
			return
		}
		if status != 409 {
			t.Fatalf("%d %s", status, body)
		}
	}
	t.Error("620 commands were carried out")
}

// TestLooksAreAudited: an operator who sees the live picture of another account is
// in the audit log, once an hour; who sees their own is not.
func TestLooksAreAudited(t *testing.T) {
	t.Parallel()
	e, k, audit, _, ops := operatorEdge(t)
	h := &liveServer{e, k, t}
	r, end := h.playing(acc1)
	defer end()
	for range 3 {
		c, status, p := h.dialLive("/v1/live/"+r.ID, nil, "Authorization: Bearer "+ops)
		if status != 0 {
			t.Fatalf("%d %+v", status, p)
		}
		shows(t, c, r.ID)
		_ = c.Close()
	}
	found, err := audit.Last(10, func(persistence.Act) bool { return true })
	if err != nil || len(found) != 1 || found[0].Command != "live" || found[0].About != r.ID || found[0].Detail != "acc1" || found[0].By.Account != "ops" || found[0].By.Token == "" {
		t.Errorf("%+v, %v", found, err)
	}
}
