package engine

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/engine/egress"
	"troupe/testkit/need"
)

// outside is an engine whose browsers have a way out of their own, and a site
// that gives and takes as many bytes as it is asked for.
func outside(t *testing.T, group func(string) string, quota int64) (launch func(worker string) *instance, url string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		fmt.Sscan(r.URL.Query().Get("n"), &n)
		switch r.URL.Path {
		case "/bytes":
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Length", fmt.Sprint(n))
			_, _ = io.CopyN(w, endless{}, int64(n))
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<h1>quiet</h1><input type=file>")
		}
	}))
	t.Cleanup(srv.Close)
	out, err := egress.Start(egress.Config{AllowPrivate: true, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	dir, err := os.MkdirTemp("", "troupe-traffic-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	e := NewChromium(browser.Options{Dir: dir, Log: zerolog.Nop()}, out)
	e.Group, e.Quota = group, quota
	return func(worker string) *instance {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		in, err := e.Launch(ctx, worker)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(in.Close)
		return in.(*instance)
	}, srv.URL
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestTrafficIsCounted for each task by itself, in a browser of its own and in
// one that is shared.
func TestTrafficIsCounted(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	for name, group := range map[string]func(string) string{"own browsers": nil, "a shared browser": func(string) string { return "g" }} {
		t.Run(name, func(t *testing.T) {
			launch, url := outside(t, group, 0)
			one, two := launch("w1"), launch("w2")
			task := func(in *instance, actions string) Traffic {
				t.Helper()
				o := play(t, in, `{"config":{"trace":true},"timeout":30000,"actions":[{"open":"`+url+`/"},`+actions+`]}`, TaskEnv{})
				if len(o.Failures) > 0 || o.Traffic == nil {
					t.Fatalf("%v, %+v", failuresOf(o), o.Traffic)
				}
				return *o.Traffic
			}
			within := func(what string, got, least, most int64) {
				t.Helper()
				if got < least || got > most {
					t.Errorf("%s: %d bytes, want %d to %d", what, got, least, most)
				}
			}
			get := `{"evaluate":"return (await (await fetch('/bytes?n=%d')).arrayBuffer()).byteLength"}`
			quiet := task(one, `{"getText":"h1"}`)
			within("a page, in", quiet.In, 50, 5000)
			within("a page, out", quiet.Out, 100, 5000)
			down := task(one, fmt.Sprintf(get, 500_000))
			within("a download", down.In, 500_000, 510_000)
			up := task(one, `{"evaluate":"return (await fetch('/bytes?n=1',{method:'POST',body:new Uint8Array(400000)})).status"}`)
			within("an upload", up.Out, 400_000, 410_000)
			fetched := task(one, `{"uploadFile":["input","`+url+`/bytes?n=300000"]}`)
			within("an upload from an address", fetched.In, 300_000, 310_000)
			within("the other worker", task(two, `{"getText":"h1"}`).In, 50, 5000)
			within("the next task", task(one, `{"getText":"h1"}`).In, 50, 5000)
			if o := play(t, two, `{"actions":[{"open":"`+url+`/"}]}`, TaskEnv{}); o.Traffic != nil {
				t.Errorf("without a trace: %+v", o.Traffic)
			}
		})
	}
}

// TestQuota: a task that moves more than it may ends at once and says so, and
// nobody else is touched.
func TestQuota(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	const quota = 300_000
	for name, group := range map[string]func(string) string{"own browsers": nil, "a shared browser": func(string) string { return "g" }} {
		t.Run(name, func(t *testing.T) {
			launch, url := outside(t, group, quota)
			one, two := launch("w1"), launch("w2")
			for what, action := range map[string]string{
				"a page":                    `{"open":"` + url + `/bytes?n=3000000"}`,
				"a script":                  `{"evaluate":"return (await (await fetch('/bytes?n=3000000')).arrayBuffer()).byteLength"}`,
				"an upload":                 `{"evaluate":"return (await fetch('/bytes?n=1',{method:'POST',body:new Uint8Array(3e6)})).status"}`,
				"a loop":                    `{"loop":{"repeat":50,"do":[{"evaluate":"return (await (await fetch('/bytes?n=100000')).arrayBuffer()).byteLength"}]}}`,
				"a condition":               `{"if":{"condition":"h1","then":[{"evaluate":"return (await (await fetch('/bytes?n=3000000')).arrayBuffer()).byteLength"}]}}`,
				"in the background":         `{"evaluate":"fetch('/bytes?n=3000000').catch(()=>{});return 1"},{"wait":50000}`,
				"an upload from an address": `{"uploadFile":["input","` + url + `/bytes?n=3000000"]}`,
			} {
				began := time.Now()
				o := play(t, one, `{"config":{"continueOnError":true,"trace":true},"timeout":60000,"actions":[{"open":"`+url+`/"},`+action+`,{"getText":"h1"}]}`, TaskEnv{})
				if o.End != EndStopped || len(o.Failures) == 0 || o.Failures[len(o.Failures)-1].Code != CodeEgressQuota || time.Since(began) > 30*time.Second {
					t.Errorf("%s: ended as %s with %v after %v", what, o.End, failuresOf(o), time.Since(began))
					continue
				}
				f := o.Failures[len(o.Failures)-1]
				if !strings.Contains(f.Text, fmt.Sprint(quota)) || f.Index < 1 || !strings.HasPrefix(f.Path, fmt.Sprint(f.Index)) {
					t.Errorf("%s: %+v", what, f)
				}
				if moved := o.Traffic.In + o.Traffic.Out; moved > 3*quota {
					t.Errorf("%s: %d bytes were moved", what, moved)
				}
				ctx, cancel := contextFor(10 * time.Second)
				if err := one.Reset(ctx); err != nil {
					t.Fatal(err)
				}
				cancel()
				noFailure(`"quiet"`)(t, play(t, one, `{"actions":[{"open":"`+url+`/"},{"getText":"h1"}]}`, TaskEnv{}))
				noFailure(`"quiet"`)(t, play(t, two, `{"actions":[{"open":"`+url+`/"},{"getText":"h1"}]}`, TaskEnv{}))
			}
		})
	}
}
