package egress

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/testkit/wait"
)

// echo is a server of WebSockets that says what it hears, once it has spoken
// the handshake. (What goes on inside a WebSocket is nothing to a proxy.)
func echo(t *testing.T) *httptest.Server {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Connection") != "Upgrade" {
			http.Error(w, "no websocket", http.StatusBadRequest)
			return
		}
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n")
		b := make([]byte, 100)
		for {
			n, err := rw.Read(b)
			if err != nil || strings.HasPrefix(string(b[:n]), "bye") {
				return
			}
			c.Write(b[:n])
		}
	})
}

func TestWebSockets(t *testing.T) {
	s := echo(t)
	host := strings.TrimPrefix(s.URL, "http://")
	const handshake = " HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n"
	for name, opening := range map[string]string{
		"plain":            "GET http://" + host + "/ws" + handshake,
		"plain, and frame": "GET http://" + host + "/ws" + handshake + "early",
		"tunnel":           connect(host),
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Config{AllowPrivate: true})
			c, r, head := speak(t, p.Addr(), opening)
			if name == "tunnel" {
				if !strings.HasPrefix(head, "HTTP/1.1 200 ") {
					t.Fatalf("CONNECT: %q", head)
				}
				io.WriteString(c, "GET /ws"+strings.Replace(handshake, "keep-alive, ", "", 1))
				head = ""
				for !strings.HasSuffix(head, "\r\n\r\n") {
					line, err := r.ReadString('\n')
					if err != nil {
						t.Fatalf("%q, %v", head, err)
					}
					head += line
				}
			}
			if !strings.HasPrefix(head, "HTTP/1.1 101 ") || !strings.Contains(head, "Upgrade: websocket") {
				t.Fatalf("handshake: %q", head)
			}
			b := make([]byte, 5)
			if strings.HasSuffix(opening, "early") {
				if _, err := io.ReadFull(r, b); err != nil || string(b) != "early" {
					t.Fatalf("a frame sent with the handshake came back as %q, %v", b, err)
				}
			}
			for range 3 {
				io.WriteString(c, "hello")
				if _, err := io.ReadFull(r, b); err != nil || string(b) != "hello" {
					t.Fatalf("read %q, %v", b, err)
				}
			}
			io.WriteString(c, "bye") // the server hangs up, and we must hear of it
			if n, err := r.Read(b); err != io.EOF {
				t.Fatalf("after the server's end: %d bytes, %v; want EOF", n, err)
			}
			c.Close()
			wait.Until(t, "the connections are closed", func() bool { return connections(p) == 0 })
		})
	}
}

// connections counts what a proxy holds open on both sides.
func connections(p *Proxy) int {
	pool := p.main.connections()
	pool.mu.Lock()
	n := len(pool.conns)
	pool.mu.Unlock()
	p.main.mu.Lock()
	defer p.main.mu.Unlock()
	return n + len(p.main.conns)
}

func TestTLSThroughATunnel(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "private") }))
	defer s.Close()
	p := start(t, Config{AllowPrivate: true})
	c := through(t, p.Addr())
	c.Transport.(*http.Transport).TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig
	if status, body, _ := get(t, c, s.URL); status != 200 || body != "private" {
		t.Fatalf("got %d %q", status, body)
	}
	// The service's own client checks certificates.
	if _, err := p.Client().Get(s.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Fatalf("a server with an unknown certificate: %v", err)
	}
	refused := through(t, start(t, Config{}).Addr())
	refused.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	if _, err := refused.Get(s.URL); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Fatalf("with the default rules: %v", err)
	}
}

// A tunnel ends with either side; what was sent before still arrives.
func TestTunnelsEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := start(t, Config{AllowPrivate: true})
	open := func() (near, far *net.TCPConn) {
		t.Helper()
		c, _, head := speak(t, p.Addr(), connect(l.Addr().String()))
		if !strings.HasPrefix(head, "HTTP/1.1 200 ") {
			t.Fatal(head)
		}
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		s.SetDeadline(time.Now().Add(10 * time.Second))
		return c.(*net.TCPConn), s.(*net.TCPConn)
	}
	for name, f := range map[string]func(near, far *net.TCPConn) (end, other *net.TCPConn){
		"browser": func(near, far *net.TCPConn) (end, other *net.TCPConn) { return near, far },
		"server":  func(near, far *net.TCPConn) (end, other *net.TCPConn) { return far, near },
	} {
		end, other := f(open())
		io.WriteString(end, "last words")
		end.CloseWrite()
		if b, err := io.ReadAll(other); err != nil || string(b) != "last words" {
			t.Errorf("%s ends: %q, %v", name, b, err)
		}
		io.WriteString(other, "late answer")
		other.Close()
		if b, err := io.ReadAll(end); err != nil || string(b) != "late answer" {
			t.Errorf("%s ends, and then hears %q, %v", name, b, err)
		}
		end.Close()
		wait.Until(t, "the connections are closed", func() bool { return connections(p) == 0 })
	}
	near, far := open()
	p.Close()
	for _, c := range []*net.TCPConn{near, far} {
		if b, err := io.ReadAll(c); len(b) != 0 || err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("after Close a tunnel is open: %q, %v", b, err)
		}
	}
}

// TestDoorsEndAsTheProxyDoes: a browser's door may be closed at the moment when
// the proxy is, and that is no error.
func TestDoorsEndAsTheProxyDoes(t *testing.T) {
	for range 300 {
		p := start(t, Config{})
		var all sync.WaitGroup
		for range 8 {
			d, err := p.Open()
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() { d.Close() })
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
	}
}
