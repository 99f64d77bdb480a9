package egress

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"troupe/testkit/wait"
)

func open(t testing.TB, p *Proxy) *Door {
	t.Helper()
	d, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func TestDoorsOfTheirOwn(t *testing.T) {
	v := newVictim(t)
	p := start(t, Config{AllowPrivate: true})
	one, two := open(t, p), open(t, p)
	if one.Addr() == two.Addr() || one.Addr() == p.Addr() {
		t.Fatalf("the doors are %s, %s, %s", p.Addr(), one.Addr(), two.Addr())
	}
	at := "127.0.0.1:" + v.port()
	for range 3 {
		get(t, through(t, one.Addr()), "http://"+at+"/")
	}
	first := one.Traffic()
	if n := int64(len("secret")); first.In < 3*n || first.In > 3000 || first.Out < 3*int64(len(at)) || first.Out > 3000 {
		t.Errorf("the first door: %+v", first)
	}
	if none := (Traffic{}); two.Traffic() != none || p.main.in.Load() != 0 {
		t.Errorf("the other doors have %+v, %d in", two.Traffic(), p.main.in.Load())
	}

	// What is fetched without a browser counts too.
	get(t, one.Client(), "http://"+at+"/")
	if d := one.Traffic().Since(first); d.In < int64(len("secret")) || d.Out < int64(len(at)) || d.In > 1000 || d.Out > 1000 {
		t.Errorf("a fetch has %+v", d)
	}

	c, r, head := speak(t, one.Addr(), connect(at))
	if !strings.HasPrefix(head, "HTTP/1.1 200 ") {
		t.Fatal(head)
	}
	before := one.Traffic()
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != 200 {
		t.Fatal(err)
	}
	wait.Until(t, "a tunnel's bytes are counted while it is open", func() bool { // after they are passed on
		d := one.Traffic().Since(before)
		return d.In > 0 && d.Out > 0
	})
	one.Close()
	if _, err := io.ReadAll(r); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Error("a tunnel outlived its door")
	}
	if c, err := net.Dial("tcp", one.Addr()); err == nil {
		c.Close()
		t.Error("the door is open after Close")
	}
	if _, err := one.Client().Get("http://" + at + "/"); err == nil {
		t.Error("a closed door fetches")
	}
	get(t, through(t, two.Addr()), "http://"+at+"/")
	if len(p.entrances) != 2 {
		t.Errorf("%d entrances are kept, want 2", len(p.entrances))
	}
}

// TestBounds: a door shuts when its quota has passed, for whatever goes through
// it, and only until it gets another.
func TestBounds(t *testing.T) {
	const size, quota = 4 << 20, 1 << 20
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		if n == 0 {
			io.CopyN(w, zeros{}, size)
		}
	})
	host := strings.TrimPrefix(s.URL, "http://")
	for name, use := range map[string]func(t *testing.T, d *Door) int64{
		"a download": func(t *testing.T, d *Door) int64 {
			resp, err := through(t, d.Addr()).Get(s.URL)
			if err != nil {
				return 0
			}
			defer resp.Body.Close()
			n, _ := io.Copy(io.Discard, resp.Body)
			return n
		},
		"an upload": func(t *testing.T, d *Door) int64 {
			resp, err := through(t, d.Addr()).Post(s.URL, "x/y", io.LimitReader(zeros{}, size))
			if err == nil {
				resp.Body.Close()
				return size
			}
			t.Log(err)
			return 0
		},
		"a fetch": func(t *testing.T, d *Door) int64 {
			resp, err := d.Client().Get(s.URL)
			if err != nil {
				return 0
			}
			defer resp.Body.Close()
			n, _ := io.Copy(io.Discard, resp.Body)
			return n
		},
		"a tunnel": func(t *testing.T, d *Door) int64 {
			_, r, head := speak(t, d.Addr(), connect(host)+"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if !strings.HasPrefix(head, "HTTP/1.1 200 ") {
				return 0
			}
			n, _ := io.Copy(io.Discard, r)
			return n
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Config{AllowPrivate: true})
			d, other := open(t, p), open(t, p)
			var told atomic.Int64
			d.Bound(quota, func() { told.Add(1) })
			if n := use(t, d); n >= size || told.Load() != 1 {
				t.Errorf("%d bytes got through, and it was told %d times", n, told.Load())
			}
			if passed := d.Traffic(); passed.In+passed.Out > quota+256<<10 {
				t.Errorf("%+v have passed a quota of %d", passed, quota)
			}
			if n := use(t, d); n != 0 {
				t.Errorf("%d bytes passed after that", n)
			}
			if n := use(t, other); n < size {
				t.Errorf("another door let %d bytes pass", n)
			}
			d.Bound(0, nil)
			if n := use(t, d); n < size {
				t.Errorf("%d bytes passed without a bound", n)
			}
			d.Bound(3*size, func() { told.Add(1) })
			if n := use(t, d); n < size || told.Load() != 1 {
				t.Errorf("%d bytes passed of a larger quota, told %d times", n, told.Load())
			}
		})
	}
}

// TestNoDoorLeadsToAnother: what an operator allows leaves out the proxy itself,
// through which a page would use up the quota of somebody else.
func TestNoDoorLeadsToAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"everything":      {AllowPrivate: true},
		"a name":          {AllowHosts: []string{"localhost", "127.0.0.1", "0.0.0.0", "::ffff:127.0.0.1"}},
		"loopback itself": {Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "allowed") })
			p := start(t, c)
			one, two := open(t, p), open(t, p)
			if _, body, _ := get(t, through(t, one.Addr()), s.URL); body != "allowed" {
				t.Errorf("what is allowed: %q", body)
			}
			for _, addr := range []string{two.Addr(), one.Addr(), p.Addr()} {
				_, port, _ := net.SplitHostPort(addr)
				for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"} {
					if _, _, head := speak(t, one.Addr(), connect(host+":"+port)); !strings.HasPrefix(head, "HTTP/1.1 403 ") {
						t.Errorf("CONNECT %s:%s: %s", host, port, head)
					}
					if status, _, _ := get(t, through(t, one.Addr()), "http://"+host+":"+port+"/"); status != 403 {
						t.Errorf("GET %s:%s: %d", host, port, status)
					}
				}
				if _, err := one.Client().Get("http://" + addr + "/"); err == nil || !strings.Contains(err.Error(), "outbound rules") {
					t.Errorf("a fetch of %s: %v", addr, err)
				}
			}
			if none := (Traffic{}); two.Traffic() != none {
				t.Errorf("the other door has %+v", two.Traffic())
			}
		})
	}
}

// TestSigningInIsForOneself: a server that takes a connection for somebody who has
// signed in on it gives nothing of theirs to whoever comes next by another door.
func TestSigningInIsForOneself(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"NTLM", "ntlm", "Negotiate"} {
		var signedIn sync.Map // connections, by their clients' addresses
		var shared atomic.Int64
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if _, known := signedIn.Load(r.RemoteAddr); known {
				io.WriteString(w, "of ada")
				return
			}
			if strings.HasPrefix(r.Header.Get("Authorization"), scheme) {
				signedIn.Store(r.RemoteAddr, true)
			} else if _, again := signedIn.LoadOrStore("plain "+r.RemoteAddr, true); again {
				shared.Add(1)
			}
			io.WriteString(w, "of nobody")
		})
		p := start(t, Config{AllowPrivate: true})
		one, two := open(t, p), open(t, p)
		for range 3 {
			req, err := http.NewRequest("GET", s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", scheme+" TlRMTVNTUAAD")
			resp, err := through(t, one.Addr()).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			for range 2 {
				if status, body, _ := get(t, through(t, two.Addr()), s.URL); status != 200 || body != "of nobody" {
					t.Errorf("%s: the other door has %d %q", scheme, status, body)
				}
			}
		}
		if shared.Load() == 0 {
			t.Errorf("%s: connections are not shared: nothing was tried", scheme)
		}
	}
}
