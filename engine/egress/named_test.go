package egress

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/testkit/outproxy"
)

func named(t *testing.T, url, credentials string) *Upstream {
	t.Helper()
	u, err := ParseNamed("berlin", url, credentials)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func openDoor(t *testing.T, p *Proxy) *Door {
	t.Helper()
	d, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// TestDoorThroughProxy: a door whose traffic is handed on to a proxy keeps to the rules,
// gives the proxy addresses that were checked, and goes back to what it was.
func TestDoorThroughProxy(t *testing.T) {
	for _, scheme := range []string{"http", "socks5"} {
		t.Run(scheme, func(t *testing.T) {
			other := outproxy.New(t, "ada", "pw:1")
			var from []string
			good := elsewhere(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				from = append(from, r.RemoteAddr)
				io.WriteString(w, "public "+r.Host)
			}))
			_, port, _ := net.SplitHostPort(good.Listener.Addr().String())
			v := newVictim(t)
			n := &names{hosts: map[string]func(int) []string{"public.example": always("127.0.0.2"), "inside.example": always("127.0.0.1")}}
			p := start(t, Config{Resolver: n.resolver(), Allow: onlyElsewhere, AllowHosts: []string{"localhost"}})
			d, beside := openDoor(t, p), openDoor(t, p)
			d.Through(named(t, other.URL(scheme), "ada:pw:1"))
			for _, c := range []struct {
				url    string
				status int
				body   string
				asked  []string
			}{
				{"http://public.example:" + port + "/", 200, "public public.example:" + port, []string{"127.0.0.2:" + port}},
				{"http://inside.example:" + v.port() + "/", 403, "outbound rules", nil},
				{"http://127.0.0.1:" + v.port() + "/", 403, "outbound rules", nil},
				{"http://" + other.Addr + "/", 403, "outbound rules", nil},
				{"http://nowhere.example/", 502, "cannot be resolved", nil},
				{"http://localhost:" + v.port() + "/", 200, "secret", []string{"localhost:" + v.port()}},
			} {
				status, body, _ := get(t, through(t, d.Addr()), c.url)
				if got := other.Asked(); status != c.status || !strings.Contains(body, c.body) || !slices.Equal(got, c.asked) {
					t.Errorf("%s: %d %q, asked %q; want %d %q, %q", c.url, status, body, got, c.status, c.body, c.asked)
				}
			}
			url := "http://public.example:" + port + "/"
			if resp, err := d.Client().Get(url); err != nil || resp.StatusCode != 200 || !slices.Equal(other.Asked(), []string{"127.0.0.2:" + port}) {
				t.Errorf("a fetch of our own: %v", err)
			}
			for _, from := range from {
				if !other.Made(from) {
					t.Errorf("%s was not the proxy", from)
				}
			}
			if get(t, through(t, beside.Addr()), url); len(other.Asked()) > 0 {
				t.Error("another door uses the proxy")
			}
			if d.Renew(); true {
				get(t, through(t, d.Addr()), url)
			}
			if len(other.Asked()) > 0 || other.Made(from[len(from)-1]) {
				t.Error("a renewed door uses the proxy")
			}
		})
	}
}

// TestDoorChangesProxies: no connection outlives the change, and one to the same proxy
// does.
func TestDoorChangesProxies(t *testing.T) {
	a, b := outproxy.New(t, "", ""), outproxy.New(t, "", "")
	good := elsewhere(t, http.NotFoundHandler())
	d := openDoor(t, start(t, Config{AllowPrivate: true}))
	d.Through(named(t, a.URL("http"), ""))
	c := through(t, d.Addr())
	get(t, c, good.URL)
	d.Through(named(t, a.URL("http"), ""))
	get(t, c, good.URL)
	if got := a.Asked(); len(got) != 1 {
		t.Errorf("the same proxy was asked for %q", got)
	}
	d.Through(named(t, b.URL("socks5"), ""))
	get(t, c, good.URL)
	if x, y := a.Asked(), b.Asked(); len(x) != 0 || len(y) != 1 {
		t.Errorf("asked %q and %q", x, y)
	}
}

// TestNamedProxyFails: a failure of the proxy is one of the network, by its name, and says
// nothing of credentials.
func TestNamedProxyFails(t *testing.T) {
	good := elsewhere(t, http.NotFoundHandler())
	closed, refuses, hangs := outproxy.New(t, "", ""), outproxy.New(t, "", ""), outproxy.New(t, "", "")
	refuses.Refuse.Store(true)
	hangs.Hang.Store(true)
	wants := outproxy.New(t, "ada", "pw")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	mail, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mail.Close()
	go func() {
		for {
			c, err := mail.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "220 mail.example\r\n")
			c.Close()
		}
	}()
	p := start(t, Config{AllowPrivate: true, DialTimeout: 300 * time.Millisecond})
	d := openDoor(t, p)
	for _, c := range []struct{ url, credentials, net, text string }{
		{"http://" + l.Addr().String(), "", "net::ERR_PROXY_CONNECTION_FAILED", `the proxy "berlin" cannot be reached`},
		{"socks5://" + l.Addr().String(), "", "net::ERR_PROXY_CONNECTION_FAILED", `the proxy "berlin" cannot be reached`},
		{closed.URL("https"), "", "net::ERR_PROXY_CERTIFICATE_INVALID", "does not prove who it is"},
		{refuses.URL("http"), "", "net::ERR_TUNNEL_CONNECTION_FAILED", `the proxy "berlin" answered 502`},
		{refuses.URL("socks5"), "", "net::ERR_SOCKS_CONNECTION_HOST_UNREACHABLE", `the proxy "berlin" made no connection: host unreachable`},
		{good.URL, "", "net::ERR_TUNNEL_CONNECTION_FAILED", "answered 404"},
		{"socks5://" + mail.Addr().String(), "", "net::ERR_SOCKS_CONNECTION_FAILED", "does not answer as a SOCKS5 proxy"},
		{wants.URL("http"), "", "net::ERR_PROXY_AUTH_REQUESTED", "wants other credentials"},
		{wants.URL("http"), "ada:wrong1", "net::ERR_PROXY_AUTH_REQUESTED", "wants other credentials"},
		{wants.URL("socks5"), "", "net::ERR_PROXY_AUTH_REQUESTED", "wants other credentials"},
		{wants.URL("socks5"), "ada:wrong1", "net::ERR_PROXY_AUTH_REQUESTED", "wants other credentials"},
		{hangs.URL("http"), "", "net::ERR_CONNECTION_TIMED_OUT", `through the proxy "berlin" took too long`},
		{hangs.URL("socks5"), "", "net::ERR_CONNECTION_TIMED_OUT", `through the proxy "berlin" took too long`},
	} {
		d.Through(named(t, c.url, c.credentials))
		status, body, _ := get(t, through(t, d.Addr()), good.URL+"/x")
		f, ok := d.Failure(good.URL + "/x")
		if status != 502 || !ok || f.Net != c.net || !strings.Contains(f.Text, c.text) || strings.Contains(body+f.Text, "wrong1") || strings.Contains(body, "a page of the proxy") {
			t.Errorf("%s %s: %d %q, %+v; want %s, %q", c.url, c.credentials, status, body, f, c.net, c.text)
		}
	}
}

// TestSecureProxy: an https proxy has to prove that it is the one.
func TestSecureProxy(t *testing.T) {
	plain := outproxy.New(t, "ada", "pw")
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", s.TLS)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", plain.Addr)
			if err != nil {
				c.Close()
				continue
			}
			go func() { defer to.Close(); io.Copy(to, c) }()
			go func() { defer c.Close(); io.Copy(c, to) }()
		}
	}()
	good := elsewhere(t, http.NotFoundHandler())
	d := openDoor(t, start(t, Config{AllowPrivate: true}))
	u := named(t, "https://"+l.Addr().String(), "ada:pw")
	d.Through(u)
	if status, _, _ := get(t, through(t, d.Addr()), good.URL); status != 502 {
		t.Errorf("a certificate of nobody: %d", status)
	}
	u = named(t, "https://"+l.Addr().String(), "ada:pw")
	u.secure.RootCAs = x509.NewCertPool()
	u.secure.RootCAs.AddCert(s.Certificate())
	d.Renew()
	d.Through(u)
	if status, _, _ := get(t, through(t, d.Addr()), good.URL); status != 404 || len(plain.Asked()) != 1 {
		t.Errorf("through TLS: %d", status)
	}
}

func TestParseNamed(t *testing.T) {
	for in, want := range map[string]string{
		"http://p.example:3128": "p.example:3128", "https://p.example": "p.example:443", "socks5://p.example": "p.example:1080", "socks5://[::1]:8/": "[::1]:8",
	} {
		if u, err := ParseNamed("a", in, "u:pw"); err != nil || u.address != want || u.socks != strings.HasPrefix(in, "socks5") || (u.user != nil) != u.socks {
			t.Errorf("%s: %+v, %v", in, u, err)
		}
	}
	for in, credentials := range map[string]string{
		"socks4://p.example": "", "socks5://ada:pw1@p.example": "", "http://p.example": "pw1", "socks5://p.example": "ada:", "socks5://p.example:1": "ada:" + strings.Repeat("x", 256),
	} {
		if _, err := ParseNamed("a", in, credentials); err == nil || strings.Contains(err.Error(), "pw1") || strings.Contains(err.Error(), "xxx") {
			t.Errorf("%s %s: %v", in, credentials, err)
		}
	}
}
