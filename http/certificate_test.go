package http_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"troupe/http"
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
	e := open(t, &company{}, func(cfg *http.Config) { cfg.TLS = c.Config() })
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
		return log.count("the old certificate stays") == 1
	})
	put(keyFile, newKey)
	eventually(t, "the new pair is in use", func() bool { return shown() == string(newCert) })

	put(keyFile, []byte("no key"))
	eventually(t, "a broken pair is noticed", func() bool {
		if shown() != string(newCert) {
			t.Fatal("the good pair is gone")
		}
		return log.count("the old certificate stays") == 2
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
