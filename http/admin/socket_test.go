package admin_test

import (
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"troupe/http/admin"
	"troupe/persistence"
	"troupe/testkit"
)

// socket returns a path for one.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "admin.sock")
}

// answering starts actors with a scripted engine and answers commands for them over a
// socket.
func answering(t *testing.T, o testkit.Options) (path string, k *testkit.Kit, accounts *persistence.Accounts) {
	t.Helper()
	k = testkit.New(t, o)
	accounts = persistence.NewAccounts(k.Store)
	path = socket(t)
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := admin.OpenSocket(path, &admin.Admin{Accounts: accounts, Secrets: persistence.NewSecrets(k.Store, seal), Actors: k.Node}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return path, k, accounts
}

func TestTheSocket(t *testing.T) {
	store := persistence.NewMemory()
	defer store.Close()
	path := socket(t)
	if _, err := admin.Send(path, admin.ListTokens{}); !errors.Is(err, admin.ErrNoService) {
		t.Errorf("without a service: %v", err)
	}
	// What a killed service left behind is in nobody's way.
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	opened, err := admin.OpenSocket(path, &admin.Admin{Accounts: persistence.NewAccounts(store)}, zerolog.New(&said))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	client := &nethttp.Client{Transport: &nethttp.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	for _, tc := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"POST", "/token/make", `{}`, 404, "no such command"},
		{"GET", "/token/list", ``, 404, "no such command"},
		{"POST", "/token/list", `[`, 409, "could not be read"},
		{"POST", "/worker/list", `{}`, 500, "see its log"}, // there are no actors: a fault of ours
		{"POST", "/token/list", `{}`, 200, `{"result":[]}`},
	} {
		req, _ := nethttp.NewRequest(tc.method, "http://troupe"+tc.path, strings.NewReader(tc.body))
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != tc.status || !strings.Contains(string(b), tc.text) {
			t.Errorf("%s %s: %d %s, %v", tc.method, tc.path, res.StatusCode, b, err)
		}
	}
	if _, err := admin.Send(path, admin.ListWorkers{}); err == nil || !strings.Contains(err.Error(), "see its log") {
		t.Error(err)
	}
	made, err := admin.Send(path, admin.CreateToken{Account: "ada", Plan: "pro"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Send(path, admin.RevokeToken{ID: made.Token}); err == nil || strings.Contains(err.Error(), made.Token) ||
		!strings.Contains(err.Error(), "must not appear on a command line") {
		t.Errorf("a token instead of its id: %v", err)
	}
	if os.Geteuid() != 0 { // root may open everything
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.Send(path, admin.ListTokens{}); err == nil || errors.Is(err, admin.ErrNoService) || !strings.Contains(err.Error(), "only the user") {
			t.Errorf("a socket that may not be opened: %v", err)
		}
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if strings.Contains(said.String(), made.Token) || !strings.Contains(said.String(), `"order":"/token/create","about":"ada"`) {
		t.Errorf("the log: %s", said.String())
	}
	if _, err := admin.OpenSocket(filepath.Join(filepath.Dir(path), strings.Repeat("x", 120)), &admin.Admin{}, zerolog.Nop()); err == nil ||
		!strings.Contains(err.Error(), "shorter data folder") {
		t.Errorf("a long path: %v", err)
	}
}

// wants fails the test unless the command is refused with such a sentence, or
// carried out where there is none.
func wants[R any](t *testing.T, path, text string, o admin.Command[R]) R {
	t.Helper()
	r, err := admin.Send(path, o)
	switch {
	case text == "" && err != nil:
		t.Errorf("%#v: %v", o, err)
	case text != "" && (err == nil || !strings.Contains(err.Error(), text)):
		t.Errorf("%#v: %+v, %v", o, r, err)
	}
	return r
}
