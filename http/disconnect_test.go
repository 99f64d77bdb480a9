package http_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	nethttp "net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
)

// certificate makes one for a test's server, and what a client needs for it.
func certificate(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		&tls.Config{RootCAs: roots, ServerName: "test"}
}

// bothWays runs a test over plain connections and over TLS.
func bothWays(t *testing.T, test func(t *testing.T, server, client *tls.Config)) {
	t.Run("plain", func(t *testing.T) { test(t, nil, nil) })
	t.Run("TLS", func(t *testing.T) {
		server, client := certificate(t)
		test(t, server, client)
	})
}

const request = "POST /v1/ HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: "

func taskRequest() string { return fmt.Sprintf("%s%d\r\n\r\n%s", request, len(task), task) }

// waiting are actors whose tasks last until they are told to end, or their
// context is.
type waiting struct {
	fakeActors
	started chan struct{}
	finish  chan struct{}
	ends    chan error
}

func newWaiting() *waiting {
	w := &waiting{started: make(chan struct{}, 64), finish: make(chan struct{}), ends: make(chan error, 64)}
	w.execute = func(ctx context.Context, m *api.Execute) (*api.Executed, error) {
		w.started <- struct{}{}
		select {
		case <-ctx.Done():
			w.ends <- context.Cause(ctx)
			x := done(m)
			x.Outcome.End = engine.EndOf(ctx)
			return x, nil
		case <-w.finish:
			w.ends <- nil
			return done(m), nil
		}
	}
	return w
}

func TestVanishedClientEndsItsTask(t *testing.T) {
	beside(t)
	for how, leave := range map[string]func(net.Conn){
		"close": func(c net.Conn) { _ = c.Close() },
		"reset": func(c net.Conn) {
			if t, ok := c.(*tls.Conn); ok {
				c = t.NetConn()
			}
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		},
		"half": func(c net.Conn) { _ = c.(interface{ CloseWrite() error }).CloseWrite() },
	} {
		t.Run(how, func(t *testing.T) {
			bothWays(t, func(t *testing.T, server, client *tls.Config) {
				if how == "half" && client != nil {
					t.Skip("a TLS goodbye is bytes on an open connection")
				}
				w := newWaiting()
				e := openServer(t, w, func(c *http.Config) { c.TLS = server })
				c := e.dial(t, client)
				if _, err := io.WriteString(c, taskRequest()); err != nil {
					t.Fatal(err)
				}
				<-w.started
				leave(c)
				select {
				case err := <-w.ends:
					if !errors.Is(err, engine.ErrClientGone) {
						t.Errorf("the task ended with %v", err)
					}
				case <-time.After(hang):
					t.Error("the task goes on")
				}
			})
		})
	}
}

// TestRequestSentAheadIsNoFarewell: a client that sends its next request before
// the answer to this one is still there, and gets both.
func TestRequestSentAheadIsNoFarewell(t *testing.T) {
	beside(t)
	bothWays(t, func(t *testing.T, server, client *tls.Config) {
		w := newWaiting()
		e := openServer(t, w, func(c *http.Config) { c.TLS = server })
		c := e.dial(t, client)
		if _, err := io.WriteString(c, taskRequest()+taskRequest()); err != nil {
			t.Fatal(err)
		}
		<-w.started
		select {
		case err := <-w.ends:
			t.Fatalf("the task ended with %v", err)
		case <-time.After(350 * time.Millisecond): // three looks
		}
		close(w.finish)
		r := bufio.NewReader(c)
		for i := range 2 {
			answer, err := nethttp.ReadResponse(r, nil)
			if err != nil || answer.StatusCode != 200 {
				t.Fatalf("answer %d: %v, %v", i, answer, err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
		}
	})
}

// TestWatchingEnds: nothing is left of looking after connections.
func TestWatchingEnds(t *testing.T) {
	looking := func() bool {
		all := make([]byte, 1<<20)
		return strings.Contains(string(all[:runtime.Stack(all, true)]), "http.(*disconnectDetector).run")
	}
	w := newWaiting()
	e := openServer(t, w)
	c := e.dial(t, nil)
	if _, err := io.WriteString(c, taskRequest()); err != nil {
		t.Fatal(err)
	}
	<-w.started
	eventually(t, "somebody looks", looking) // a goroutine that has not run yet is not seen
	close(w.finish)
	<-w.ends
	eventually(t, "nobody looks any more", func() bool { return !looking() })
}
