package member

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// heard is a log's lines.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, string(p))
	return len(p), nil
}

func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.lines
	h.lines = nil
	return lines
}

// TestStrangersAreSummarised: however many connect without the nodes' secret, the
// log has one line a minute with their number.
func TestStrangersAreSummarised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &heard{}
		l := newEngineLog(zerolog.New(said))
		lines := func(want ...string) {
			t.Helper()
			synctest.Wait()
			got := said.take()
			if len(got) != len(want) {
				t.Fatalf("%d lines: %q", len(got), got)
			}
			for i, w := range want {
				if !strings.Contains(got[i], w) || strings.Contains(got[i], `"level":"error"`) != strings.Contains(w, `"level":"error"`) {
					t.Errorf("line %d is %s, not %s", i, got[i], w)
				}
			}
		}
		for range 1000 {
			l.Errorf("192.0.2.1:%d - rid:%d - TLS route handshake error: %v", 1, 2, "tls: client didn't provide a certificate")
		}
		lines(`"level":"warn","from":"nats","count":1,`)
		time.Sleep(time.Minute + time.Second)
		lines(`"count":999,`)
		time.Sleep(time.Minute + time.Second)
		lines()
		l.Errorf("rid:7 - TLS route handshake error: %v", errUnvouched)
		lines(`"count":1,`)
		l.Errorf("the disk is %s", "broken")
		lines(`"level":"error","from":"nats","message":"the disk is broken"`)
		time.Sleep(2 * time.Minute)
		lines()
	})
}

// TestACutIsNoWrongSecret: what the log says of a handshake that fails. A stranger could say
// any of it; a node that is only cut off says nothing that is wrong.
func TestACutIsNoWrongSecret(t *testing.T) {
	op := func(err error) error {
		return &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: 1}, Addr: &net.TCPAddr{Port: 2}, Err: err}
	}
	for _, c := range []struct {
		err   error
		wrong bool
	}{
		{errUnvouched, true},
		{errors.New("remote error: tls: bad certificate"), true},
		{errors.New("remote error: tls: unknown certificate authority"), true},
		{errors.New("tls: client didn't provide a certificate"), true},
		{errors.New("tls: first record does not look like a TLS handshake"), true},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, true},
		{io.EOF, false},
		{io.ErrUnexpectedEOF, false},
		{io.ErrClosedPipe, false},
		{op(os.ErrDeadlineExceeded), false},
		{context.DeadlineExceeded, false},
		{op(net.ErrClosed), false},
		{op(os.NewSyscallError("read", syscall.ECONNRESET)), false},
		{op(os.NewSyscallError("write", syscall.EPIPE)), false},
		{op(os.NewSyscallError("read", syscall.ETIMEDOUT)), false},
		{op(os.NewSyscallError("read", syscall.EHOSTUNREACH)), false},
		{op(os.NewSyscallError("read", syscall.ENETUNREACH)), false},
	} {
		said := &heard{}
		newEngineLog(zerolog.New(said)).Errorf("10.0.0.2:7222 - rid:%d - TLS route handshake error: %v", 7, c.err)
		line := strings.Join(said.take(), "")
		if strings.Contains(line, "the nodes' secret\"}") != c.wrong || strings.Contains(line, "broke off") == c.wrong {
			t.Errorf("%v: %s", c.err, line)
		}
	}
}
