package outside_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// httpCommand gives a command over HTTP.
func httpCommand(t *testing.T, base, token, command, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest("POST", base+"/v1/operator/"+command, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, string(b)
}

// tokenNews reads the news of an account and returns the events about tokens.
func tokenNews(t *testing.T, base, token string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", base+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	lines, found := bufio.NewScanner(res.Body), make(chan string, 10)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: snapshot") { // from here on nothing is missed
	}
	go func() {
		defer res.Body.Close()
		defer close(found)
		name := ""
		for lines.Scan() {
			if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = n
			} else if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok && name == "token" {
				found <- d
			}
		}
	}()
	return found
}

// TestAnOperatorsTokenActsInTheOpen: whoever has an operator's token can issue a
// token for an account and be that account. The account sees it while it happens
// and afterwards, and the machine keeps it, whatever the operator does next.
func TestAnOperatorsTokenActsInTheOpen(t *testing.T) {
	t.Parallel()
	data := filepath.Join(shortFolder(t), "data")
	d := operatorCLI{t, data}
	d.says("account", "create", "ops", "--plan=pro", "--operator")
	ops := d.says("token", "create", "--account=ops")
	ada := d.says("token", "create", "--account=ada", "--plan=pro")
	_, base := serve(t, data, "--workers=1")
	heard := tokenNews(t, base, ada)

	// The attack: a token of the account, by HTTP, to play a task as the account,
	// and gone again.
	status, body := httpCommand(t, base, ops, "token/create", `{"account":"ada"}`)
	var made struct{ Result struct{ Token, ID string } }
	if err := json.Unmarshal([]byte(body), &made); status != 200 || err != nil || made.Result.Token == "" {
		t.Fatalf("%d %s", status, body)
	}
	if status, got, err := post(base, made.Result.Token, `{"queueTimeout":20000,"actions":[{"evaluate":"return 6*7"}]}`); err != nil || status != 200 {
		t.Errorf("%d, %v: %s", status, err, got)
	}
	if status, body := httpCommand(t, base, ops, "token/revoke", `{"id":"`+made.Result.ID+`"}`); status != 200 {
		t.Errorf("%d %s", status, body)
	}

	type by struct{ Via, Account, TokenID, RequestID string }
	for _, want := range []string{"issued", "revoked"} {
		select {
		case data := <-heard:
			var n struct {
				Event, TokenID string
				By             by
			}
			if err := json.Unmarshal([]byte(data), &n); err != nil || n.Event != want || n.TokenID != made.Result.ID || n.By.Via != "http" || n.By.Account != "ops" {
				t.Errorf("the account hears %s", data)
			}
		case <-time.After(hang):
			t.Fatal("the account hears of no token")
		}
	}
	var own struct {
		Tokens []struct {
			TokenID  string
			IssuedBy by
			Current  bool
		}
		Revoked []struct {
			TokenID             string
			IssuedBy, RevokedBy by
		}
	}
	status, body = get(t, base, ada, "/v1/tokens")
	if err := json.Unmarshal([]byte(body), &own); err != nil || status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if len(own.Tokens) != 1 || !own.Tokens[0].Current || own.Tokens[0].IssuedBy.Via != "command" {
		t.Errorf("the account's tokens are %s", body)
	}
	if len(own.Revoked) != 1 || own.Revoked[0].TokenID != made.Result.ID || own.Revoked[0].IssuedBy.Account != "ops" || own.Revoked[0].IssuedBy.RequestID == "" ||
		!strings.HasPrefix(own.Revoked[0].IssuedBy.TokenID, "tok_") || own.Revoked[0].RevokedBy.Account != "ops" {
		t.Errorf("the account's revoked tokens are %s", body)
	}

	// No command over HTTP reaches the audit log, and it has each act.
	for _, command := range []string{"audit/list", "audit/delete", "secret/set", "secret/list", "account/create-operator"} {
		if status, body := httpCommand(t, base, ops, command, `{}`); status != 404 {
			t.Errorf("%s: %d %s", command, status, body)
		}
	}
	acts := d.says("audit", "--account=ada")
	for _, want := range []string{"token/create", "token/revoke", made.Result.ID, "ops tok_", "127.0.0.1", "command"} {
		if !strings.Contains(acts, want) {
			t.Errorf("the audit log lacks %q:\n%s", want, acts)
		}
	}
	if strings.Contains(acts, "troupe_") {
		t.Errorf("the audit log holds a token:\n%s", acts)
	}
}
