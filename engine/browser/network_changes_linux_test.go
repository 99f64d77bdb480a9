package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"troupe/testkit/need"
	"troupe/testkit/networks"
	"troupe/testkit/wait"
)

// TestTheNetworkMayChange: no request of a page fails because the machine gets and loses
// addresses, as it does whenever a container starts or stops on it. The test makes a network
// of its own for that.
func TestTheNetworkMayChange(t *testing.T) {
	need.Browser(t)
	if !networks.Own(t) {
		return
	}
	networks.IP(t, "link", "set", "lo", "up")
	networks.IP(t, "link", "add", "one", "type", "veth", "peer", "name", "other")
	networks.IP(t, "link", "set", "one", "up")
	networks.IP(t, "link", "set", "other", "up")
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
	wait.Until(t, "the page has asked for everything", func() bool {
		r, err := tab.Script.Call(ctx, "text", map[string]any{"t": map[string]any{"k": "css", "s": "#out", "a": "#out"}, "ms": 1000})
		if err != nil {
			t.Fatal(err)
		}
		got = strings.Trim(string(r.Value), `"`)
		return got != ""
	})
	if got != "failed: 0" {
		t.Errorf("of the page's requests %s", got)
	}
}
