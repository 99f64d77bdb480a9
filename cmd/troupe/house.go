package main

import (
	"context"
	nethttp "net/http"
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
	Challenge    bool   `default:"true" negatable:"" help:"Allow byPassChallenge, which clicks the checkbox of a verification widget."`
}

// engine wires the browsers to their way out. The sandbox may be given up where
// it does not work only if soft is true; shares names the browser that a worker
// shares, or is nil. The caller closes the proxy.
func (c *chromium) engine(dir string, soft bool, shares func(worker string) string, log zerolog.Logger) (engine.Engine, *egress.Proxy, error) {
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
	chromium := func(noSandbox bool) *engine.Chromium {
		e := engine.NewChromium(browser.Options{Path: program, Dir: dir, NoSandbox: noSandbox, Log: log}, proxy)
		e.NoBypass, e.Group = !c.Challenge, shares
		return e
	}
	first := chromium(c.NoSandbox)
	if c.NoSandbox || !soft {
		return first, proxy, nil
	}
	return &cautious{sandboxed: first, open: chromium(true), log: log}, proxy, nil
}

// cautious starts browsers in their sandbox, and without it once it has seen
// that they start only so. One start that failed says little, and where any
// browser has started in its sandbox, it is never given up.
type cautious struct {
	sandboxed, open engine.Engine
	proved, given   atomic.Bool
	log             zerolog.Logger
}

func (c *cautious) Launch(ctx context.Context, worker string) (engine.Instance, error) {
	if c.given.Load() {
		return c.open.Launch(ctx, worker)
	}
	in, err := c.sandboxed.Launch(ctx, worker)
	if err != nil && ctx.Err() == nil && !c.proved.Load() {
		in, err = c.sandboxed.Launch(ctx, worker)
	}
	if err == nil {
		c.proved.Store(true)
	}
	if err == nil || ctx.Err() != nil || c.proved.Load() {
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
