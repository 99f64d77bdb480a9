package engine

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
)

// ownBrowser is an instance with a browser that no other test shares: for tests
// that count what is sent to it, or that do it harm.
func ownBrowser(t testing.TB) *instance {
	t.Helper()
	newInstance(t) // makes the folder that browsers live in
	in := anyBrowser(t)
	t.Cleanup(in.Close)
	return in
}

// anyBrowser starts a browser that whoever wants it has to close.
func anyBrowser(t testing.TB) *instance {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := &Chromium{Options: browser.Options{Dir: shared.dir}, Log: zerolog.Nop(), Egress: directFetch}
	in, err := e.Launch(ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	return in.(*instance)
}

// serve serves one page under every address.
func serve(t testing.TB, html string) string {
	t.Helper()
	counted(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte(html))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func contextFor(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}
