package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/testkit/need"
)

const changingNetwork = "TROUPE_TEST_CHANGING_NETWORK"

// TestTheNetworkMayChange: no request of a page fails because the machine gets and loses
// addresses, as it does whenever a container starts or stops on it. The test makes a network
// of its own for that.
func TestTheNetworkMayChange(t *testing.T) {
	need.Browser(t)
	if os.Getenv(changingNetwork) == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestTheNetworkMayChange$", "-test.v")
		c.Env = append(os.Environ(), changingNetwork+"=1")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		out, err := c.CombinedOutput()
		var no *exec.ExitError
		switch {
		case err != nil && !errors.As(err, &no):
			t.Skipf("no network of its own: %v", err)
		case err != nil:
			t.Errorf("in a network of its own: %v\n%s", err, out)
		case strings.Contains(string(out), "SKIP"):
			t.Skipf("%s", out)
		}
		return
	}
	ip := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Skipf("ip %v: %v %s", args, err, out)
		}
	}
	ip("link", "set", "lo", "up")
	ip("link", "add", "one", "type", "veth", "peer", "name", "other")
	ip("link", "set", "one", "up")
	ip("link", "set", "other", "up")
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<p id=out></p><script>(async () => {
			const bad = []; let n = 0;
			for (const end = Date.now() + 3000; Date.now() < end; n += 10)
				await Promise.all(Array.from({length: 10}, () => fetch('/?' + Math.random()).then((r) => r.text()).catch((e) => bad.push(e.message))));
			out.textContent = n > 0 ? 'failed: ' + bad.length : 'nothing was asked for';
		})()</script>`)
	}))
	srv.Config.SetKeepAlivesEnabled(false) // each request makes a connection
	srv.Start()
	t.Cleanup(srv.Close)
	ctx, c := newContext(t)
	tab, err := c.Tab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := 0; ; i = (i + 1) % 200 {
			select {
			case <-stop:
				return
			default:
			}
			address := fmt.Sprintf("10.99.99.%d/24", i+1)
			for _, how := range []string{"add", "del"} {
				if out, err := exec.Command("ip", "addr", how, address, "dev", "one").CombinedOutput(); err != nil {
					t.Errorf("ip addr %s: %v %s", how, err, out)
					return
				}
			}
		}
	})
	defer changing.Wait()
	defer close(stop)
	if err := tab.Navigation.Open(ctx, srv.URL); err != nil {
		t.Fatal(err)
	}
	got := ""
	for end := time.Now().Add(time.Minute); got == "" && time.Now().Before(end); {
		r, err := tab.Script.Call(ctx, "text", map[string]any{"t": map[string]any{"k": "css", "s": "#out", "a": "#out"}, "ms": 1000})
		if err != nil {
			t.Fatal(err)
		}
		got = strings.Trim(string(r.Value), `"`)
	}
	if got != "failed: 0" {
		t.Errorf("of the page's requests %s", got)
	}
}
