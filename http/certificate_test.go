package http_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/http"
	"troupe/testkit/need"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu sync.Mutex
	b  strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) count(s string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.b.String(), s)
}

// pair makes a certificate as the contents of two files.
func pair(t *testing.T) (cert, key []byte) {
	t.Helper()
	server, _ := certificate(t)
	der, err := x509.MarshalPKCS8PrivateKey(server.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificates[0].Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// TestCertificateIsExchanged: a new pair is in use once it is whole, and a
// broken one never, whatever half of it is there.
func TestCertificateIsExchanged(t *testing.T) {
	need.Time(t)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	put := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(name+".new", b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	oldCert, oldKey := pair(t)
	put(certFile, oldCert)
	put(keyFile, oldKey)
	log := &journal{}
	c, err := http.OpenCertificate(certFile, keyFile, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	e := openServer(t, &fakeActors{}, func(cfg *http.Config) { cfg.TLS = c.Config() })
	shown := func() string {
		t.Helper()
		conn, err := tls.Dial("tcp", e.addr, &tls.Config{InsecureSkipVerify: true}) // the test looks at what comes
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conn.ConnectionState().PeerCertificates[0].Raw}))
	}
	if shown() != string(oldCert) {
		t.Fatal("the first certificate is not shown")
	}

	newCert, newKey := pair(t)
	put(certFile, newCert) // with the old key
	eventually(t, "half of a pair is noticed", func() bool {
		if shown() != string(oldCert) {
			t.Fatal("half of a pair is in use")
		}
		return log.count("the old certificate stays in use") == 1
	})
	put(keyFile, newKey)
	eventually(t, "the new pair is in use", func() bool { return shown() == string(newCert) })

	put(keyFile, []byte("no key"))
	eventually(t, "a broken pair is noticed", func() bool {
		if shown() != string(newCert) {
			t.Fatal("the good pair is gone")
		}
		return log.count("the old certificate stays in use") == 2
	})
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a missing file is noticed", func() bool {
		if shown() != string(newCert) {
			t.Fatal("the good pair is gone")
		}
		return log.count("cannot be read") == 1
	})
	if strings.Contains(log.b.String(), "PRIVATE") {
		t.Error("the log holds a key")
	}

	if _, err := http.OpenCertificate(certFile, keyFile, zerolog.Nop()); err == nil {
		t.Error("a service starts without its certificate")
	}
}

// TestOnlyStrongSuites: TLS 1.2 is spoken only with suites that encrypt and
// authenticate in one, and nothing older is spoken at all.
func TestOnlyStrongSuites(t *testing.T) {
	t.Parallel()
	addr := secured(t)
	dial := func(c *tls.Config) error {
		c.InsecureSkipVerify = true
		conn, err := tls.Dial("tcp", addr, c)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if !slices.Contains(suite.SupportedVersions, tls.VersionTLS12) {
			continue
		}
		good := strings.Contains(suite.Name, "ECDHE_ECDSA") && (strings.Contains(suite.Name, "GCM") || strings.Contains(suite.Name, "CHACHA20"))
		if err := dial(&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}); (err == nil) != good {
			t.Errorf("%s: %v", suite.Name, err)
		}
	}
	if err := dial(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	if err := dial(&tls.Config{MinVersion: tls.VersionTLS13}); err != nil {
		t.Error(err)
	}
}

// secured starts an edge with a certificate from files, and returns its address.
func secured(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cert, key := pair(t)
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := errors.Join(os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := http.OpenCertificate(certFile, keyFile, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return openServer(t, &fakeActors{}, func(cfg *http.Config) { cfg.TLS = c.Config() }).addr
}

// TestStrictTransport: browsers that came over TLS are told to come so again,
// whatever the answer is, but not for names that other programs share.
func TestStrictTransport(t *testing.T) {
	t.Parallel()
	ask := func(c net.Conn, request string) string {
		t.Helper()
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(hang))
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(c)
		head, _, _ := strings.Cut(string(b), "\r\n\r\n")
		if !strings.HasPrefix(head, "HTTP/1.1 ") {
			t.Fatalf("%q", b)
		}
		return head
	}
	addr := secured(t)
	for request, want := range map[string]bool{
		"GET /healthz HTTP/1.1\r\nHost: browsers.example.org\r\nConnection: close\r\n\r\n":       true,
		"GET /v1/usage HTTP/1.1\r\nHost: browsers.example.org:8443\r\nConnection: close\r\n\r\n": true, // 401
		"GET /nowhere HTTP/1.1\r\nHost: browsers.example.org\r\nConnection: close\r\n\r\n":       true,
		"GET /healthz HTTP/1.1\r\nHost: localhost:8443\r\nConnection: close\r\n\r\n":             false,
		"GET /healthz HTTP/1.1\r\nHost: shop.LOCALHOST.\r\nConnection: close\r\n\r\n":            false,
		"GET /healthz HTTP/1.1\r\nHost: 192.0.2.7\r\nConnection: close\r\n\r\n":                  false,
		"GET /healthz HTTP/1.1\r\nHost: [::1]:8443\r\nConnection: close\r\n\r\n":                 false,
	} {
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		if head := ask(c, request); strings.Contains(head, "\r\nStrict-Transport-Security: max-age=15768000") != want {
			t.Errorf("%q: %s", request, head)
		}
	}
	plain, err := net.Dial("tcp", openServer(t, &fakeActors{}).addr)
	if err != nil {
		t.Fatal(err)
	}
	if head := ask(plain, "GET /healthz HTTP/1.1\r\nHost: browsers.example.org\r\nConnection: close\r\n\r\n"); strings.Contains(head, "Strict-Transport") {
		t.Errorf("without TLS: %s", head)
	}
}
