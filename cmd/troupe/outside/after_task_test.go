package outside_test

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/testkit/wait"
)

// clinging is a site whose pages do everything that could go on after their
// task. It knows what is asked of it, and what is under way.
type clinging struct {
	url string
	mu  sync.Mutex
	// asked is how often each path was asked for, open how many requests for it
	// are being answered, used the connections over which one has begun to come and
	// is not answered.
	asked, open map[string]int
	used        map[net.Conn]bool
}

// clingingPage begins, under each name, what may outlive a page.
const clingingPage = `<!doctype html><title>x</title><script>
const big = new Blob([new Uint8Array(8 << 20)]);
fetch('/keepalive', {keepalive: true});
addEventListener('pagehide', () => { fetch('/keepalive-at-the-end', {keepalive: true, method: 'POST', body: 'x'}); navigator.sendBeacon('/beacon', 'x') });
fetch('/slow-upload', {method: 'POST', body: big});
fetch('/endless');
new EventSource('/events');
new WebSocket('ws://' + location.host + '/socket');
new Worker('/worker.js');
new SharedWorker('/shared.js');
navigator.serviceWorker.register('/service.js').then(() => navigator.serviceWorker.ready).then(r => { r.active.postMessage('begin'); document.title = 'ready' });
setInterval(() => fetch('/interval'), 50);
const a = document.createElement('a'); a.href = '/download'; a.download = 'd'; a.click();
try { fetchLater('/later', {activateAfter: 3000}) } catch {}
</script>`

func newClinging(t *testing.T) *clinging {
	t.Helper()
	c := &clinging{asked: map[string]int{}, open: map[string]int{}, used: map[net.Conn]bool{}}
	gone := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.count(r.URL.Path, 1)
		defer c.count(r.URL.Path, -1)
		h := w.Header()
		switch r.URL.Path {
		case "/":
			h.Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, clingingPage)
		case "/worker.js", "/shared.js":
			h.Set("Content-Type", "text/javascript")
			fmt.Fprintf(w, "setInterval(()=>fetch('/in-%s'),50)", strings.TrimSuffix(r.URL.Path[1:], ".js"))
		case "/service.js":
			h.Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, "onmessage=e=>e.waitUntil(new Promise(()=>setInterval(()=>fetch('/in-service'),50)))")
		case "/endless", "/events", "/keepalive", "/download":
			if r.URL.Path == "/events" {
				h.Set("Content-Type", "text/event-stream")
			}
			for {
				if _, err := io.WriteString(w, "data: x\n\n"); err != nil || r.Context().Err() != nil {
					return
				}
				w.(http.Flusher).Flush()
				select {
				case <-time.After(20 * time.Millisecond):
				case <-r.Context().Done():
					return
				case <-gone:
					return
				}
			}
		case "/slow-upload":
			b := make([]byte, 1024)
			for {
				if _, err := r.Body.Read(b); err != nil {
					return
				}
				select {
				case <-time.After(20 * time.Millisecond):
				case <-gone:
					return
				}
			}
		case "/socket":
			key := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(key[:])+"\r\n\r\n")
			_, _ = io.Copy(io.Discard, conn)
		}
	}))
	srv.Config.ConnState = func(conn net.Conn, s http.ConnState) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.used, conn); s == http.StateActive {
			c.used[conn] = true
		}
	}
	srv.Start()
	t.Cleanup(func() {
		close(gone)
		srv.CloseClientConnections()
		srv.Close()
	})
	c.url = srv.URL
	return c
}

func (c *clinging) count(path string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[path] += n
	if n > 0 {
		c.asked[path]++
	}
}

// now is what was asked for and what is under way.
func (c *clinging) now() (asked, open map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked, open = maps.Clone(c.asked), maps.Clone(c.open)
	maps.DeleteFunc(open, func(_ string, n int) bool { return n == 0 })
	return asked, open
}

// settled waits until the site has seen all that was sent to it, and whoever asked
// for it has gone. A page's end is there before the site hears of it.
func (c *clinging) settled(t *testing.T) (asked map[string]int) {
	t.Helper()
	status, _ := fetch(t, c.url+"/mark", "") // who has connected before it was accepted before it
	if status != 200 {
		t.Fatal(status)
	}
	wait.Until(t, "the site is asked for nothing", func() bool {
		now, open := c.now()
		asked = now
		// The kernel still has of the upload what it took before.
		uploads := open["/slow-upload"]
		delete(open, "/slow-upload")
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(open) == 0 && len(c.used) == uploads
	})
	delete(asked, "/mark")
	return asked
}

// TestNothingGoesOnAfterATask: whatever a page has begun ends with its task, and
// counts as nobody else's: the next account's task, in the same browser, finds
// nobody who sends or gets a byte. What a page may send at its end is sent by
// then.
func TestNothingGoesOnAfterATask(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"a browser of its own": {"--workers-per-browser=1"},
		"a shared browser":     {"--workers-per-browser=2", "--share-browsers-between-accounts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "tr")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			d := operatorCLI{t, filepath.Join(dir, "data")}
			_, base := serve(t, d.data, append(args, "--workers=1", "--allow-private")...)
			token, other := d.says("token", "create", "--account=ada", "--plan=pro"), d.says("token", "create", "--account=bob", "--plan=pro")
			site := newClinging(t)
			status, got, err := post(base, token, `{"queueTimeout":20000,"timeout":60000,"config":{"actionTimeout":45000},"actions":[{"open":"`+site.url+`/"},{"waitForElement":"body"},
				{"evaluate":"for(let i=0;i<800&&document.title!='ready';i++)await new Promise(r=>setTimeout(r,50));await new Promise(r=>setTimeout(r,300));return document.title"}]}`)
			if err != nil || status != 200 || !read(t, got).Success || read(t, got).Data != "ready" {
				t.Fatalf("the task: %d, %v: %s", status, err, got)
			}
			_, got, err = post(base, other, `{"queueTimeout":20000,"actions":[{"wait":1}]}`)
			if err != nil || !strings.Contains(got, `"success":true`) {
				t.Fatalf("the next task: %v: %s", err, got)
			}
			before := site.settled(t)
			for _, path := range []string{"/keepalive", "/slow-upload", "/endless", "/events", "/socket", "/interval", "/in-worker", "/in-shared", "/in-service", "/download"} {
				if before[path] == 0 {
					t.Errorf("%s was not asked for: that proves little", path)
				}
			}
			_, got, err = post(base, other, `{"queueTimeout":20000,"config":{"trace":true},"actions":[{"wait":800}]}`)
			var next struct {
				Success bool
				Traffic struct{ In, Out int64 }
			}
			if err != nil || json.Unmarshal([]byte(got), &next) != nil || !next.Success {
				t.Fatalf("the task after it: %v: %s", err, got)
			}
			if after := site.settled(t); !maps.Equal(after, before) {
				t.Errorf("asked for before the next task: %v\nand after it: %v", before, after)
			}
			if !strings.Contains(got, `"traffic"`) || next.Traffic.In != 0 || next.Traffic.Out != 0 {
				t.Errorf("the next account's task, which asks for nothing, has the traffic %+v: %s", next.Traffic, got)
			}
		})
	}
}
