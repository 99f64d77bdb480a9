package cluster_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/cluster/member"
	"troupe/testkit/need"
)

// authority signs certificates as an operator's does.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	name string // what its certificates are for; empty: 127.0.0.1
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), nil)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "operator"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert: cert, key: key}
}

// files writes a certificate, its key, and the authority.
func (a *authority) files(t *testing.T, uses ...x509.ExtKeyUsage) (certFile, keyFile, caFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), nil)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: uses,
	}
	if a.name != "" {
		leaf.IPAddresses, leaf.DNSNames = nil, []string{a.name}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", secret), write("ca.pem", "CERTIFICATE", a.cert.Raw)
}

const otherSecret = "another secret that is long enough to be one 9876543210"

var both = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}

// A stranger that reaches the port gets nothing: not a byte of the protocol,
// and no place among the nodes.
func TestStrangersGetNothing(t *testing.T) {
	need.Time(t)
	t.Parallel()
	cfgs := configs(t, 3)
	all := allButOne(t, cfgs)
	foreign, err := tls.LoadX509KeyPair(first2(newAuthority(t).files(t, both...)))
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]*tls.Config{
		"no TLS":         nil,
		"no certificate": {InsecureSkipVerify: true},
		"a foreign certificate": {InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &foreign, nil // whatever authority was asked for
		}},
		"an old TLS": {InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", cfgs[0].Listen)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(hang))
			if cfg != nil {
				conn = tls.Client(conn, cfg)
			}
			_, err = io.WriteString(conn, "CONNECT {\"verbose\":true}\r\nPING\r\n")
			var heard []byte
			if err == nil {
				heard, err = io.ReadAll(conn)
			}
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				t.Errorf("the connection is still open: %v", err)
			}
			if cfg != nil && (err == nil || len(heard) > 0) {
				t.Errorf("heard %q, %v; want the handshake refused", heard, err)
			}
			if strings.ContainsAny(string(heard), "{}") || len(heard) > 16 { // an alert of TLS has seven bytes
				t.Errorf("heard %q", heard)
			}
		})
	}

	t.Run("another secret", func(t *testing.T) {
		cfg := cfgs[2]
		cfg.Dir = t.TempDir()
		cfg.Secret = []byte(otherSecret)
		m := join(t, cfg)
		lonely(t, m, all)
	})
	ready(t, join(t, cfgs[2])) // the door was not shut for ever
}

// allButOne starts three nodes, and ends the third when they have found each
// other: two alone cannot begin a cluster.
func allButOne(t *testing.T, cfgs []member.Config) []*member.Member {
	t.Helper()
	all := []*member.Member{join(t, cfgs[0]), join(t, cfgs[1]), join(t, cfgs[2])}
	ready(t, all...)
	all[2].Close()
	soon(t, "the third is gone", func() bool { return len(all[0].Peers()) == 1 && len(all[1].Peers()) == 1 })
	return all[:2]
}

// lonely watches for as long as nodes need to find each other: the others never
// know the stranger, and no message goes from one to the other.
func lonely(t *testing.T, m *member.Member, others []*member.Member) {
	t.Helper()
	overheard, err := m.Conn().SubscribeSync("private")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range others {
		smuggled, err := o.Conn().SubscribeSync("smuggled")
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if n, _, _ := smuggled.Pending(); n > 0 {
				t.Errorf("%s has heard a stranger", o.Name())
			}
		}()
	}
	for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err := m.Conn().Publish("smuggled", []byte("hello")); err != nil {
			t.Fatal(err)
		}
		for _, o := range others {
			if err := o.Conn().Publish("private", []byte("hello")); err != nil {
				t.Fatal(err)
			}
			if slices.Contains(o.Peers(), m.Name()) {
				t.Fatalf("%s has let a stranger in", o.Name())
			}
		}
		if _, err := overheard.NextMsg(time.Millisecond); err == nil {
			t.Fatal("a stranger has heard what nodes tell each other")
		}
	}
}

func first2[T any](a, b, _ T) (T, T) { return a, b }

// With files of the operator's the secret still counts.
func TestNodesWithCertificatesOfTheOperator(t *testing.T) {
	need.Time(t)
	t.Parallel()
	ca := newAuthority(t)
	cfgs := configs(t, 3)
	for i := range cfgs {
		cfgs[i].CertFile, cfgs[i].KeyFile, cfgs[i].CAFile = ca.files(t, both...)
	}
	all := allButOne(t, cfgs)
	other := cfgs[2]
	other.Dir = t.TempDir()
	other.Secret = []byte(otherSecret)
	m := join(t, other)
	lonely(t, m, all)
	m.Close()
	ready(t, join(t, cfgs[2]))

	wrong := cfgs[2]
	wrong.CertFile, wrong.KeyFile, wrong.CAFile = ca.files(t, x509.ExtKeyUsageServerAuth)
	if _, err := member.Join(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "for servers and for clients") {
		t.Errorf("a certificate for servers only: %v", err)
	}
}
