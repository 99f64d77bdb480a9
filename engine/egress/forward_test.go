package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestRequestsArriveAsSent(t *testing.T) {
	var got string
	var head http.Header
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, head = r.Method+" "+r.RequestURI+" "+string(b), r.Header
		w.Header().Set("Connection", "X-Hop, keep-alive")
		w.Header().Set("X-Hop", "1")
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
		w.Header()["Content-Type"], w.Header()["Date"] = nil, nil
		w.Header().Set("Content-Encoding", "gzip") // it is not, and nobody should care
		w.WriteHeader(418)
		io.WriteString(w, "<html>answer")
	})
	p := start(t, Config{AllowPrivate: true})
	host := strings.TrimPrefix(s.URL, "http://")
	for _, path := range []string{"/", "/a%2Fb/%c3%a4|^`{}\"/..//x?q=%20|&&=;[]", "//double//", "/?", "/a;b=c,d:e@f!$&'()*+", "/%25zz", "//a|b"} {
		c, r, answer := speak(t, p.Addr(), "POST http://"+host+path+" HTTP/1.1\r\nHost: "+host+"\r\nContent-Length: 4\r\n"+
			"Accept-Encoding: br\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 1\r\nTE: trailers\r\nUpgrade: h2c\r\n"+
			"Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic c2VjcmV0\r\nX-End: 1\r\n\r\nbody")
		want := "POST " + path + " body"
		if path == "//a|b" { // the one kind of path that net/url has to spell
			want = "POST //a%7Cb body"
		}
		if got != want {
			t.Errorf("the server got %q, want %q", got, want)
		}
		body, _ := io.ReadAll(r)
		c.Close()
		if !strings.HasPrefix(answer, "HTTP/1.1 418 ") || string(body) != "<html>answer" {
			t.Errorf("the answer is %q %q", answer, body)
		}
		for _, field := range []string{"X-Hop", "Keep-Alive", "Proxy-Authenticate", "Content-Type", "Date", "Via"} {
			if strings.Contains(answer, field) {
				t.Errorf("the answer has %s: %q", field, answer)
			}
		}
		if strings.Count(answer, "Set-Cookie") != 2 || !strings.Contains(answer, "Content-Encoding: gzip") {
			t.Errorf("the answer is %q", answer)
		}
	}
	want := "map[Accept-Encoding:[br] Content-Length:[4] X-End:[1]]"
	if fmt.Sprint(head) != want {
		t.Errorf("the server got the fields\n%v, want\n%v", head, want)
	}
	speak(t, p.Addr(), "GET http://"+host+"/ HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
	if len(head) != 0 {
		t.Errorf("the proxy added %v", head)
	}
}

// Each part of an answer that never ends arrives before the next is sent.
func TestAnswersAreStreamed(t *testing.T) {
	for name, h := range map[string]http.Header{
		"events":       {"Content-Type": {"text/event-stream"}},
		"chunks":       {"Content-Type": {"text/html"}},
		"known length": {"Content-Length": {"1000000"}},
	} {
		t.Run(name, func(t *testing.T) {
			next := make(chan string)
			ended := make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				for k, v := range h {
					w.Header()[k] = v
				}
				w.(http.Flusher).Flush() // the head alone
				for {
					select {
					case text := <-next:
						io.WriteString(w, text)
						w.(http.Flusher).Flush()
					case <-r.Context().Done():
						return
					}
				}
			})
			p := start(t, Config{AllowPrivate: true})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, _ := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
			resp, err := through(t, p.Addr()).Do(r) // returns only if the head was handed on
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b := make([]byte, 100)
			for i := range 5 {
				text := fmt.Sprintf("data: %d\n\n", i)
				next <- text
				if _, err := io.ReadFull(resp.Body, b[:len(text)]); err != nil || string(b[:len(text)]) != text {
					t.Fatalf("read %q, %v", b[:len(text)], err)
				}
			}
			cancel() // the browser goes away: so must the request to the server
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Fatal("the server still answers a browser that has gone")
			}
		})
	}
}

func TestLargeBodiesPass(t *testing.T) {
	const size = 20 << 20
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if n != size || err != nil {
			t.Errorf("the server got %d bytes, %v", n, err)
		}
		io.CopyN(w, zeros{}, size)
	})
	p := start(t, Config{AllowPrivate: true})
	resp, err := through(t, p.Addr()).Post(s.URL, "x/y", io.LimitReader(zeros{}, size))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
		t.Fatalf("got %d bytes, %v", n, err)
	}
	if in, out := p.main.in.Load(), p.main.out.Load(); in < size || in > size+size/50 || out < size || out > size+size/50 {
		t.Errorf("counted %d in, %d out; want somewhat over %d", in, out, size)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A broken answer is not made to look whole, and a server that gives none is an
// error to a browser.
func TestBrokenAnswersStayBroken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answers := map[string]string{
		"/chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"/events": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"/length": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
		"/none":   "",
		"/junk":   "what?\r\n\r\n",
		"/whole":  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"/until":  "HTTP/1.0 200 OK\r\n\r\nhello",
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				io.WriteString(c, answers[r.URL.Path])
			}
			c.Close()
		}
	}()
	p := start(t, Config{AllowPrivate: true})
	for path := range answers {
		resp, err := through(t, p.Addr()).Get("http://" + l.Addr().String() + path)
		var body []byte
		if err == nil {
			body, err = io.ReadAll(resp.Body)
			resp.Body.Close()
			if h := resp.Header["Location"]; err == nil && len(h) == 2 && h[0] != h[1] {
				err = errors.New(h[0])
			}
		}
		if whole := path == "/whole" || path == "/until"; whole != (err == nil) || whole && string(body) != "hello" {
			t.Errorf("%s: %q, %v", path, body, err)
		}
	}
}

func TestStrangeRequests(t *testing.T) {
	v := newVictim(t)
	p := start(t, Config{AllowPrivate: true})
	host := "127.0.0.1:" + v.port()
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n":                                                      "HTTP/1.1 400 ",
		"GET https://" + host + "/ HTTP/1.1\r\nHost: x\r\n\r\n":                                  "HTTP/1.1 400 ",
		"GET ftp://" + host + "/ HTTP/1.1\r\nHost: x\r\n\r\n":                                    "HTTP/1.1 400 ",
		"GET file:///etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n":                                     "HTTP/1.1 400 ",
		"GET http:///x HTTP/1.1\r\nHost: \r\n\r\n":                                               "HTTP/1.1 400 ",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not http\r\n\r\n":                          "",
		"GET http://" + host + "/ HTTP/1.1\r\nHost: x\r\nA\x00: b\r\n\r\n":                       "",
		"GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n":                                           "",
		"CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n":                                                  "HTTP/1.1 ",
		"CONNECT :0 HTTP/1.1\r\nHost: x\r\n\r\n":                                                 "HTTP/1.1 502 ",
		"CONNECT 127.0.0.1:99999 HTTP/1.1\r\nHost: x\r\n\r\n":                                    "HTTP/1.1 502 ",
		"BREW http://" + host + "/ HTTP/1.1\r\nHost: x\r\n\r\n":                                  "HTTP/1.1 200 ",
		"OPTIONS http://" + host + " HTTP/1.1\r\nHost: x\r\n\r\n":                                "HTTP/1.1 200 ",
		"GET http://u:p@" + host + "/ HTTP/1.1\r\nHost: x\r\n\r\n":                               "HTTP/1.1 200 ",
		"GET http://" + host + "/ HTTP/1.0\r\n\r\n":                                              "HTTP/1.0 200 ",
		"HEAD http://" + host + "/ HTTP/1.1\r\nHost: x\r\n\r\n":                                  "HTTP/1.1 200 ",
		"GET http://" + host + "/ HTTP/1.1\r\nHost: other.example\r\n\r\n":                       "HTTP/1.1 200 ",
		"GET http://" + host + "/" + strings.Repeat("a", 60000) + " HTTP/1.1\r\nHost: x\r\n\r\n": "HTTP/1.1 200 ",
	} {
		if _, _, head := speak(t, p.Addr(), request); !strings.HasPrefix(head, want) || want == "" && head != "" {
			t.Errorf("%.60q: %.80q, want %q", request, head, want)
		}
	}
	if status, _, _ := get(t, through(t, p.Addr()), "http://"+host+"/"); status != 200 {
		t.Fatalf("after all that: %d", status)
	}
}

func TestConnectionsAreReused(t *testing.T) {
	v := newVictim(t)
	p := start(t, Config{AllowPrivate: true})
	browser := through(t, p.Addr())
	for range 20 {
		get(t, browser, "http://127.0.0.1:"+v.port()+"/")
	}
	if got := v.reached.Load(); got != 1 {
		t.Errorf("%d connections for 20 requests, one after the other", got)
	}
	get(t, p.Client(), "http://127.0.0.1:"+v.port()+"/")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	pool := p.main.connections()
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if len(pool.conns) != 0 {
		t.Fatalf("%d connections are left after Close", len(pool.conns))
	}
	if _, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Fatal("the proxy still listens after Close")
	}
}

// Close ends what the service itself is fetching, too.
func TestCloseEndsClients(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	p := start(t, Config{AllowPrivate: true})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
	resp, err := p.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	p.Close()
	if _, err := io.ReadAll(resp.Body); err == nil || ctx.Err() != nil {
		t.Fatalf("reading after Close: %v, %v", err, ctx.Err())
	}
	if _, err := p.Client().Get(s.URL); err == nil {
		t.Fatal("a closed proxy fetches")
	}
}
