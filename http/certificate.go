package http

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// lookEvery is how often the files of a certificate are looked at, at most: a
// handshake that comes sooner after the last look takes what was found then.
const lookEvery = time.Second

// Certificate is a pair of files, certificate and key, that may be exchanged
// while the service runs. Handshakes always get a complete pair: a new one counts once
// both of its files are read and fit together. Until then, the old one stays.
type Certificate struct {
	certFile, keyFile string
	log               zerolog.Logger

	mu         sync.Mutex
	pair       *tls.Certificate
	cert, key  []byte // the files that were last tried, good or not
	looked     time.Time
	unreadable bool // and the log says so
}

// OpenCertificate reads a pair of files for the first time.
func OpenCertificate(certFile, keyFile string, log zerolog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	cert, key, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	c.pair, c.cert, c.key, c.looked = &pair, cert, key, time.Now()
	return c, nil
}

// authenticated are the suites of TLS 1.2 that encrypt and authenticate in one.
// Those of 1.3 all do.
var authenticated = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// Config is how a server uses the certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(time.Now()), nil },
		MinVersion:     tls.VersionTLS12,
		CipherSuites:   authenticated,
		NextProtos:     []string{"http/1.1"},
	}
}

// current returns the newest whole pair.
func (c *Certificate) current(now time.Time) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) < lookEvery {
		return c.pair
	}
	c.looked = now
	cert, key, err := c.read()
	if err != nil {
		if !c.unreadable { // once, not at every look
			c.log.Error().Err(err).Msg("the certificate's files cannot be read: the old certificate stays in use")
		}
		c.unreadable = true
		return c.pair
	}
	c.unreadable = false
	if bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		return c.pair
	}
	c.cert, c.key = cert, key
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		c.log.Error().Err(err).Msg("the new certificate is broken, or its key does not fit: the old certificate stays in use")
		return c.pair
	}
	c.pair = &pair
	c.log.Info().Time("until", pair.Leaf.NotAfter).Msg("a new certificate is in use")
	return c.pair
}

// Expires is when the certificate that is in use ends.
func (c *Certificate) Expires() time.Time { return c.current(time.Now()).Leaf.NotAfter }

func (c *Certificate) read() (cert, key []byte, err error) {
	if cert, err = os.ReadFile(c.certFile); err != nil {
		return nil, nil, err
	}
	if key, err = os.ReadFile(c.keyFile); err != nil {
		return nil, nil, err
	}
	return cert, key, nil
}
