// Package paths finds folders of the service in what it answers: where its data
// lies is nothing that a client may learn.
package paths

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// hidden are the folders that no answer may name, each with the test that it
// belongs to.
var hidden struct {
	mu sync.Mutex
	of map[string]testing.TB
}

// Hide lets a test fail when any answer names a folder, until the test ends.
func Hide(t testing.TB, dir string) {
	t.Helper()
	if len(dir) < 4 { // "/" or "." is in every answer
		t.Fatalf("%q is no folder that could be looked for", dir)
	}
	hidden.mu.Lock()
	defer hidden.mu.Unlock()
	if hidden.of == nil {
		hidden.of = map[string]testing.TB{}
	}
	if hidden.of[dir] != nil {
		return
	}
	hidden.of[dir] = t
	t.Cleanup(func() {
		hidden.mu.Lock()
		defer hidden.mu.Unlock()
		delete(hidden.of, dir)
	})
}

// scanner looks through bytes that come piece by piece.
type scanner struct {
	from string // whose answer it is
	told []byte // the request: what a client names itself it does not learn
	mu   sync.Mutex
	tail []byte // of what came before, for what is cut in two
}

func (s *scanner) scan(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.tail, p...)
	hidden.mu.Lock()
	defer hidden.mu.Unlock()
	longest := 0
	for dir, t := range hidden.of {
		longest = max(longest, len(dir))
		if i := bytes.Index(text, []byte(dir)); i >= 0 && !bytes.Contains(s.told, []byte(dir)) {
			t.Errorf("%s names the folder %s: …%s…", s.from, dir, text[max(0, i-200):min(len(text), i+len(dir)+100)])
		}
	}
	s.tail = bytes.Clone(text[max(0, len(text)-max(longest-1, 0)):]) // none may be hidden any more
}

// Listener is a listener on TCP whose connections are looked through as the
// service writes to them.
type Listener struct{ net.Listener }

// Accept implements [net.Listener].
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{c.(*net.TCPConn), scanner{from: "an answer"}}, nil
}

// conn is a connection with all that the service asks of one.
type conn struct {
	*net.TCPConn
	said scanner
}

func (c *conn) Write(p []byte) (int, error) {
	c.said.scan(p)
	return c.TCPConn.Write(p)
}

// ReadFrom goes through Write.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}

// bodyOf is the body of a request that was sent, where it can be had again.
func bodyOf(r *http.Request) []byte {
	if r.GetBody == nil {
		return nil
	}
	again, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer again.Close()
	b, _ := io.ReadAll(again)
	return b
}

// Transport looks through the headers and the body of every answer that comes
// through another transport.
type Transport struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	s := &scanner{from: r.Method + " " + r.URL.Path, told: bodyOf(r)}
	var head bytes.Buffer
	_ = answer.Header.Write(&head)
	s.scan(head.Bytes())
	if w, ok := answer.Body.(io.ReadWriteCloser); ok { // a socket, after a switch of protocols
		answer.Body = struct {
			io.Reader
			io.Writer
			io.Closer
		}{io.TeeReader(w, s), w, w}
	} else {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(answer.Body, s), answer.Body}
	}
	return answer, nil
}

// CloseIdleConnections does so below.
func (t Transport) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Write makes a scanner an [io.Writer].
func (s *scanner) Write(p []byte) (int, error) {
	s.scan(p)
	return len(p), nil
}
