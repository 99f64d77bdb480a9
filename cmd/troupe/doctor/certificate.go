package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"time"
)

// examineCertificate looks at the certificate, where there is one.
func examineCertificate(certificate func() (*tls.Config, error), now time.Time) []Finding {
	config, err := certificate()
	if err != nil {
		return []Finding{{Check: "certificate", Verdict: Problem, Found: err.Error(), Advice: "name a certificate and its key, both in PEM, with --tls-cert and --tls-key"}}
	}
	if config == nil {
		return nil
	}
	pair, err := config.GetCertificate(nil)
	if err != nil {
		return []Finding{{Check: "certificate", Verdict: Problem, Found: err.Error(), Advice: "name another one with --tls-cert and --tls-key"}}
	}
	return []Finding{judgeCertificate(pair.Leaf, now)}
}

// renewBefore is how long before its end a certificate should have been renewed:
// what does so by itself does it weeks before.
const renewBefore = 7 * 24 * time.Hour

func judgeCertificate(c *x509.Certificate, now time.Time) Finding {
	f := Finding{Check: "certificate", Verdict: Good}
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
		f.Verdict, f.Found, f.Advice = Problem, f.Found+", which has passed", advice
	case now.Before(c.NotBefore):
		f.Verdict, f.Found = Problem, f.Found+", and not before "+c.NotBefore.UTC().Format(time.RFC3339)
		f.Advice = "wait until then, take another one, or set the clock right"
	case names == "no name":
		f.Verdict, f.Advice = Problem, "make one with the names that clients use (subjectAltName): they refuse it otherwise"
	case c.NotAfter.Sub(now) < renewBefore:
		f.Verdict, f.Advice = Warning, advice
	}
	return f
}
