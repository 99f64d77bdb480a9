package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// Client returns an HTTP client that goes by the same rules, at redirects too.
// Its callers bound the time with their contexts, and the size by themselves.
func (p *Proxy) Client() *http.Client { return p.client(p.exits.dial) }

func (p *Proxy) client(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	t := p.exits.transport(p.transport.IdleConnTimeout)
	t.DialContext = dial
	t.DisableCompression = false
	t.ForceAttemptHTTP2 = true
	return &http.Client{
		Transport: t,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= 10 {
				return errors.New("stopped after 10 redirects")
			}
			if s := r.URL.Scheme; s != "http" && s != "https" {
				return fmt.Errorf("redirected to a URL of scheme %q", s)
			}
			return nil
		},
	}
}
