package scarce

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Listener accepts connections, and goes on when one cannot be accepted now, because
// something is used up or its client has left. Most servers end at such an error.
type Listener struct {
	net.Listener
	Doing string // for the log, such as "accept a client"
}

// slowest is how long a listener waits at most before it tries again.
const slowest = time.Second

// Accept implements [net.Listener].
func (l Listener) Accept() (net.Conn, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, slowest) {
		c, err := l.Listener.Accept()
		switch {
		case err == nil:
			return c, nil
		case Of(err) == "" && !errors.Is(err, syscall.ECONNABORTED):
			return nil, err
		}
		_ = Note(l.Doing, err)
		time.Sleep(wait)
	}
}
