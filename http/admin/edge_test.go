package admin_test

import (
	"context"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/http"
	"troupe/persistence"
	"troupe/testkit/leaks"
)

func TestMain(m *testing.M) {
	look := leaks.Start()
	os.Exit(look.End(m.Run()))
}

// edge is the address of a server for clients.
type edge string

// serve starts one in front of actors.
func serve(t *testing.T, c http.Actors, accounts *persistence.Accounts) edge {
	t.Helper()
	s, err := http.New(http.Config{Actors: c, Auth: accounts, Uploads: filepath.Join(t.TempDir(), "uploads")})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return edge("http://" + ln.Addr().String())
}

// call sends one request to the edge.
func (e edge) call(t *testing.T, method, path, token, body string) (int, string) {
	t.Helper()
	req, err := nethttp.NewRequest(method, string(e)+path, strings.NewReader(body))
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
func (e edge) play(t *testing.T, token, task string) (int, string) {
	t.Helper()
	return e.call(t, "POST", "/v1/", token, task)
}
