package http_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"troupe/http"
	"troupe/persistence"
)

func TestTokensOverTheSocket(t *testing.T) {
	store := persistence.NewMemory()
	defer store.Close()
	accounts := persistence.NewAccounts(store)
	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "admin.sock")

	if _, err := http.AskToken(path, "local", "pro"); !errors.Is(err, http.ErrNoService) {
		t.Errorf("without a service: %v", err)
	}
	// What a killed service left behind is in nobody's way.
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	admin, err := http.OpenAdmin(path, accounts, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}

	for _, step := range []struct{ account, plan, fault string }{
		{"ada", "", `no account "ada"`},
		{"ada", "gold", `plan "gold" is unknown`},
		{"ada", "basic", ""},
		{"ada", "basic", ""},
		{"ada", "", ""},
		{"ada", "pro", `"ada" has the plan basic, not pro`},
		{"a b", "pro", `"a b"`},
	} {
		token, err := http.AskToken(path, step.account, step.plan)
		if step.fault != "" {
			if err == nil || !strings.Contains(err.Error(), step.fault) {
				t.Errorf("%+v: %q, %v", step, token, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", step, err)
			continue
		}
		if a, err := accounts.Lookup(context.Background(), token); err != nil || a.Name != "ada" || a.Plan != "basic" {
			t.Errorf("%+v: the token is of %+v, %v", step, a, err)
		}
	}
	if err := admin.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := http.OpenAdmin(filepath.Join(dir, strings.Repeat("x", 120)), accounts, zerolog.Nop()); err == nil ||
		!strings.Contains(err.Error(), "shorter data folder") {
		t.Errorf("a long path: %v", err)
	}
}
