package main

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"path"
	"sync/atomic"

	"github.com/rs/zerolog"

	"troupe/engine"
	"troupe/engine/browser"
	"troupe/engine/egress"
	"troupe/engine/egress/demo"
)

// demoHost is the reserved name of the demo shop. It exists only inside the
// service's own proxy.
const demoHost = "demo.troupe.test"

// chromium is how browsers are started, as flags.
type chromium struct {
	Browser      string `help:"Program of the browser. Default: an installed Chromium or Chrome." placeholder:"PATH"`
	NoSandbox    bool   `help:"Run browsers without their sandbox. Every page can then do what the browser's user can."`
	AllowPrivate bool   `help:"Let pages reach loopback, private and link-local addresses."`
	Demo         bool   `default:"true" negatable:"" help:"Play the demo shop at http://demo.troupe.test/."`
}

// engine wires the browsers to their way out. The sandbox may be given up where
// it does not work only if soft is true. The caller closes the proxy.
func (c *chromium) engine(dir string, soft bool, log zerolog.Logger) (engine.Engine, *egress.Proxy, error) {
	program := c.Browser
	if program == "" {
		var err error
		if program, err = browser.Find(); err != nil {
			return nil, nil, err
		}
	}
	hosts := map[string]nethttp.Handler{}
	if c.Demo {
		hosts[demoHost] = demo.Handler()
	}
	proxy, err := egress.Start(egress.Config{AllowPrivate: c.AllowPrivate, Hosts: hosts, Log: log})
	if err != nil {
		return nil, nil, err
	}
	if c.NoSandbox {
		log.Warn().Msg("browsers run without their sandbox: every page can do what the browser's user can")
	}
	real := engine.Chromium{
		Options: browser.Options{Path: program, Dir: dir, Proxy: proxy.Addr(), NoSandbox: c.NoSandbox, Log: log},
		Egress:  fetcher(proxy), Explain: explain(proxy), Log: log,
	}
	if c.NoSandbox || !soft {
		return &real, proxy, nil
	}
	open := real
	open.Options.NoSandbox = true
	return &cautious{sandboxed: &real, open: &open, log: log}, proxy, nil
}

// cautious starts browsers in their sandbox, and without it once it has seen
// that they start only so.
type cautious struct {
	sandboxed, open *engine.Chromium
	given           atomic.Bool
	log             zerolog.Logger
}

func (c *cautious) Launch(ctx context.Context, worker string) (engine.Instance, error) {
	if c.given.Load() {
		return c.open.Launch(ctx, worker)
	}
	in, err := c.sandboxed.Launch(ctx, worker)
	if err == nil || ctx.Err() != nil {
		return in, err
	}
	in, bare := c.open.Launch(ctx, worker)
	if bare != nil {
		return nil, err
	}
	if c.given.CompareAndSwap(false, true) {
		c.log.Warn().AnErr("sandbox", err).Msg("the browsers' sandbox does not work here: they run without it, which is allowed " +
			"because only this machine can send tasks; every page can do what the browser's user can")
	}
	return in, nil
}

// fetcher fetches files for uploads by the rules of the proxy.
func fetcher(p *egress.Proxy) engine.Fetcher {
	client := p.Client()
	return func(ctx context.Context, address string, limit int64) (string, io.ReadCloser, error) {
		req, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodGet, address, nil)
		if err != nil {
			return "", nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", nil, err
		}
		if resp.StatusCode != nethttp.StatusOK || resp.ContentLength > limit {
			resp.Body.Close()
			if resp.StatusCode != nethttp.StatusOK {
				return "", nil, fmt.Errorf("the server answered %s", resp.Status)
			}
			return "", nil, fmt.Errorf("it has %d bytes, more than %d", resp.ContentLength, limit)
		}
		return path.Base(resp.Request.URL.Path), resp.Body, nil
	}
}

// explain asks the proxy why a URL could not be reached.
func explain(p *egress.Proxy) func(string) (string, string) {
	return func(url string) (string, string) {
		f, _ := p.Failure(url)
		return f.Net, f.Text
	}
}
