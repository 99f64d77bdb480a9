package member

import (
	"crypto"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"
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

// TLS returns the configuration of connections between nodes.
func (c Config) TLS() (*tls.Config, error) {
	cert, authority, name, err := c.certificates()
	if err != nil {
		return nil, fmt.Errorf("prepare certificates between nodes: %w", err)
	}
	vouched, err := vouch(c.Secret, &cert)
	if err != nil {
		return nil, fmt.Errorf("prepare certificates between nodes: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{cert},
		RootCAs:      authority,
		ClientCAs:    authority,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS13,
		ServerName:   name, // empty: the host that is dialled

		VerifyConnection: vouched,
	}, nil
}

func (c *Config) certificates() (tls.Certificate, *x509.CertPool, string, error) {
	authority := x509.NewCertPool()
	if c.CertFile == "" {
		cert, ca, err := derivedCertificate(c.Secret)
		if err == nil {
			authority.AddCert(ca)
		}
		return cert, authority, nodeName, err
	}
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return cert, nil, "", err
	}
	text, err := os.ReadFile(c.CAFile)
	if err != nil {
		return cert, nil, "", err
	}
	if !authority.AppendCertsFromPEM(text) {
		return cert, nil, "", fmt.Errorf("%s holds no certificate (PEM)", c.CAFile)
	}
	// A node both dials and is dialled.
	for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := cert.Leaf.Verify(x509.VerifyOptions{Roots: authority, Intermediates: intermediates(cert), KeyUsages: []x509.ExtKeyUsage{use}}); err != nil {
			return cert, nil, "", errors.Join(fmt.Errorf("%s must be signed by %s, and be for servers and for clients", c.CertFile, c.CAFile), err)
		}
	}
	return cert, authority, "", nil
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

// derivedCertificate makes a certificate and the authority that has signed it.
func derivedCertificate(secret []byte) (tls.Certificate, *x509.Certificate, error) {
	ca, signer, err := derivedAuthority(secret)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	der, err := sign(ca, signer, public)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, ca, err
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

// password is what nodes tell each other besides: with certificates of an
// operator's own authority, which may have signed others, it is what makes a
// node one of this cluster.
func (c *Config) password() (string, error) {
	b, err := derive(c.Secret, "password")
	return hex.EncodeToString(b), err
}

// derive gives 32 bytes for one purpose.
func derive(secret []byte, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, nil, "troupe cluster "+purpose, 32)
}
