package admin_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"troupe/http/admin"
	"troupe/persistence"
	"troupe/testkit"
)

func TestProfilesOnThePrivateSocketOnly(t *testing.T) {
	store := persistence.NewMemory()
	defer store.Close()
	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "admin.sock")
	opened, err := admin.OpenSocket(path, &admin.Admin{Accounts: persistence.NewAccounts(store)}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	private := &nethttp.Client{Transport: &nethttp.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}}
	get := func(c *nethttp.Client, url string) (int, []byte) {
		t.Helper()
		res, err := c.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, b
	}

	// A mark of this test must be in the profile: it is of this process, and now.
	marked, done := make(chan struct{}), make(chan struct{})
	go pprof.Do(context.Background(), pprof.Labels("test", "profiled here"), func(context.Context) {
		close(marked)
		<-done
	})
	<-marked
	defer close(done)
	if status, b := get(private, "http://troupe/debug/pprof/goroutine?debug=1"); status != 200 || !strings.Contains(string(b), "profiled here") {
		t.Errorf("goroutines: %d, %.200s", status, b)
	}
	status, b := get(private, "http://troupe/debug/pprof/heap")
	z, err := gzip.NewReader(bytes.NewReader(b))
	if status != 200 || err != nil {
		t.Fatalf("heap: %d, %v, %.200s", status, err, b)
	}
	if b, err := io.ReadAll(z); err != nil || len(b) < 100 {
		t.Errorf("heap: %d bytes, %v", len(b), err)
	}
	if status, _ := get(private, "http://troupe/debug/other"); status != 404 {
		t.Errorf("something else there: %d", status)
	}

	e := serve(t, testkit.New(t, testkit.Options{Workers: 1}).Node, persistence.NewAccounts(store))
	for _, p := range []string{"/debug/pprof/", "/debug/pprof/heap", "/v1/debug/pprof/heap"} {
		if status, b := get(nethttp.DefaultClient, string(e)+p); status != 404 {
			t.Errorf("%s for everybody: %d, %.100s", p, status, b)
		}
	}
}
