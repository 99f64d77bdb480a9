package egress

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long the head of an answer waits for the beginning of its
// body, to go with it in one packet.
const patience = 2 * time.Millisecond

// stream is the answer to a forwarded request. It hands on at once what came
// from the server, and does not pretend that a broken answer is whole.
type stream struct {
	http.ResponseWriter
	uri    string      // what was asked for, as it was spelled
	head   bool        // the request's method is HEAD
	broken atomic.Bool // the server's answer ended early

	mu       sync.Mutex
	nobody   bool        // the browser is gone: nothing is sent any more
	begun    bool        // the head is on its way
	early    *time.Timer // flushes the head
	left     int64       // bytes of the body to come; negative: unknown
	ended    bool
	hijacked net.Conn
}

// WriteHeader sends the head, soon.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nobody {
		return
	}
	s.begun = true
	s.left = -1
	if n, err := strconv.ParseInt(s.Header().Get("Content-Length"), 10, 64); err == nil {
		s.left = n
	}
	s.ResponseWriter.WriteHeader(status)
	if s.head || s.left == 0 || status < 200 || status == http.StatusNoContent || status == http.StatusNotModified {
		return
	}
	s.early = time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.ended {
			s.flush()
		}
	})
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(p)
}

// write writes and flushes, unless the answer is complete with this: then the
// server flushes it.
func (s *stream) write(p []byte) (int, error) {
	if s.nobody {
		return 0, net.ErrClosed
	}
	s.stopEarly()
	n, err := s.ResponseWriter.Write(p)
	if s.left >= 0 {
		s.left = max(s.left-int64(n), 0)
	}
	if err == nil && s.left != 0 {
		s.flush()
	}
	return n, err
}

// Flush is called by goproxy for event streams, after each Write.
func (s *stream) Flush() {}

func (s *stream) flush() { s.ResponseWriter.(http.Flusher).Flush() }

// abandon ends the answer before it has begun.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nobody = true
	s.broken.Store(true)
}

// flushHead sends the head of an answer that broke off behind it: without a head
// the browser would ask once more.
func (s *stream) flushHead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopEarly()
	if s.begun && s.hijacked == nil {
		s.flush()
	}
}

// stopEarly ends the waiting for the beginning of the body.
func (s *stream) stopEarly() {
	if s.early != nil {
		s.early.Stop()
		s.early = nil
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// ReadFrom is how io.Copy copies the body.
func (s *stream) ReadFrom(r io.Reader) (n int64, err error) {
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	for {
		got, rerr := r.Read(*b)
		if got > 0 {
			wrote, werr := s.Write((*b)[:got])
			n += int64(wrote)
			if werr != nil {
				return n, werr
			}
		}
		if rerr == io.EOF {
			return n, nil
		}
		if rerr != nil {
			return n, rerr
		}
	}
}

// Hijack hands over the connection for a WebSocket. It is closed with the
// request, which goproxy does not do.
func (s *stream) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopEarly()
	c, rw, err := s.ResponseWriter.(http.Hijacker).Hijack()
	s.hijacked = c
	return c, rw, err
}

// end is called when the request has been served.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopEarly()
	s.ended = true
	if s.hijacked != nil {
		s.hijacked.Close()
	}
}

// watched is the body of a server's answer. It notes when the answer breaks
// off: io.Copy ends just the same then.
type watched struct {
	io.ReadCloser
	stream *stream
	note   func(error)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil && err != io.EOF && !w.stream.broken.Swap(true) {
		w.note(err)
	}
	return n, err
}

// tunnel is the answer to a CONNECT, which is a connection. What the browser
// sent already goes through the tunnel too, which goproxy forgets.
type tunnel struct{ http.ResponseWriter }

func (t tunnel) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := t.ResponseWriter.(http.Hijacker).Hijack()
	if err != nil {
		return nil, nil, err
	}
	buffered, _ := rw.Reader.Peek(rw.Reader.Buffered())
	return replaying(c, buffered), rw, nil
}
