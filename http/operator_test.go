package http_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"troupe/actors/api"
	"troupe/http"
	"troupe/http/admin"
	"troupe/persistence"
	"troupe/testkit"
)

// tokenOf makes an account and a token of it.
func tokenOf(t *testing.T, create func(_ context.Context, name, plan string) (persistence.Account, error), accounts *persistence.Accounts, name, plan string) string {
	t.Helper()
	a, err := create(t.Context(), name, plan)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := accounts.CreateToken(t.Context(), a.ID, persistence.Issuer{Via: persistence.ViaSocket})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestCommandsOverHTTP: a token of an operator's account runs commands, and no
// other does; what is documented is what is answered.
func TestCommandsOverHTTP(t *testing.T) {
	beside(t)
	k := testkit.New(t, testkit.Options{Workers: 1})
	accounts := persistence.NewAccounts(k.Store)
	e := openServer(t, k.Node, func(c *http.Config) {
		c.Auth, c.Admin = accounts, &admin.Admin{Accounts: accounts, Actors: k.Node}
	})
	ops, ada := tokenOf(t, accounts.CreateOperator, accounts, "ops", "pro"), tokenOf(t, accounts.Create, accounts, "ada", "free")

	for _, tc := range []struct {
		name, token, command, body string
		status                     int
		says                       string
	}{
		{"no token", "", "worker/list", `{}`, 401, "is missing"},
		{"a token that nobody has", "troupe_x", "worker/list", `{}`, 401, "not valid"},
		{"a token of another account", ada, "worker/list", `{}`, 403, "operator_only"},
		{"what is not there", ops, "worker/dance", `{}`, 404, "no such operator command"},
		{"no body", ops, "worker/list", ``, 400, `want {}`},
		{"no object", ops, "worker/drain", `[]`, 400, "want an object with worker"},
		{"a field too much", ops, "worker/drain", `{"worker":"worker-1","now":true}`, 400, "want an object with worker"},
		{"no such worker", ops, "worker/drain", `{"worker":"nobody"}`, 409, `no worker \"nobody\"`},
		{"no such plan", ops, "account/create", `{"name":"eve","plan":"gold"}`, 409, `plan \"gold\" is unknown`},
		{"secrets are no matter for HTTP", ops, "secret/list", `{"account":"ada"}`, 404, "no such operator command"},
		{"nor are other operators", ops, "account/create-operator", `{"name":"eve","plan":"pro"}`, 404, "no such operator command"},
		{"nor their tokens", ops, "token/create", `{"account":"ops"}`, 409, "on the machine itself"},
		{"accounts", ops, "account/list", `{}`, 200, `"operator":true`},
		{"a token", ops, "token/create", `{"account":"bob","plan":"basic"}`, 200, `"token":"troupe_`},
		{"tokens", ops, "token/list", `{}`, 200, `"account":"bob"`},
		{"the count", ops, "capacity/list", `{}`, 200, `"draining":false`},
	} {
		status, body := call(t, e, "POST", "/v1/operator/"+tc.command, tc.token, tc.body)
		documented(t, "POST", "/v1/operator/"+tc.command, status, "application/json", []byte(body))
		if status != tc.status || !strings.Contains(body, tc.says) {
			t.Errorf("%s: %d %s", tc.name, status, body)
		}
	}

	drained := func() bool {
		found, err := api.Ask(context.Background(), k.Node, &api.SurveyWorkers{})
		return err == nil && found.Workers[0].Draining
	}
	for _, command := range []string{"drain", "resume"} {
		status, body := call(t, e, "POST", "/v1/operator/worker/"+command, ops, `{"worker":"worker-1"}`)
		documented(t, "POST", "/v1/operator/worker/"+command, status, "application/json", []byte(body))
		if status != 200 || drained() != (command == "drain") {
			t.Errorf("%s: %d %s", command, status, body)
		}
	}

	// The whole service, and it says so to everybody.
	if status, body := call(t, e, "POST", "/v1/operator/drain", ops, `{}`); status != 200 || !strings.Contains(body, `"draining":true`) {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := call(t, e, "POST", "/v1/", ada, `{"actions":[{"wait":1}]}`); status != 503 {
		t.Errorf("a drained service answers %d to a task", status)
	}
	if status, body := call(t, e, "POST", "/v1/operator/resume", ops, `{}`); status != 200 || !strings.Contains(body, `"draining":false`) {
		t.Errorf("%d %s", status, body)
	}

	// A token that was revoked gives no more commands.
	var made struct{ Result []admin.Token }
	_, body := call(t, e, "POST", "/v1/operator/token/list", ops, `{"account":"ops"}`)
	if err := json.Unmarshal([]byte(body), &made); err != nil || len(made.Result) != 1 {
		t.Fatalf("%s: %v", body, err)
	}
	if status, body := call(t, e, "POST", "/v1/operator/token/revoke", ops, `{"id":"`+made.Result[0].ID+`"}`); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	eventually(t, "the token is worth nothing", func() bool {
		status, _ := call(t, e, "POST", "/v1/operator/worker/list", ops, `{}`)
		return status == 401
	})
}

// TestNoCommandsWithoutAnAdmin: an edge that was given none carries nothing
// out, whoever asks.
func TestNoCommandsWithoutAnAdmin(t *testing.T) {
	e := openServer(t, &fakeActors{})
	if status, body := call(t, e, "POST", "/v1/operator/drain", "boss", `{}`); status != 404 || !strings.Contains(body, "accepts no operator commands") {
		t.Errorf("%d %s", status, body)
	}
}
