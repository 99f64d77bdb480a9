package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/testkit/wait"
)

// TestHostileAnswers: whatever a server sends, a browser gets an error or what a
// browser would have understood, in bounded time and bytes, and no connection is
// left.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	const most = 4 << 20 // what an attack may send before it has to be cut off
	endless := func(head, part string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, head)
			block := strings.Repeat(part, 1+(16<<10)/len(part))
			for err == nil {
				_, err = io.WriteString(w, block)
			}
			return err
		}
	}
	once := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	for name, c := range map[string]struct {
		send func(io.Writer) error
		want string // the body, or the failure's name
	}{
		"heads without end":          {endless("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"), "net::ERR_RESPONSE_HEADERS_TOO_BIG"},
		"one field without end":      {endless("HTTP/1.1 200 OK\r\nX-A: ", "b"), "net::ERR_RESPONSE_HEADERS_TOO_BIG"},
		"early hints without end":    {endless("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), "net::ERR_RESPONSE_HEADERS_TOO_BIG"},
		"100 Continue without end":   {endless("", "HTTP/1.1 100 Continue\r\n\r\n"), "net::ERR_RESPONSE_HEADERS_TOO_BIG"},
		"a status line without end":  {endless("HTTP/1.1 200 ", "OK"), "net::ERR_RESPONSE_HEADERS_TOO_BIG"},
		"chunk extensions":           {endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("x", 2000)+"\r\na\r\n"), "net::ERR_INVALID_CHUNKED_ENCODING"},
		"trailers without end":       {endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-A: b\r\n"), "net::ERR_INVALID_CHUNKED_ENCODING"},
		"a length beyond numbers":    {once("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nabc"), "net::ERR_INVALID_HTTP_RESPONSE"},
		"a negative length":          {once("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc"), "net::ERR_INVALID_HTTP_RESPONSE"},
		"the longest length":         {once("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nabc"), "net::ERR_CONTENT_LENGTH_MISMATCH"},
		"HTTP/0.9":                   {once("<h1>old</h1>"), "net::ERR_RESPONSE_HEADERS_TRUNCATED"},
		"an unknown encoding":        {once("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), "net::ERR_INVALID_HTTP_RESPONSE"},
		"chunks and a length":        {once("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "hello"},
		"the proxy's own questions":  {once("HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 2\r\n\r\nhi"), "hi"},
		"another protocol, unasked":  {once("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nabc"), "net::ERR_INVALID_HTTP_RESPONSE"},
		"a WebSocket nobody opened":  {once("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nabc"), "net::ERR_INVALID_HTTP_RESPONSE"},
		"a service in another place": {once("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close, Alt-Svc\r\nAlt-Svc: h3=\":1\"\r\n\r\nhi"), "hi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var sent atomic.Int64
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						defer conn.Close()
						_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
						if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
							_ = c.send(counting{conn, &sent})
						}
					}()
				}
			}()
			p := start(t, Config{AllowPrivate: true})
			url := "http://" + l.Addr().String() + "/a?b"
			began := time.Now()
			resp, err := through(t, p.Addr()).Get(url)
			got := ""
			if err == nil {
				var b []byte
				if b, err = io.ReadAll(resp.Body); err == nil && len(resp.Header["Location"]) != 2 {
					got = string(b)
				}
				resp.Body.Close()
				if resp.Header.Get("Proxy-Authenticate") != "" {
					t.Error("a server asks for the proxy's password")
				}
			}
			if f, known := p.Failure(url); known {
				got = f.Net
			}
			if got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
			if took := time.Since(began); took > 9*time.Second || sent.Load() > most+16<<20 {
				t.Errorf("%v and %d bytes", took, sent.Load())
			}
			wait.Until(t, "the connections to the server are closed", func() bool {
				pool := p.main.connections()
				pool.transport.CloseIdleConnections()
				pool.mu.Lock()
				defer pool.mu.Unlock()
				return len(pool.conns) == 0
			})
		})
	}
}

type counting struct {
	net.Conn
	n *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// TestTheProxySaysNothingItself: a request that is refused before its server is
// known, such as one that is too long, is answered with nothing that a page could
// read.
func TestTheProxySaysNothingItself(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	p := start(t, Config{AllowPrivate: true})
	host := "127.0.0.1:" + v.port()
	for name, request := range map[string]string{
		"a long address":       "GET http://" + host + "/" + strings.Repeat("a", 3<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"a long field":         "GET http://" + host + "/ HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("a", 3<<20) + "\r\n\r\n",
		"no host":              "GET http://" + host + "/ HTTP/1.1\r\n\r\n",
		"two hosts":            "GET http://" + host + "/ HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
		"two lengths":          "POST http://" + host + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"an unknown encoding":  "POST http://" + host + "/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: what\r\n\r\nab",
		"another version":      "GET http://" + host + "/ HTTP/3.0\r\nHost: x\r\n\r\n",
		"the preface of HTTP2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		c, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		// After a good request on the same connection, too.
		fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: x\r\n\r\n", host)
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "secret" {
			t.Fatalf("a good request: %q, %v", b, err)
		}
		go func() { _, _ = io.WriteString(c, request) }()
		if got, _ := io.ReadAll(r); len(got) > 0 && strings.Count(string(got), "\r\nLocation: ") != 2 {
			t.Errorf("%s is answered %.100q", name, got)
		}
		c.Close()
	}
}
