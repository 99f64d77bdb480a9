package member

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// A certificate of an operator's authority says that the other side is a machine
// of the operator's, not that it is a node of this cluster. So each side shows a
// voucher beside it: a second certificate for the same key, signed by the
// authority that is derived from the secret. Both sides check it within the
// handshake, before either sends anything. So a machine with the address and the
// certificate of a node, but without the secret, never gets the password.

// vouch adds the voucher of a node's certificate to what it shows, and gives the
// check of the other side's.
func vouch(secret []byte, cert *tls.Certificate) (check func(tls.ConnectionState) error, err error) {
	ca, signer, err := derivedAuthority(secret)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	check = func(s tls.ConnectionState) error { return vouched(roots, s.PeerCertificates) }

	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		return nil, err
	}
	if vouched(roots, []*x509.Certificate{leaf}) == nil { // it is of that authority itself
		return check, nil
	}
	der, err := sign(ca, signer, leaf.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("vouch for the key of the certificate: %w", err)
	}
	cert.Certificate = append(cert.Certificate, der)
	return check, nil
}

// errUnvouched: the other side does not know the secret.
var errUnvouched = errors.New("the certificate of the other side was not made with the nodes' secret")

// vouched looks for a certificate of the derived authority that is for the key
// which the other side has shown to have.
func vouched(roots *x509.CertPool, shown []*x509.Certificate) error {
	for _, c := range shown {
		key, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
		if !ok || !key.Equal(shown[0].PublicKey) {
			continue
		}
		_, err := c.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		if err == nil {
			return nil
		}
	}
	return errUnvouched
}
