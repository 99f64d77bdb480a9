package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

func start(t testing.TB, c Config) *Proxy {
	t.Helper()
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// through is a browser's side: a client that uses the proxy, and follows no
// redirects.
func through(t testing.TB, addr string) *http.Client {
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: addr}), DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func get(t testing.TB, c *http.Client, url string) (status int, body string, h http.Header) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// speak sends raw bytes to the proxy and returns the head of its answer.
func speak(t testing.TB, addr, request string) (net.Conn, *bufio.Reader, string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	var head strings.Builder
	for {
		line, err := r.ReadString('\n')
		head.WriteString(line)
		if err != nil || line == "\r\n" {
			return c, r, head.String()
		}
	}
}

// victim is a server that must not be reached. It counts its connections.
type victim struct {
	*httptest.Server
	reached atomic.Int64
}

func newVictim(t testing.TB) *victim {
	v := &victim{Server: httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "secret") }))}
	v.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			v.reached.Add(1)
		}
	}
	l, err := net.Listen("tcp", ":0") // on every address of this machine
	if err != nil {
		t.Fatal(err)
	}
	v.Listener.Close()
	v.Listener = l
	v.Start()
	t.Cleanup(v.Close)
	return v
}

func (v *victim) port() string {
	_, port, _ := net.SplitHostPort(v.Listener.Addr().String())
	return port
}

// names is a resolver that knows what it is told, and how often it was asked.
type names struct {
	mu    sync.Mutex
	asked map[string]int
	hosts map[string]func(n int) []string // the n-th question, from 0
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go n.answer(theirs)
		return ours, nil
	}}
}

func (n *names) answer(c net.Conn) {
	defer c.Close()
	size := make([]byte, 2)
	if _, err := io.ReadFull(c, size); err != nil {
		return
	}
	b := make([]byte, int(size[0])<<8|int(size[1]))
	var m dnsmessage.Message
	if _, err := io.ReadFull(c, b); err != nil || m.Unpack(b) != nil || len(m.Questions) != 1 {
		return
	}
	m.Response, m.Additionals = true, nil
	q := m.Questions[0]
	name := hostName(q.Name.String())
	n.mu.Lock()
	if f := n.hosts[name]; f == nil {
		m.RCode = dnsmessage.RCodeNameError
	} else if q.Type == dnsmessage.TypeA {
		if n.asked == nil {
			n.asked = map[string]int{}
		}
		for _, a := range f(n.asked[name]) {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()},
			})
		}
		n.asked[name]++
	}
	n.mu.Unlock()
	b, err := m.Pack()
	if err == nil {
		c.Write(append([]byte{byte(len(b) >> 8), byte(len(b))}, b...))
	}
}

func always(addresses ...string) func(int) []string { return func(int) []string { return addresses } }

func connect(host string) string {
	return fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
}
