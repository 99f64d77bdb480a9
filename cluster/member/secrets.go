package member

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
)

// A node has one or more secrets: one a line of the file. The first is the node's own:
// it signs the certificate that the node shows, and its key seals what is stored. The node
// accepts all of them, so nodes can change their secret one after the other. Decision
// 0030 says how.

// shortestSecret is how long a secret must be. An attacker who reaches a node's port can
// try secrets offline, so it must be too long for that.
const shortestSecret = 32

// maxSecrets bounds the secrets of a node. A change needs two.
const maxSecrets = 8

// nodeSecret is one secret, with the authority that is derived from it.
type nodeSecret struct {
	text      []byte
	authority *x509.Certificate
	signer    ed25519.PrivateKey
}

// name is how people tell a secret from another one without knowing it.
func (s nodeSecret) name() string {
	b, err := derive(s.text, "name")
	if err != nil {
		return ""
	}
	return hex.EncodeToString(b[:4])
}

// secrets are those of a node, its own first.
type secrets []nodeSecret

// parseSecrets reads one secret from each line.
func parseSecrets(text []byte) (all secrets, err error) {
	var lines [][]byte
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil, weakSecret("the nodes' secret")
	}
	if len(lines) > maxSecrets {
		return nil, fmt.Errorf("there are %d secrets, one on each line: give at most %d", len(lines), maxSecrets)
	}
	for i, line := range lines {
		what := "the nodes' secret"
		if len(lines) > 1 {
			what = fmt.Sprintf("line %d of the nodes' secrets", i+1)
		}
		distinct := map[byte]bool{}
		for _, b := range line {
			distinct[b] = true
		}
		if len(line) < shortestSecret || len(distinct) < 8 {
			return nil, weakSecret(what)
		}
		if slices.ContainsFunc(all, func(s nodeSecret) bool { return bytes.Equal(s.text, line) }) {
			return nil, fmt.Errorf("%s is there twice", what)
		}
		s := nodeSecret{text: bytes.Clone(line)}
		if s.authority, s.signer, err = derivedAuthority(line); err != nil {
			return nil, fmt.Errorf("derive an authority from the nodes' secret: %w", err)
		}
		all = append(all, s)
	}
	return all, nil
}

func weakSecret(what string) error {
	return fmt.Errorf("%s must be %d random characters or more, such as \"openssl rand -hex 32\" gives", what, shortestSecret)
}

// readSecrets reads the secrets that a configuration names.
func (c *Config) readSecrets() (secrets, error) {
	if len(c.Secret) > 0 && c.SecretFile != "" {
		return nil, errors.New("give the nodes' secret or a file with it, not both")
	}
	text := c.Secret
	if c.SecretFile != "" {
		var err error
		if text, err = os.ReadFile(c.SecretFile); err != nil {
			return nil, fmt.Errorf("read the nodes' secret: %w", err)
		}
	}
	return parseSecrets(text)
}

// names are the secrets as people tell them apart, the node's own first.
func (s secrets) names() (all []string) {
	for _, one := range s {
		all = append(all, one.name())
	}
	return all
}

// roots are the authorities of all secrets.
func (s secrets) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, one := range s {
		pool.AddCert(one.authority)
	}
	return pool
}

// without are those that others does not have.
func (s secrets) without(others secrets) (rest secrets) {
	for _, one := range s {
		if !slices.ContainsFunc(others, func(o nodeSecret) bool { return bytes.Equal(o.text, one.text) }) {
			rest = append(rest, one)
		}
	}
	return rest
}

// keys are those of all secrets for one purpose.
func (s secrets) keys(purpose string) (all [][]byte, err error) {
	for _, one := range s {
		key, err := derive(one.text, "key "+purpose)
		if err != nil {
			return nil, err
		}
		all = append(all, key)
	}
	return all, nil
}

// derive gives 32 bytes for one purpose.
func derive(secret []byte, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, nil, "troupe cluster "+purpose, 32)
}
