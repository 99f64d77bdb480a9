// Package outproxy is an outbound proxy for tests: HTTP CONNECT and SOCKS5 on one port,
// with or without credentials.
package outproxy

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy is a proxy that runs until its test ends.
type Proxy struct {
	Addr string
	// Refuse makes it answer all that is asked with an error and a page of its own.
	Refuse atomic.Bool
	// Hang makes it accept connections and answer none.
	Hang atomic.Bool

	user, password string
	done           chan struct{}

	mu    sync.Mutex
	asked []string
	made  map[string]bool // the addresses that its connections to servers came from
	open  map[net.Conn]bool
}

// New starts a proxy. With an empty user it wants no credentials.
func New(t testing.TB, user, password string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), user: user, password: password, done: make(chan struct{}), made: map[string]bool{}, open: map[net.Conn]bool{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.keep(c)
			serving.Go(func() {
				defer p.drop(c)
				p.serve(c)
			})
		}
	})
	t.Cleanup(func() {
		close(p.done)
		l.Close()
		p.mu.Lock()
		for c := range p.open {
			c.Close()
		}
		p.mu.Unlock()
		serving.Wait()
	})
	return p
}

// URL is the proxy's address in a scheme.
func (p *Proxy) URL(scheme string) string { return scheme + "://" + p.Addr }

// Asked is what it was asked for since the last call, as host:port, whatever came of it.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.asked
	p.asked = nil
	return all
}

// Made reports whether a connection to a server, known by the address that it came from,
// was made by the proxy.
func (p *Proxy) Made(remote string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made[remote]
}

func (p *Proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = true
}

func (p *Proxy) drop(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

func (p *Proxy) serve(c net.Conn) {
	if p.Hang.Load() {
		<-p.done
		return
	}
	r := bufio.NewReader(c)
	first, err := r.Peek(1)
	if err != nil {
		return
	}
	if first[0] == 5 {
		p.socks(c, r)
	} else {
		p.connect(c, r)
	}
}

// dial connects to a server.
func (p *Proxy) dial(address string) (net.Conn, error) {
	p.mu.Lock()
	p.asked = append(p.asked, address)
	p.mu.Unlock()
	if p.Refuse.Load() {
		return nil, fmt.Errorf("%s is refused", address)
	}
	to, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.made[to.LocalAddr().String()] = true
	p.mu.Unlock()
	p.keep(to)
	return to, nil
}

// join copies both ways. It hides that both are sockets: the pipes that Go splices them
// with stay open for a while, and tests would be said to have left them behind.
func (p *Proxy) join(c net.Conn, r io.Reader, to net.Conn) {
	defer p.drop(to)
	go func() {
		io.Copy(struct{ io.Writer }{to}, r)
		to.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(struct{ io.Writer }{c}, to)
}

func (p *Proxy) connect(c net.Conn, r *bufio.Reader) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	say := func(status int, head string) {
		const own = "<h1>a page of the proxy</h1>"
		fmt.Fprintf(c, "HTTP/1.1 %d %s\r\n%sContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), head, len(own), own)
	}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password))
	if p.user != "" && req.Header.Get("Proxy-Authorization") != want {
		say(http.StatusProxyAuthRequired, "Proxy-Authenticate: Basic realm=x\r\n")
		return
	}
	if req.Method != http.MethodConnect {
		say(http.StatusMethodNotAllowed, "")
		return
	}
	to, err := p.dial(req.Host)
	if err != nil {
		say(http.StatusBadGateway, "")
		return
	}
	io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	p.join(c, r, to)
}

func (p *Proxy) socks(c net.Conn, r *bufio.Reader) {
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil
		}
		return b
	}
	text := func() string {
		n := read(1)
		if n == nil {
			return ""
		}
		return string(read(int(n[0])))
	}
	if read(1) == nil {
		return
	}
	methods := text()
	switch {
	case p.user == "":
		c.Write([]byte{5, 0})
	case !contains(methods, 2):
		c.Write([]byte{5, 0xff})
		return
	default:
		c.Write([]byte{5, 2})
		read(1)
		if user, password := text(), text(); user != p.user || password != p.password {
			c.Write([]byte{1, 1})
			return
		}
		c.Write([]byte{1, 0})
	}
	head := read(4)
	if head == nil {
		return
	}
	var host string
	switch head[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 4:
		host = net.IP(read(16)).String()
	case 3:
		host = text()
	}
	port := read(2)
	if port == nil {
		return
	}
	to, err := p.dial(net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port)))))
	if err != nil {
		c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0}) // host unreachable
		return
	}
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	p.join(c, r, to)
}

func contains(all string, b byte) bool {
	for i := range len(all) {
		if all[i] == b {
			return true
		}
	}
	return false
}
