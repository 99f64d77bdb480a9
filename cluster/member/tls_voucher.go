package member

import (
	"crypto"
	"crypto/x509"
	"errors"
)

// A certificate of an operator's authority says that the other side is a machine
// of the operator's, not that it is a node of this cluster. So each side shows a
// voucher beside it: a second certificate for the same key, signed by the
// authority that is derived from the secret. Both sides check it within the
// handshake, before either sends anything. So a machine with the address and the
// certificate of a node, but without the secret, never gets the password.
//
// A certificate that is made from the secret is its own voucher.

// errUnvouched: the other side does not know the secret.
var errUnvouched = errors.New("the certificate of the other side was not made with the nodes' secret")

// vouched looks for a certificate of the derived authorities that is for the key
// which the other side has shown to have.
func vouched(roots *x509.CertPool, shown []*x509.Certificate) error {
	for _, c := range shown {
		key, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
		if !ok || !key.Equal(shown[0].PublicKey) {
			continue
		}
		_, err := c.Verify(x509.VerifyOptions{Roots: roots, DNSName: nodeName, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		if err == nil {
			return nil
		}
	}
	return errUnvouched
}
