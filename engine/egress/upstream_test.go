package egress

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// upstream is a proxy that makes tunnels, and writes down to where.
func upstream(t *testing.T, auth string) (s *httptest.Server, asked func() []string) {
	var mu sync.Mutex
	var list []string
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		list = append(list, r.Method+" "+r.Host)
		mu.Unlock()
		if r.Header.Get("Proxy-Authorization") != auth {
			http.Error(w, "who?", http.StatusProxyAuthRequired)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go func() { defer to.Close(); io.Copy(to, rw) }()
		defer c.Close()
		io.Copy(c, to)
	})
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		all := list
		list = nil
		return all
	}
}

func behind(t *testing.T, url, credentials string, c Config) *Proxy {
	t.Helper()
	var err error
	if c.Upstream, err = ParseUpstream(url, credentials); err != nil {
		t.Fatal(err)
	}
	return start(t, c)
}

// TestUpstream: the proxy in between is told addresses that were checked here,
// and so cannot be talked into others.
func TestUpstream(t *testing.T) {
	good := elsewhere(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "public "+r.Host) }))
	_, port, _ := net.SplitHostPort(good.Listener.Addr().String())
	v := newVictim(t)
	n := &names{hosts: map[string]func(int) []string{
		"public.example": always("127.0.0.2"), "inside.example": always("127.0.0.1"), "both.example": always("127.0.0.1", "127.0.0.2"),
		"rebind.example": func(n int) []string { return []string{[]string{"127.0.0.2", "127.0.0.1"}[min(n, 1)]} },
	}}
	s, asked := upstream(t, "Basic dHJvdXBlOnB3")
	p := behind(t, s.URL, "troupe:pw", Config{Resolver: n.resolver(), Allow: onlyElsewhere, AllowHosts: []string{"localhost"},
		Hosts: map[string]http.Handler{"demo.example": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "demo") })}})
	for _, c := range []struct {
		url    string
		status int
		body   string
		asked  []string
	}{
		{"http://public.example:" + port + "/", 200, "public public.example:" + port, []string{"CONNECT 127.0.0.2:" + port}},
		{"http://127.0.0.2:" + port + "/x", 200, "public 127.0.0.2:" + port, []string{"CONNECT 127.0.0.2:" + port}},
		{"http://both.example:" + port + "/", 200, "public both.example:" + port, []string{"CONNECT 127.0.0.2:" + port}},
		{"http://inside.example:" + v.port() + "/", 403, "", nil},
		{"http://127.0.0.1:" + v.port() + "/", 403, "", nil},
		{"http://[::ffff:127.0.0.1]:" + v.port() + "/", 403, "", nil},
		{"http://nowhere.example/", 502, "cannot be resolved", nil},
		{"http://localhost:" + v.port() + "/", 200, "secret", []string{"CONNECT localhost:" + v.port()}}, // allowed by its name
		{"http://127.0.0.2:1/", 502, "upstream proxy answered 502", []string{"CONNECT 127.0.0.2:1"}},
		{"http://demo.example/", 200, "demo", nil},
	} {
		status, body, _ := get(t, through(t, p.Addr()), c.url)
		if got := asked(); status != c.status || !strings.Contains(body, c.body) || !slices.Equal(got, c.asked) {
			t.Errorf("%s: %d %q, asked %q; want %d %q, %q", c.url, status, body, got, c.status, c.body, c.asked)
		}
	}
	for i, want := range []string{"HTTP/1.1 200 ", "HTTP/1.1 403 "} {
		if _, _, head := speak(t, p.Addr(), connect("rebind.example:"+port)); !strings.HasPrefix(head, want) {
			t.Errorf("tunnel %d: %s", i, head)
		}
	}
	if got := asked(); !slices.Equal(got, []string{"CONNECT 127.0.0.2:" + port}) {
		t.Errorf("the tunnels asked %q", got)
	}
	if status, _, _ := get(t, p.Client(), "http://public.example:"+port+"/"); status != 200 || len(asked()) != 1 {
		t.Errorf("a fetch of our own: %d", status)
	}
	if _, err := p.Client().Get(v.URL); err == nil || len(asked()) != 0 {
		t.Error("a fetch of our own reached this machine")
	}

	stranger := behind(t, s.URL, "", Config{AllowPrivate: true})
	if status, body, _ := get(t, through(t, stranger.Addr()), good.URL); status != 502 || !strings.Contains(body, "answered 407") {
		t.Errorf("without credentials: %d %q", status, body)
	}
	s.Close()
	if status, body, _ := get(t, through(t, p.Addr()), "http://127.0.0.2:1/"); status != 502 || !strings.Contains(body, "upstream proxy cannot be reached") {
		t.Errorf("when it is gone: %d %q", status, body)
	}
}

// TestSilentUpstream: a proxy in between that does not answer is given up.
func TestSilentUpstream(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := behind(t, "http://"+l.Addr().String(), "", Config{AllowPrivate: true, DialTimeout: 200 * time.Millisecond})
	began := time.Now()
	if status, body, _ := get(t, through(t, p.Addr()), "http://127.0.0.2/"); status != 502 || !strings.Contains(body, "took too long") || time.Since(began) > 5*time.Second {
		t.Errorf("%d %q after %v", status, body, time.Since(began))
	}
}

func TestParseUpstream(t *testing.T) {
	for in, want := range map[string]string{
		"http://proxy.example:3128": "proxy.example:3128", "http://proxy.example/": "proxy.example:80", "https://proxy.example": "proxy.example:443", "http://[::1]:8": "[::1]:8",
	} {
		if u, err := ParseUpstream(in, ""); err != nil || u.address != want || (u.secure != nil) != strings.HasPrefix(in, "https") {
			t.Errorf("%s: %+v, %v", in, u, err)
		}
	}
	for _, bad := range []string{"", "proxy.example:3128", "socks5://proxy.example", "http://", "http://proxy.example/x", "http://proxy.example?x", "http://ada:pw@proxy.example"} {
		if _, err := ParseUpstream(bad, ""); err == nil || strings.Contains(err.Error(), "pw@") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ParseUpstream("http://proxy.example", "nopassword"); err == nil {
		t.Error("credentials without a password are taken")
	}
}
