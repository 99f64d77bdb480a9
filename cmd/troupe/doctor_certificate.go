package main

import (
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// examine looks at the certificate, where there is one.
func (l *listening) examine(now time.Time) []finding {
	secure, err := l.secure(zerolog.Nop())
	if err != nil {
		return []finding{{Check: "certificate", Verdict: problem, Found: err.Error(), Advice: "name a certificate and its key, both in PEM, with --tls-cert and --tls-key"}}
	}
	if secure == nil {
		return nil
	}
	pair, err := secure.Config().GetCertificate(nil)
	if err != nil {
		return []finding{{Check: "certificate", Verdict: problem, Found: err.Error(), Advice: "name another one with --tls-cert and --tls-key"}}
	}
	return []finding{judgeCertificate(pair.Leaf, now)}
}

// renewBefore is how long before its end a certificate should have been renewed:
// what does so by itself does it weeks before.
const renewBefore = 7 * 24 * time.Hour

func judgeCertificate(c *x509.Certificate, now time.Time) finding {
	f := finding{Check: "certificate", Verdict: good}
	names := strings.Join(c.DNSNames, ", ")
	for _, ip := range c.IPAddresses {
		names = strings.TrimPrefix(names+", "+ip.String(), ", ")
	}
	if names == "" {
		names = "no name"
	}
	f.Found = fmt.Sprintf("it is for %s, until %s", names, c.NotAfter.UTC().Format(time.RFC3339))
	const advice = "renew it: the service reads the files again when they change"
	switch {
	case now.After(c.NotAfter):
		f.Verdict, f.Found, f.Advice = problem, f.Found+", which is over", advice
	case now.Before(c.NotBefore):
		f.Verdict, f.Found = problem, f.Found+", and not before "+c.NotBefore.UTC().Format(time.RFC3339)
		f.Advice = "wait until then, take another one, or set the clock right"
	case names == "no name":
		f.Verdict, f.Advice = problem, "make one with the names that clients use (subjectAltName): they refuse it otherwise"
	case c.NotAfter.Sub(now) < renewBefore:
		f.Verdict, f.Advice = warning, advice
	}
	return f
}
