package member

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Between nodes both sides show a certificate that the cluster's authority has
// signed. Without files, the authority's key is derived from the secret, and
// each node signs a certificate for a new key of its own. Without the secret,
// nobody can make one. Decision 0008 says why that is sound.

// nodeName is the name in every certificate of a derived authority. It does not name
// the node: with the secret, a process may be any node.
const nodeName = "node.troupe.internal"

// Certificates live as long as their process, and nodes need not agree on the
// time for one to be valid.
var (
	validFrom  = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	validUntil = time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC)
)

// identity is what a node shows to others and accepts of them. It changes with the
// node's secrets, for connections that begin from then on.
type identity struct {
	files  *tls.Certificate // of the operator's authority; nil: made from the secret
	signed *x509.CertPool   // with files: that authority
	key    ed25519.PrivateKey
	now    atomic.Pointer[shown]
}

// shown is an identity with certain secrets.
type shown struct {
	secrets secrets
	cert    *tls.Certificate
	roots   *x509.CertPool
}

// newIdentity reads the files of the configuration, and takes its secrets.
func newIdentity(c *Config) (*identity, error) {
	all, err := c.readSecrets()
	if err != nil {
		return nil, err
	}
	i := &identity{}
	if c.CertFile != "" {
		err = i.load(c)
	} else {
		_, i.key, err = ed25519.GenerateKey(nil)
	}
	if err == nil {
		err = i.use(all)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare certificates between nodes: %w", err)
	}
	return i, nil
}

// TLS returns the configuration of connections between nodes.
func (c Config) TLS() (*tls.Config, error) {
	i, err := newIdentity(&c)
	if err != nil {
		return nil, err
	}
	return i.config(), nil
}

// config is that of connections between nodes. They are verified by verify: what is
// accepted changes, and the engine has one configuration for as long as it runs.
func (i *identity) config() *tls.Config {
	c := &tls.Config{
		MinVersion:           tls.VersionTLS13,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return i.now.Load().cert, nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.now.Load().cert, nil },
		VerifyConnection:     i.verify,
	}
	if i.files != nil {
		// Empty names mean the host that is dialled.
		c.RootCAs, c.ClientCAs, c.ClientAuth = i.signed, i.signed, tls.RequireAndVerifyClientCert
		return c
	}
	// Here verify is the only check, on both sides: it verifies the chain up to the
	// authorities of the secrets as they are when the connection begins.
	c.ServerName, c.ClientAuth, c.InsecureSkipVerify = nodeName, tls.RequireAnyClientCert, true
	return c
}

// verify is the check of every connection between nodes, on both sides, within the
// handshake.
func (i *identity) verify(s tls.ConnectionState) error {
	return vouched(i.now.Load().roots, s.PeerCertificates)
}

// Check is the engine's question whether the other side of a connection may be a node.
// The handshake has proved it already. The secrets may have changed since. The password
// that nodes send is for those of an earlier release: it says less than the certificate.
func (i *identity) Check(c server.ClientAuthentication) bool {
	s := c.GetTLSConnectionState()
	return s != nil && i.verify(*s) == nil
}

// use makes an identity of other secrets, for connections that begin from now on.
func (i *identity) use(all secrets) error {
	next := &shown{secrets: all, roots: all.roots()}
	own := all[0]
	if i.files != nil {
		der, err := sign(own.authority, own.signer, i.files.Leaf.PublicKey)
		if err != nil {
			return fmt.Errorf("vouch for the key of the certificate: %w", err)
		}
		cert := *i.files
		cert.Certificate = append(cert.Certificate[:len(cert.Certificate):len(cert.Certificate)], der)
		next.cert = &cert
	} else {
		der, err := sign(own.authority, own.signer, i.key.Public())
		if err != nil {
			return err
		}
		next.cert = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: i.key}
	}
	i.now.Store(next)
	return nil
}

// load reads the certificate of an operator's authority.
func (i *identity) load(c *Config) error {
	i.signed = x509.NewCertPool()
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(c.CAFile)
	if err != nil {
		return err
	}
	if !i.signed.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s holds no certificate (PEM)", c.CAFile)
	}
	// A node both dials and is dialled.
	for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := cert.Leaf.Verify(x509.VerifyOptions{Roots: i.signed, Intermediates: intermediates(cert), KeyUsages: []x509.ExtKeyUsage{use}}); err != nil {
			return errors.Join(fmt.Errorf("%s must be signed by %s, and be for servers and for clients", c.CertFile, c.CAFile), err)
		}
	}
	i.files = &cert
	return nil
}

// intermediates are what stands between a certificate and its authority.
func intermediates(cert tls.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, der := range cert.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			pool.AddCert(c)
		}
	}
	return pool
}

// derivedAuthority is the same on every node, by the secret.
func derivedAuthority(secret []byte) (*x509.Certificate, ed25519.PrivateKey, error) {
	seed, err := derive(secret, "authority")
	if err != nil {
		return nil, nil, err
	}
	signer := ed25519.NewKeyFromSeed(seed)
	root := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "troupe nodes"},
		NotBefore:             validFrom,
		NotAfter:              validUntil,
		IsCA:                  true,
		MaxPathLenZero:        true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(nil, root, root, signer.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	ca, err := x509.ParseCertificate(der)
	return ca, signer, err
}

// sign makes a node's certificate for a public key.
func sign(ca *x509.Certificate, signer ed25519.PrivateKey, public crypto.PublicKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: nodeName},
		DNSNames:     []string{nodeName},
		NotBefore:    validFrom,
		NotAfter:     validUntil,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	return x509.CreateCertificate(nil, leaf, ca, public, signer)
}

// password is what nodes of an earlier release want to be told besides.
func (s secrets) password() (string, error) {
	b, err := derive(s[0].text, "password")
	return hex.EncodeToString(b), err
}
