package main

import (
	"errors"
	"fmt"
	nethttp "net/http"
	"os"
	"regexp"
	"strings"

	"github.com/rs/zerolog"

	"troupe/engine/egress"
	"troupe/engine/egress/demo"
)

// demoHost is the reserved name of the demo shop. It exists only inside the
// service's own proxy.
const demoHost = "demo.troupe.test"

// outbound is what pages may reach, as flags.
type outbound struct {
	AllowPrivate        bool     `help:"Let pages reach loopback, private and link-local addresses."`
	AllowHost           []string `help:"Host name that pages can reach even at a private address, or *.NAME for all subdomains. May be repeated." placeholder:"NAME"`
	AllowCIDR           []string `name:"allow-cidr" help:"Private address or network that pages can reach. May be repeated." placeholder:"CIDR"`
	UpstreamProxy       string   `help:"Proxy for all traffic of pages, such as http://proxy.example:3128. It must allow CONNECT to any port." placeholder:"URL"`
	UpstreamCredentials string   `name:"upstream-proxy-credentials" help:"File with user:password for that proxy." placeholder:"FILE"`
	EgressQuota         int64    `help:"Traffic that one task can send and receive together, in MiB. Default: unlimited." placeholder:"MIB"`
	Demo                bool     `default:"true" negatable:"" help:"Play the demo shop at http://demo.troupe.test/."`
}

var outboundName = regexp.MustCompile(`^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

// check finds what is wrong with the flags.
func (o *outbound) check() error {
	_, err := o.config()
	return err
}

// config is what the flags say.
func (o *outbound) config() (c egress.Config, err error) {
	c = egress.Config{AllowPrivate: o.AllowPrivate, AllowHosts: o.AllowHost}
	for _, h := range o.AllowHost {
		if !outboundName.MatchString(strings.ToLower(h)) {
			return c, usage("--allow-host %q is not a name such as intranet.example or *.intranet.example", h)
		}
	}
	if c.Allow, err = networks(o.AllowCIDR); err != nil {
		return c, usage("--allow-cidr: %w", err)
	}
	if o.EgressQuota < 0 || o.EgressQuota > 1<<30 {
		return c, usage("--egress-quota is %d: want MiB, or 0 for any number", o.EgressQuota)
	}
	if o.UpstreamProxy == "" && o.UpstreamCredentials != "" {
		return c, usage("--upstream-proxy-credentials needs --upstream-proxy")
	}
	if o.UpstreamProxy != "" {
		credentials, err := o.credentials()
		if err == nil {
			c.Upstream, err = egress.ParseUpstream(o.UpstreamProxy, credentials)
		}
		if err != nil {
			return c, usage("--upstream-proxy: %w", err)
		}
	}
	return c, nil
}

func (o *outbound) credentials() (string, error) {
	if o.UpstreamCredentials == "" {
		return "", nil
	}
	b, err := os.ReadFile(o.UpstreamCredentials)
	if err != nil {
		return "", fmt.Errorf("read the credentials: %w", err)
	}
	if s := strings.TrimSpace(string(b)); s != "" {
		return s, nil
	}
	return "", errors.New("the file with the credentials is empty")
}

// start opens the way out. The caller closes it.
func (o *outbound) start(log zerolog.Logger) (*egress.Proxy, error) {
	c, err := o.config()
	if err != nil {
		return nil, err
	}
	c.Log, c.Hosts = log, map[string]nethttp.Handler{}
	if o.Demo {
		c.Hosts[demoHost] = demo.Handler()
	}
	return egress.Start(c)
}
