package engine

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/engine/egress"
	"troupe/testkit/leaks"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// shared is the one Chromium of this test binary.
var shared struct {
	sync.Once
	browser *browser.Browser
	err     error
	dir     string
}

func TestMain(m *testing.M) {
	wait.SideBySide(2)
	need.Cases(30, 60)
	flag.Parse()
	look := leaks.Start()
	code := m.Run()
	if shared.browser != nil {
		shared.browser.Close()
		os.Remove(shared.dir) // stays where something is left in it
	}
	os.Exit(look.End(code))
}

// counted counts what the test leaves behind, less the shared browser, which it
// starts. It is called before whatever else the test starts.
func counted(t testing.TB) {
	t.Helper()
	need.Browser(t)
	shared.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "troupe-engine-test"); shared.err != nil {
			return
		}
		if shared.err = os.Chmod(shared.dir, 0o711); shared.err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		shared.browser, shared.err = browser.Launch(ctx, browser.Options{Dir: shared.dir, Log: zerolog.Nop()})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	leaks.Check(t)
}

// newInstance is an instance with a context of its own in the shared browser.
func newInstance(t testing.TB) *instance {
	t.Helper()
	return contextBehind(t, nil)
}

// oneBehindTheOther gives cases of a test that follow each other one instance, in which each
// finds the page of the one before it, as in a session. After one that fails they have
// another.
func oneBehindTheOther(all *testing.T) func(testing.TB) *instance {
	var in *instance
	return func(t testing.TB) *instance {
		if in == nil {
			in = newInstance(all)
		}
		t.Cleanup(func() {
			if t.Failed() {
				in = nil
			}
		})
		return in
	}
}

// newProxied is one behind an outbound proxy that lets everything through.
func newProxied(t testing.TB) *instance {
	t.Helper()
	counted(t)
	out, err := egress.Start(egress.Config{AllowPrivate: true, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	out.Admit(browser.Options{Dir: shared.dir}.User())
	door, err := out.Open()
	if err != nil {
		t.Fatal(err)
	}
	return contextBehind(t, door)
}

func contextBehind(t testing.TB, door *egress.Door) *instance {
	t.Helper()
	counted(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	in := &instance{engine: &Chromium{}, egress: directFetch, browser: shared.browser, door: door, patience: 5 * time.Second}
	if door != nil {
		in.proxy = door.Addr()
	}
	c, err := in.newContext(ctx, shared.browser)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if n, err := c.OpenPages(context.Background()); n > 0 || err != nil {
			t.Errorf("%d tabs are left of the test's context: %v", n, err)
		}
	})
	in.tabs = c
	return in
}

// kept is where the files of a test go.
type kept struct {
	mu    sync.Mutex
	files map[string][]byte
	last  string // the address of the last one
}

func (k *kept) save(_ context.Context, f File, r io.Reader) (string, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.files == nil {
		k.files = map[string][]byte{}
	}
	url := fmt.Sprintf("http://files.test/%d-%s", len(k.files), f.Name)
	k.files[url], k.last = b, url
	return url, nil
}

// play parses and plays a request with the default time.
func play(t testing.TB, in *instance, body string, st TaskEnv) *Outcome {
	t.Helper()
	task, err := Parse([]byte(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), task.Timeout)
	defer cancel()
	return in.Play(ctx, task, st)
}
