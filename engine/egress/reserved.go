package egress

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// pipe is a server in memory: what is dialled is answered by its handler.
type pipe struct {
	conns  chan net.Conn
	ended  chan struct{}
	end    sync.Once
	server *http.Server
}

func newPipe(h http.Handler) *pipe {
	p := &pipe{conns: make(chan net.Conn), ended: make(chan struct{})}
	p.server = &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second}
	go p.server.Serve(p)
	return p
}

func (p *pipe) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept, Close and Addr implement [net.Listener].
func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	p.end.Do(func() { close(p.ended) })
	return nil
}

func (p *pipe) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }
