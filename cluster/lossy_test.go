package cluster_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
)

// lossyServer is the engine as one node reaches it: messages to that node can be lost.
type lossyServer struct {
	*server.Server
	mu   sync.Mutex
	lose func(subject string, message []byte) bool // nil: none is lost
	lost int
}

// losing lets messages be lost from now on; nil: none.
func (s *lossyServer) losing(is func(subject string, message []byte) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose, s.lost = is, 0
}

// count is how many were lost since then.
func (s *lossyServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

func (s *lossyServer) loses(subject string, message []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lose == nil || !s.lose(subject, message) {
		return false
	}
	s.lost++
	return true
}

// InProcessConn gives the node its connection.
func (s *lossyServer) InProcessConn() (net.Conn, error) {
	c, err := s.Server.InProcessConn()
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(s.copy(w, bufio.NewReader(c))) }()
	return &lossyConn{c, r}, nil
}

type lossyConn struct {
	net.Conn
	in *io.PipeReader
}

func (c *lossyConn) Read(b []byte) (int, error) { return c.in.Read(b) }

// copy passes on what the engine says to the node, but for the messages that are lost.
func (s *lossyServer) copy(to io.Writer, from *bufio.Reader) error {
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return err
		}
		out := []byte(line)
		if f := strings.Fields(line); len(f) > 3 && (f[0] == "MSG" || f[0] == "HMSG") { // with the headers before the rest
			n, err := strconv.Atoi(f[len(f)-1])
			if err != nil {
				return fmt.Errorf("read %q: %w", line, err)
			}
			message := make([]byte, n+2)
			if _, err := io.ReadFull(from, message); err != nil {
				return err
			}
			if s.loses(f[1], message[:n]) {
				continue
			}
			out = append(out, message...)
		}
		if _, err := to.Write(out); err != nil {
			return err
		}
	}
}
