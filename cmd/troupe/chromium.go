package main

import (
	"errors"
	"os/exec"

	"github.com/rs/zerolog"

	"troupe/engine"
	"troupe/engine/browser"
	"troupe/engine/egress"
)

// chromium is how browsers are started, as flags.
type chromium struct {
	Browser              string           `help:"Browser executable. Default: an installed Chromium or Chrome." placeholder:"PATH"`
	NoSandbox            bool             `help:"Run browsers without their sandbox. Pages can then do anything that the browser's user can."`
	SandboxFallback      bool             `help:"Run browsers without their sandbox where it does not work, and say so at the start. Always so where only this machine can send tasks; never on a node of a cluster."`
	Outbound             outbound         `embed:""`
	RendererProcessLimit int              `default:"1" help:"Renderer processes of a browser. Pages of different sites never share one. 0: the browser decides. Default: 1."`
	InProcessGPU         bool             `name:"in-process-gpu" default:"true" negatable:"" help:"Run the GPU code in the browser's main process."`
	InProcessNetwork     bool             `default:"true" negatable:"" help:"Run the network service in the browser's main process."`
	Isolation            engine.Isolation `default:"task" enum:"task,account,none" help:"What a task may find of earlier ones on its worker. task: nothing. account: of tasks of its account what cannot be cleared. none: everything, as workers are never cleaned. Default: task."`
	Challenge            bool             `default:"true" negatable:"" help:"Allow byPassChallenge, which clicks the checkbox of a verification widget."`
}

// check finds what is wrong with the flags.
func (c *chromium) check() error {
	if c.RendererProcessLimit < 0 || c.RendererProcessLimit > 1000 {
		return usage("--renderer-process-limit is %d: want 1 or more, or 0 for the browser's own choice", c.RendererProcessLimit)
	}
	return c.Outbound.check()
}

// executable looks whether the program of the flag is one.
func (c *chromium) executable() error {
	if c.Browser == "" {
		return nil
	}
	if _, err := exec.LookPath(c.Browser); err != nil {
		if e := (*exec.Error)(nil); errors.As(err, &e) {
			err = e.Err
		}
		return usage("--browser %q cannot be executed: %w", c.Browser, err)
	}
	return nil
}

// folderOf makes a folder of browsers that only this process uses.
func folderOf(dir string) func() (string, error) {
	return func() (string, error) { return dir, browser.MakePassable(dir) }
}

// withoutSandbox says why the sandbox may be given up where it does not work; empty: it may
// not. Nodes of a cluster serve many, and their pods and services are set up by hand once.
func (c *serveCommand) withoutSandbox() string {
	switch {
	case c.Listening.local():
		return "only this machine can send tasks"
	case c.Chromium.SandboxFallback && !c.Cluster.on():
		return "--sandbox-fallback (TROUPE_SANDBOX_FALLBACK) allows it"
	}
	return ""
}

// engine wires the browsers to their way out. They live in the folder that dir makes. The sandbox may be given up where
// it does not work only if soft says why; shares names the browser that a worker
// shares, or is nil, named are the proxies that tasks may name, and mixed says that several accounts may be in one browser. The
// caller closes the proxy.
func (c *chromium) engine(dir func() (string, error), soft string, named *engine.Proxies, shares func(worker string) string, mixed bool, log zerolog.Logger) (engine.Engine, *egress.Proxy, error) {
	program := c.Browser
	if program == "" {
		var err error
		if program, err = browser.Find(); err != nil {
			return nil, nil, usageError{err}
		}
	}
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	proxy, err := c.Outbound.start(log)
	if err != nil {
		return nil, nil, err
	}
	if c.NoSandbox {
		log.Warn().Msg("browsers run without their sandbox: every page can do what the browser's user can")
	}
	if c.Isolation == engine.IsolateNone {
		log.Warn().Msg("workers are never cleaned (--isolation none): a task of any account can find what tasks of all other accounts have left, with their cookies and logins. Only for trusted tasks of one operator")
	}
	renderers := c.RendererProcessLimit
	if renderers == 0 {
		renderers = -1
	}
	chromium := func(noSandbox bool) *engine.Chromium {
		e := engine.NewChromium(browser.Options{
			Path: program, MakeDir: dir, NoSandbox: noSandbox, Log: log,
			Renderers: renderers, ApartGPU: !c.InProcessGPU, ApartNetwork: !c.InProcessNetwork,
		}, proxy)
		e.NoBypass, e.Group, e.Mixed, e.Quota, e.Isolation, e.Proxies = !c.Challenge, shares, mixed, c.Outbound.EgressQuota<<20, c.Isolation, named
		return e
	}
	first := chromium(c.NoSandbox)
	if c.NoSandbox || soft == "" {
		return first, proxy, nil
	}
	return &sandboxFallback{sandboxed: first, unsandboxed: chromium(true), because: soft, log: log}, proxy, nil
}
