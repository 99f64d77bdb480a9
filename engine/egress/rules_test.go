package egress

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestAddresses(t *testing.T) {
	check := guard(nil)
	verdict := func(check func(string) error, wantDenied bool, addresses ...string) {
		t.Helper()
		for _, a := range addresses {
			if err := check(a); (err != nil) != wantDenied {
				t.Errorf("%s: %v, denied should be %v", a, err, wantDenied)
			}
		}
	}
	by := func(g func(network, address string) error) func(string) error {
		return func(a string) error {
			network := "tcp4"
			if strings.Contains(a, ":") {
				network = "tcp6"
			}
			return g(network, net.JoinHostPort(a, "443"))
		}
	}
	plain := by(func(n, a string) error { return check(n, a, nil) })
	verdict(plain, true,
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", // this machine, private
		"169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16", // metadata, carrier
		"224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
		"::", "::1", "fe80::1", "fe80::1%lo", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1", "3fff::1", "100::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "::ffff:0:127.0.0.1", // IPv4 in IPv6
		"64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::7f00:1", // NAT64
		"2002:7f00:1::", "2002:a9fe:a9fe::1", // 6to4
		"2001:0:7f00:1::", "2001::1", // Teredo
	)
	verdict(plain, false, "1.1.1.1", "93.184.215.14", "172.32.0.1", "172.15.0.1", "100.128.0.1", "2606:4700:4700::1111", "2a00:1450:4001::1")

	some := guard([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd12::/16")})
	allowing := by(func(n, a string) error { return some(n, a, nil) })
	verdict(allowing, false, "10.1.2.3", "fd12::1", "1.1.1.1")
	verdict(allowing, true, "10.2.0.1", "fd13::1", "127.0.0.1", "::ffff:10.1.2.3")
}

// However this machine is named, a browser does not reach it.
func TestNoWayToThisMachine(t *testing.T) {
	v := newVictim(t)
	n := &names{hosts: map[string]func(int) []string{
		"inside.example": always("127.0.0.1"),
		"many.example":   always("127.0.0.1", "10.0.0.1", "169.254.169.254"),
	}}
	p := start(t, Config{Resolver: n.resolver()})
	browser := through(t, p.Addr())
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "192.168.0.1",
		"localhost", "LocalHost", "localhost.", "inside.example", "INSIDE.example.", "many.example",
		"0x7f.1", "0x7f000001", "2130706433", "127.1", "0177.0.0.1", "127.0.0.1.", "①②⑦.0.0.1", "%31%32%37.0.0.1",
	} {
		at := host + ":" + v.port()
		begun := time.Now()
		_, _, head := speak(t, p.Addr(), connect(at))
		if head != "" && !strings.HasPrefix(head, "HTTP/1.1 40") && !strings.HasPrefix(head, "HTTP/1.1 502 ") {
			t.Errorf("CONNECT %s: %q", at, head)
		}
		_, _, head = speak(t, p.Addr(), "GET http://"+at+"/ HTTP/1.1\r\nHost: public.example\r\n\r\n")
		if head != "" && !strings.HasPrefix(head, "HTTP/1.1 40") && !strings.HasPrefix(head, "HTTP/1.1 502 ") {
			t.Errorf("GET http://%s/: %q", at, head)
		}
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("the answers for %s took %v", host, took)
		}
		if resp, err := p.Client().Get("http://" + at + "/"); err == nil {
			b, _ := io.ReadAll(resp.Body)
			t.Errorf("Client().Get(%s) = %d %q", at, resp.StatusCode, b)
		}
	}
	status, body, h := get(t, browser, "http://127.0.0.1:"+v.port()+"/")
	if status != http.StatusForbidden || !strings.Contains(body, "refused by the operator's outbound rules") || len(h["Location"]) != 2 || h["Location"][0] == h["Location"][1] {
		t.Errorf("the answer is %d %q with %v", status, body, h)
	}
	_, r, head := speak(t, p.Addr(), connect("inside.example:443"))
	rest, _ := io.ReadAll(r)
	if !strings.HasPrefix(head, "HTTP/1.1 403 Forbidden\r\n") || !strings.Contains(string(rest), "inside.example is refused by the operator's outbound rules") {
		t.Errorf("the answer is %q %q", head, rest)
	}
	if strings.Contains(head+string(rest), "127.0.0.1") {
		t.Error("the answer says what the name resolved to")
	}
	if got := v.reached.Load(); got != 0 {
		t.Fatalf("the server was reached %d times", got)
	}
	// The same server is reached when it may be: the test would see it.
	if status, body, _ := get(t, through(t, start(t, Config{AllowPrivate: true}).Addr()), "http://127.0.0.1:"+v.port()+"/"); status != 200 || body != "secret" || v.reached.Load() != 1 {
		t.Fatalf("with AllowPrivate: %d %q, reached %d times", status, body, v.reached.Load())
	}
}

// elsewhere is a server on an address of loopback that a test allows.
func elsewhere(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("this machine has only one loopback address: %v", err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s
}

var onlyElsewhere = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}

// What counts is the address that is dialled, not one that was seen before.
func TestRebinding(t *testing.T) {
	good := elsewhere(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "public")
	}))
	_, port, _ := net.SplitHostPort(good.Listener.Addr().String())
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Skipf("the port is not free on both addresses: %v", err)
	}
	v := newVictim(t)
	go http.Serve(l, v.Config.Handler)
	t.Cleanup(func() { l.Close() })

	n := &names{hosts: map[string]func(int) []string{
		"rebind.example": func(n int) []string { return []string{[]string{"127.0.0.2", "127.0.0.1"}[min(n, 1)]} },
		"both.example":   always("127.0.0.1", "127.0.0.2"),
	}}
	p := start(t, Config{Resolver: n.resolver(), Allow: onlyElsewhere})
	browser := through(t, p.Addr())
	for i, want := range []int{200, 403, 403} {
		if status, body, _ := get(t, browser, "http://rebind.example:"+port+"/"); status != want || strings.Contains(body, "secret") {
			t.Fatalf("visit %d: %d %q, want %d", i, status, body, want)
		}
	}
	if n.asked["rebind.example"] != 3 {
		t.Fatalf("the name was resolved %d times for 3 connections", n.asked["rebind.example"])
	}
	for range 5 {
		if status, body, _ := get(t, browser, "http://both.example:"+port+"/"); status != 200 || body != "public" {
			t.Fatalf("a name with a good and a bad address: %d %q", status, body)
		}
	}
}

func TestRedirectsAreChecked(t *testing.T) {
	v := newVictim(t)
	good := elsewhere(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/in":
			http.Redirect(w, r, "http://localhost:"+v.port()+"/", http.StatusFound)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/once":
			http.Redirect(w, r, "/end", http.StatusFound)
		default:
			io.WriteString(w, "end")
		}
	}))
	p := start(t, Config{Allow: onlyElsewhere})
	for path, want := range map[string]string{
		"/in":   "refused by the operator's outbound rules",
		"/file": `scheme "file"`,
		"/loop": "10 redirects",
	} {
		resp, err := p.Client().Get(good.URL + path)
		if err == nil {
			resp.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if status, body, _ := get(t, p.Client(), good.URL+"/once"); status != 200 || body != "end" {
		t.Errorf("an honest redirect: %d %q", status, body)
	}
	if v.reached.Load() != 0 {
		t.Fatal("the server was reached by a redirect")
	}
}

func TestAllowedNames(t *testing.T) {
	v := newVictim(t)
	n := &names{hosts: map[string]func(int) []string{}}
	for _, name := range []string{"intranet.example", "a.below.example", "b.a.below.example", "below.example", "notbelow.example", "intranet.example.evil.example"} {
		n.hosts[name] = always("127.0.0.1")
	}
	p := start(t, Config{Resolver: n.resolver(), AllowHosts: []string{"Intranet.example", "*.below.example"}})
	for name, want := range map[string]int{
		"intranet.example": 200, "INTRANET.example.": 200, "a.below.example": 200, "b.a.below.example": 200,
		"below.example": 403, "notbelow.example": 403, "intranet.example.evil.example": 403,
	} {
		if status, _, _ := get(t, through(t, p.Addr()), "http://"+name+":"+v.port()+"/"); status != want {
			t.Errorf("%s: %d, want %d", name, status, want)
		}
	}
}

func TestFailuresAreExplained(t *testing.T) {
	n := &names{hosts: map[string]func(int) []string{"inside.example": always("127.0.0.1"), "closed.example": always("127.0.0.2")}}
	p := start(t, Config{Resolver: n.resolver(), Allow: onlyElsewhere, DialTimeout: 5 * time.Second, Hosts: map[string]http.Handler{"demo.test": http.NotFoundHandler()}})
	free, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	for _, c := range []struct {
		url, net, text string
		status         int
	}{
		{"http://inside.example/", "net::ERR_BLOCKED_BY_ADMINISTRATOR", "the address of inside.example is refused by the operator's outbound rules", 403},
		{"https://inside.example/x", "net::ERR_BLOCKED_BY_ADMINISTRATOR", "the address of inside.example is refused by the operator's outbound rules", 403},
		{"http://nowhere.example/", "net::ERR_NAME_NOT_RESOLVED", "the name nowhere.example cannot be resolved", 502},
		{"https://nowhere.example:444/", "net::ERR_NAME_NOT_RESOLVED", "the name nowhere.example cannot be resolved", 502},
		{"http://closed.example:" + port + "/", "net::ERR_CONNECTION_REFUSED", "closed.example refused the connection", 502},
		{"https://demo.test/", "net::ERR_CONNECTION_REFUSED", "demo.test: this reserved host answers only http on port 80", 502},
	} {
		if _, known := p.Failure(c.url); known {
			t.Errorf("%s: a failure before anything was tried", c.url)
		}
		if strings.HasPrefix(c.url, "https") {
			if resp, err := through(t, p.Addr()).Get(c.url); err == nil {
				resp.Body.Close()
				t.Errorf("%s: %s", c.url, resp.Status)
			}
		} else if status, body, h := get(t, through(t, p.Addr()), c.url); status != c.status || strings.TrimSpace(body) != c.text || len(h["Location"]) != 2 {
			t.Errorf("%s: %d %q %v", c.url, status, body, h)
		}
		f, known := p.Failure(c.url)
		if !known || f.Net != c.net || f.Text != c.text || f.Refused != (c.status == 403) {
			t.Errorf("%s: %v %+v", c.url, known, f)
		}
	}
	s := elsewhere(t, http.NotFoundHandler())
	at := strings.Replace(s.URL, "127.0.0.2", "closed.example", 1)
	p.main.connections().failures.note(hostKey("closed.example", s.URL[strings.LastIndex(s.URL, ":")+1:]), Failure{Text: "old"})
	if _, known := p.Failure(at); !known {
		t.Fatal("the failure is not known")
	}
	get(t, through(t, p.Addr()), at)
	if f, known := p.Failure(at); known {
		t.Fatalf("a failure is remembered after a success: %+v", f)
	}
}

// TestANameServerThatHangs takes questions and answers none: whoever asks is told
// when the time for a connection is over.
func TestANameServerThatHangs(t *testing.T) {
	hangs := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		return ours, nil
	}}
	p := start(t, Config{Resolver: hangs, DialTimeout: 300 * time.Millisecond})
	began := time.Now()
	status, body, _ := get(t, through(t, p.Addr()), "http://slow.example/")
	if took := time.Since(began); status != http.StatusBadGateway || !strings.Contains(body, "took too long") || took < 300*time.Millisecond || took > 3*time.Second {
		t.Errorf("%d after %v: %s", status, took, body)
	}
	if f, known := p.Failure("http://slow.example/"); !known || f.Net != "net::ERR_CONNECTION_TIMED_OUT" {
		t.Errorf("%v %+v", known, f)
	}
}
