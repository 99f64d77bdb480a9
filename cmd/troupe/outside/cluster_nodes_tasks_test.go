package outside_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors"
)

// told is an answer, or that there was none.
type nodeAnswer struct {
	of
	status int
	header http.Header
	body   string
	err    error
	took   time.Duration
	at     time.Time
}

// tellsWithin bounds every question to a node.
const tellsWithin = 90 * time.Second

// ask asks a node as ada.
func (g *testCluster) ask(m *member, method, path, body string) nodeAnswer {
	return g.askAs(g.token, m, method, path, body)
}

// askAs asks a node. That there is no answer is told, too.
func (g *testCluster) askAs(token string, m *member, method, path, body string) (x nodeAnswer) {
	ctx, cancel := context.WithTimeout(context.Background(), tellsWithin)
	defer cancel()
	began := time.Now()
	defer func() { x.at = time.Now(); x.took = x.at.Sub(began) }()
	req, err := http.NewRequestWithContext(ctx, method, m.base+path, strings.NewReader(body))
	if err != nil {
		return nodeAnswer{err: err}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := alone.RoundTrip(req)
	if err != nil {
		return nodeAnswer{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	x = nodeAnswer{body: string(b), status: resp.StatusCode, header: resp.Header, err: err}
	if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		x.of, x.err = parsed(x.body)
	}
	return x
}

// play sends a task to a node.
func (g *testCluster) play(m *member, task string) nodeAnswer { return g.ask(m, "POST", "/v1/", task) }

func (g *testCluster) send(m *member, task string) <-chan nodeAnswer {
	c := make(chan nodeAnswer, 1)
	go func() { c <- g.play(m, task) }()
	return c
}

// poll asks a node what has become of a task.
func (g *testCluster) poll(m *member, task string, wait time.Duration) nodeAnswer {
	return g.ask(m, "GET", fmt.Sprintf("/v1/get-result?wait=%d&taskId=%s", wait.Milliseconds(), task), "")
}

// good fails the test unless a task has ended well.
func (g *testCluster) good(x nodeAnswer) nodeAnswer {
	g.t.Helper()
	if x.err != nil || x.status != 200 || !x.Success {
		g.t.Fatalf("the answer is %v", x)
	}
	return x
}

func (x nodeAnswer) String() string {
	return fmt.Sprintf("%d %.500s (%v), after %v", x.status, x.body, x.err, x.took.Round(time.Millisecond))
}

// on is a task for the worker of a node.
func on(node, rest string) string {
	return fmt.Sprintf(`{"workerId":%q,"queueTimeout":10000,%s}`, actors.WorkerID(node, 1), rest)
}

// anywhere is a task for any worker.
func anywhere(rest string) string { return `{"queueTimeout":10000,` + rest + `}` }

// witness serves numbered pages and knows how often each was opened.
type witness struct {
	url string

	mu   sync.Mutex
	last int
	seen map[string]int
}

func newWitness(t *testing.T, host string) *witness {
	t.Helper()
	w := &witness{seen: map[string]int{}}
	w.url = serveOn(t, host, func(rw http.ResponseWriter, r *http.Request) {
		n := r.URL.Query().Get("n")
		w.mu.Lock()
		w.seen[n]++
		w.mu.Unlock()
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<h1>number %s</h1>", n)
	})
	return w
}

// serveOn serves pages on an address that the nodes' browsers reach.
func serveOn(t *testing.T, host string, f http.HandlerFunc) string {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(f)
	srv.Listener.Close()
	srv.Listener = ln
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL
}

// opens is the beginning of a task, and the number of its page, which no other
// task has.
func (w *witness) opens() (task string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	return fmt.Sprintf(`"actions":[{"open":"%s/?n=%d"}`, w.url, w.last), w.last
}

func (w *witness) of(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[fmt.Sprint(n)]
}

// shows waits until a page was opened.
func (g *testCluster) shows(n int) {
	g.t.Helper()
	g.until(fmt.Sprintf("page %d is opened", n), func() bool { return g.site.of(n) > 0 })
}

// runs sends a task that opens a page at a node and stays there, to the worker of
// another, and waits until it does.
func (g *testCluster) runs(at, m *member) (<-chan nodeAnswer, int) {
	g.t.Helper()
	task, n := g.site.opens()
	c := g.send(at, on(m.name, task+`,{"wait":20000}]`))
	g.shows(n)
	return c, n
}

// once fails the test for each page that was opened more than once: its task was
// played again.
func (g *testCluster) once() {
	g.t.Helper()
	g.site.mu.Lock()
	defer g.site.mu.Unlock()
	for n, times := range g.site.seen {
		if n != "" && times != 1 {
			g.t.Errorf("page %s was opened %d times", n, times)
		}
	}
}
