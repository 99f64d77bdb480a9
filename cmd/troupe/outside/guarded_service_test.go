package outside_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// guardedService is a service with its default rules, in a world where a hostile site
// can be reached (127.0.0.2, which the operator allows) and something that has
// to be kept safe stands beside it: it listens on every other address of this
// machine and counts who comes.
type guardedService struct {
	t           *testing.T
	service     *child
	base, token string
	data        string
	site        string // of the attacker
	port        string // of what must not be reached
	reached     atomic.Int64
	packets     atomic.Int64 // UDP
}

func newGuardedService(t *testing.T, args ...string) *guardedService {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("this machine has only one loopback address: %v", err)
	}
	f := &guardedService{t: t}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(attacker))
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
	f.site = srv.URL

	inside, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inside.Close() })
	_, f.port, _ = net.SplitHostPort(inside.Addr().String())
	go func() {
		for {
			c, err := inside.Accept()
			if err != nil {
				return
			}
			f.reached.Add(1)
			go func() {
				_ = c.SetDeadline(time.Now().Add(time.Second))
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
				c.Close()
			}()
		}
	}()
	udp, err := net.ListenPacket("udp", ":"+f.port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { udp.Close() })
	go func() {
		b := make([]byte, 2048)
		for {
			if _, _, err := udp.ReadFrom(b); err != nil {
				return
			}
			f.packets.Add(1)
		}
	}()

	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f.data = filepath.Join(dir, "data")
	f.service, f.base = serve(t, f.data, append([]string{"--workers=2", "--allow-cidr=127.0.0.2", "--log-level=warn"}, args...)...)
	m := tokenLine.FindStringSubmatch(f.service.out.String())
	if m == nil {
		t.Fatal("the first start shows no token")
	}
	f.token = m[1]
	t.Cleanup(func() {
		if n := f.reached.Load(); n != 0 {
			t.Errorf("what must not be reached was reached %d times", n)
		}
	})
	return f
}

// attacker gives back whatever it is asked for: a page, a script, a redirect.
func attacker(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch r.URL.Path {
	case "/go":
		w.Header().Set("Location", q.Get("to"))
		status := http.StatusFound
		_, _ = fmt.Sscan(q.Get("code"), &status)
		w.WriteHeader(status)
	case "/js":
		w.Header().Set("Content-Type", "text/javascript")
		w.Header().Set("Service-Worker-Allowed", "/")
		_, _ = io.WriteString(w, q.Get("s"))
	case "/named":
		w.Header().Set("Content-Disposition", q.Get("as"))
		_, _ = io.WriteString(w, "bytes")
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if csp := q.Get("csp"); csp != "" {
			w.Header().Set("Content-Security-Policy", csp)
		}
		_, _ = io.WriteString(w, "<!doctype html>"+q.Get("h"))
	}
}

// page is the address of a page of the attacker's, script that of a script.
func (f *guardedService) page(html string) string   { return f.site + "/?h=" + url.QueryEscape(html) }
func (f *guardedService) script(js string) string   { return f.site + "/js?s=" + url.QueryEscape(js) }
func (f *guardedService) redirect(to string) string { return f.site + "/go?to=" + url.QueryEscape(to) }

// target is an address of what must not be reached. Each n has one of its own,
// so that the log tells who was refused.
func (f *guardedService) target(n int) string { return "http://" + f.address(n) + "/" }

func (f *guardedService) address(n int) string { return fmt.Sprintf("127.1.0.%d:%s", n, f.port) }

// refused waits until the service has refused a connection to the n-th target:
// until whatever was tried was really tried.
func (f *guardedService) refused(what string, n int) {
	f.t.Helper()
	want := fmt.Sprintf(`"host":"127.1.0.%d"`, n)
	for end := time.Now().Add(hang); !strings.Contains(f.service.errs.String(), want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Errorf("%s: no connection was refused within 10 s: was it tried at all?", what)
			return
		}
	}
}

// played is the part of an answer that the tests look at.
type played struct {
	Success bool
	Error   string
	Code    string
	Data    json.RawMessage
	Errors  []struct{ Error, Code string }
	Details []struct{ Path, Message string }
	Steps   []struct{ Notes []string }
}

// do plays actions, given as Go values.
func (f *guardedService) do(actions ...any) (int, played) {
	f.t.Helper()
	return f.send(map[string]any{"config": map[string]any{"continueOnError": true, "trace": true, "actionTimeout": 5000}, "timeout": 30000, "queueTimeout": 20000, "actions": actions})
}

func (f *guardedService) send(task any) (int, played) {
	f.t.Helper()
	body, err := json.Marshal(task)
	if err != nil {
		f.t.Fatal(err)
	}
	status, answer, err := post(f.base, f.token, string(body))
	var p played
	if err == nil {
		err = json.Unmarshal([]byte(answer), &p)
	}
	if err != nil {
		f.t.Fatalf("%s: %v %s", body, err, answer)
	}
	return status, p
}

type act = map[string]any

// during has a page open while something happens that it has begun.
func (f *guardedService) during(address string, happens func()) {
	f.t.Helper()
	body, err := json.Marshal(map[string]any{"async": true, "timeout": 60000, "queueTimeout": 20000, "actions": []any{act{"open": address}, act{"wait": 50000}}})
	if err != nil {
		f.t.Fatal(err)
	}
	_, answer, err := post(f.base, f.token, string(body))
	var started struct{ TaskID string }
	if err != nil || json.Unmarshal([]byte(answer), &started) != nil || started.TaskID == "" {
		f.t.Fatalf("%s: %v %s", address, err, answer)
	}
	happens()
	req, err := http.NewRequest("DELETE", f.base+"/v1/tasks/"+started.TaskID, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	resp.Body.Close()
}
