package http_test

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

	"troupe/http"
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

// office starts actors with a scripted engine and answers orders for them over a
// socket.
func office(t *testing.T, o testkit.Options) (path string, k *testkit.Kit, accounts *persistence.Accounts) {
	t.Helper()
	k = testkit.New(t, o)
	accounts = persistence.NewAccounts(k.Store)
	path = socket(t)
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	admin, err := http.OpenAdmin(path, &http.Office{Accounts: accounts, Secrets: persistence.NewSecrets(k.Store, seal), Staff: k.Node}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Close(); err != nil {
			t.Error(err)
		}
	})
	return path, k, accounts
}

// call sends one request to the edge.
func call(t *testing.T, e *edge, method, path, token, body string) (int, string) {
	t.Helper()
	req, err := nethttp.NewRequest(method, "http://"+e.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := nethttp.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, string(b)
}

// play sends a task.
func play(t *testing.T, e *edge, token, task string) (int, string) {
	t.Helper()
	return call(t, e, "POST", "/v1/", token, task)
}

func TestTheSocket(t *testing.T) {
	store := persistence.NewMemory()
	defer store.Close()
	path := socket(t)
	if _, err := http.Send(path, http.ListTokens{}); !errors.Is(err, http.ErrNoService) {
		t.Errorf("without a service: %v", err)
	}
	// What a killed service left behind is in nobody's way.
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	admin, err := http.OpenAdmin(path, &http.Office{Accounts: persistence.NewAccounts(store)}, zerolog.New(&said))
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
		{"POST", "/worker/list", `{}`, 500, "see its log"}, // there is no staff: a fault of ours
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
	if _, err := http.Send(path, http.ListWorkers{}); err == nil || !strings.Contains(err.Error(), "see its log") {
		t.Error(err)
	}
	made, err := http.Send(path, http.CreateToken{Account: "ada", Plan: "pro"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.Send(path, http.RevokeToken{ID: made.Token}); err == nil || strings.Contains(err.Error(), made.Token) ||
		!strings.Contains(err.Error(), "belongs on no command line") {
		t.Errorf("a token instead of its id: %v", err)
	}
	if os.Geteuid() != 0 { // root may open everything
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := http.Send(path, http.ListTokens{}); err == nil || errors.Is(err, http.ErrNoService) || !strings.Contains(err.Error(), "only the user") {
			t.Errorf("a socket that may not be opened: %v", err)
		}
	}
	if err := admin.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if strings.Contains(said.String(), made.Token) || !strings.Contains(said.String(), `"order":"/token/create","about":"ada"`) {
		t.Errorf("the log: %s", said.String())
	}
	if _, err := http.OpenAdmin(filepath.Join(filepath.Dir(path), strings.Repeat("x", 120)), &http.Office{}, zerolog.Nop()); err == nil ||
		!strings.Contains(err.Error(), "shorter data folder") {
		t.Errorf("a long path: %v", err)
	}
}

// wants fails the test unless the order is refused with such a sentence, or
// carried out where there is none.
func wants[R any](t *testing.T, path, text string, o http.Order[R]) R {
	t.Helper()
	r, err := http.Send(path, o)
	switch {
	case text == "" && err != nil:
		t.Errorf("%#v: %v", o, err)
	case text != "" && (err == nil || !strings.Contains(err.Error(), text)):
		t.Errorf("%#v: %+v, %v", o, r, err)
	}
	return r
}
