package paths

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// noting notes what a test would fail with.
type noting struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (n *noting) Errorf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, fmt.Sprintf(format, args...))
}

// TestPathsAreFound: in headers and bodies, as the service writes them and as a
// client reads them, also cut in two.
func TestPathsAreFound(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/data"
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/header":
			w.Header().Set("X-A", dir)
		case "/body":
			_, _ = io.WriteString(w, "open "+dir+"/uploads: no")
		case "/halves":
			_, _ = io.WriteString(w, strings.Repeat("x", 5000)+dir[:8])
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, dir[8:])
		}
	})}
	go func() { _ = srv.Serve(Listener{ln}) }()
	t.Cleanup(func() { srv.Close() })
	through := Transport{&http.Transport{DisableKeepAlives: true}}
	for path, times := range map[string]int{"/": 0, "/header": 2, "/body": 2, "/halves": 1} { // chunks have something between them as the service writes them
		t.Run(strings.Trim(path, "/"), func(t *testing.T) {
			n := &noting{TB: t}
			Hide(n, dir)
			r, err := http.NewRequest("GET", "http://"+ln.Addr().String()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := through.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			if n.mu.Lock(); len(n.said) != times {
				t.Errorf("%q", n.said)
			}
			n.mu.Unlock()
		})
	}
}
