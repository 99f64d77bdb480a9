package engine

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/engine/egress"
	"troupe/testkit/need"
)

// TestConnectionsServeOneTask: a server that takes a connection for whoever used it
// first, as faulty servers and those that sign in a connection do, takes no task for
// another.
func TestConnectionsServeOneTask(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	type owner struct {
		sync.Mutex
		name string
	}
	type key struct{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := r.Context().Value(key{}).(*owner)
		o.Lock()
		defer o.Unlock()
		if o.name == "" {
			o.name = r.URL.Query().Get("who")
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<h1>%s</h1><input type=file>", o.name)
	}))
	srv.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, key{}, new(owner))
	}
	srv.Start()
	t.Cleanup(srv.Close)
	for name, group := range map[string]func(string) string{"own browsers": nil, "a shared browser": func(string) string { return "g" }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := egress.Start(egress.Config{AllowPrivate: true, Log: zerolog.Nop()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { out.Close() })
			dir, err := os.MkdirTemp("", "troupe-connections-test")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			if err := os.Chmod(dir, 0o711); err != nil {
				t.Fatal(err)
			}
			e := NewChromium(browser.Options{Dir: dir, Log: zerolog.Nop()}, out)
			e.Group = group
			launch := func(worker string) *instance {
				ctx, cancel := contextFor(time.Minute)
				defer cancel()
				in, err := e.Launch(ctx, worker)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(in.Close)
				return in.(*instance)
			}
			one, two := launch("w1"), launch("w2")
			task := func(in *instance, who string) {
				t.Helper()
				at := srv.URL + "/?who=" + who
				o := play(t, in, `{"timeout":30000,"actions":[{"open":"`+at+`"},{"getText":"h1","options":{"push":"seen"}},{"uploadFile":["input","`+at+`"]},`+
					`{"evaluate":"return await document.querySelector('input').files[0].text()","options":{"push":"seen"}},{"getSavedData":"seen"}]}`, TaskEnv{})
				want := fmt.Sprintf(`{"seen":[%q,"\u003ch1\u003e%s\u003c/h1\u003e\u003cinput type=file\u003e"]}`, who, who)
				if len(o.Failures) > 0 || string(o.Data) != want && string(o.Data) != fmt.Sprintf(`{"seen":[%q,"<h1>%s</h1><input type=file>"]}`, who, who) {
					t.Errorf("%s has %s, %s", who, o.Data, failuresOf(o))
				}
			}
			task(one, "ada")
			task(two, "bob")
			ctx, cancel := contextFor(time.Minute)
			defer cancel()
			if err := one.Reset(ctx); err != nil {
				t.Fatal(err)
			}
			task(one, "cleo")
			task(two, "bob") // a session goes on
		})
	}
}
