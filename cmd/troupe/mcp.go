package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"troupe/engine"
	"troupe/http/admin"
	"troupe/http/mcp"
	"troupe/persistence"
)

type mcpCommand struct {
	URL      string   `name:"url" env:"-" help:"Service to use, such as https://troupe.example.org. Default: one of its own, that ends with it." placeholder:"URL"`
	Token    string   `help:"Token for the service at --url. Better in TROUPE_TOKEN: other users of a machine can see arguments." placeholder:"TOKEN"`
	Sites    []string `env:"-" help:"Sites that pages may be from, such as shop.example.org or *.example.org. May be repeated. Default: any." placeholder:"SITE"`
	Allow    []string `env:"-" help:"What models may do beside looking, clicking and filling in: downloads, uploads. May be repeated. Default: neither." placeholder:"WHAT"`
	Data     string   `env:"-" help:"Data folder of its own service, with flows and secrets from one run to the next. Default: a folder that is removed at the end." placeholder:"DIR"`
	Workers  int      `env:"-" default:"2" help:"Workers of its own service, each with a browser. Default: 2." placeholder:"N"`
	Log      logFlags `embed:"" prefix:"log-"`
	Chromium chromium `embed:""`
}

// check finds what is wrong with the flags.
func (c *mcpCommand) check() (policy mcp.Policy, service *url.URL, err error) {
	if policy, err = mcp.ParsePolicy(c.Sites, c.Allow); err != nil {
		return policy, nil, usage("--sites and --allow: %w", err)
	}
	if c.URL == "" {
		if c.Workers < 1 || c.Workers > 64 {
			return policy, nil, usage("--workers is %d: want 1 to 64", c.Workers)
		}
		return policy, nil, nil
	}
	service, err = url.Parse(c.URL)
	switch {
	case err != nil || service.Host == "" || service.Scheme != "http" && service.Scheme != "https" || service.User != nil:
		return policy, nil, usage("--url %q is not an address such as https://troupe.example.org", c.URL)
	case c.Token == "":
		return policy, nil, usage("--url needs a token: give it in TROUPE_TOKEN")
	case c.Data != "":
		return policy, nil, usage("--data is of a service of its own: leave out --data or --url")
	}
	return policy, service, nil
}

// Run answers one client over standard input and output until it closes them. What it
// logs goes to standard error.
func (c *mcpCommand) Run(w *environment) (err error) {
	policy, service, err := c.check()
	if err != nil {
		return err
	}
	log, err := c.Log.open(w.stderr)
	if err != nil {
		return usageError{err}
	}
	stop, _, forget := signals(w.ctx)
	defer forget()
	remote := &mcp.Remote{URL: service, Token: c.Token}
	if service == nil {
		own, end, err := c.own(stop, log)
		defer func() { err = errors.Join(err, end()) }()
		if err != nil {
			return err
		}
		remote = own
	}
	s := mcp.New(mcp.Config{Service: remote, Journal: mcp.NewMemory(), Policy: policy, Version: ownVersion(), Log: log})
	return s.RunStdio(stop, io.NopCloser(w.stdin), unclosed{w.stdout})
}

// unclosed is an output that stays open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// own starts a service of the command's own, and makes a token for it. The service
// answers this machine only, at a port that nobody knows.
func (c *mcpCommand) own(ctx context.Context, log zerolog.Logger) (_ *mcp.Remote, end func() error, err error) {
	serve := &serveCommand{}
	if err := kong.ApplyDefaults(serve); err != nil {
		return nil, func() error { return nil }, fmt.Errorf("set the service up: %w", err)
	}
	serve.Listening.Listen, serve.Number, serve.Data, serve.Chromium = "127.0.0.1:0", &c.Workers, c.Data, c.Chromium
	s := &service{serveCommand: serve, log: log}
	var revoke func() error
	end = func() error {
		var err error
		if revoke != nil {
			err = revoke()
		}
		if s.edge != nil && s.node != nil {
			ended, cancel := context.WithCancel(context.Background())
			cancel() // nobody waits for what runs
			s.Grace = 0
			err = errors.Join(err, s.stop(ended))
		}
		err = errors.Join(err, s.close())
		if c.Data == "" && serve.Data != "" {
			err = errors.Join(err, os.RemoveAll(serve.Data))
		}
		return err
	}
	if err := errors.Join(serve.check(), serve.Chromium.executable()); err != nil {
		return nil, end, err
	}
	if serve.Data == "" {
		if serve.Data, err = os.MkdirTemp("", "troupe-mcp-"); err != nil {
			return nil, end, usage("make a data folder: %w", err)
		}
	}
	if s.data, err = dataFolder(serve.Data); err != nil {
		return nil, end, usageError{err}
	}
	ln, err := serve.Listening.open()
	if err != nil {
		return nil, end, err
	}
	s.ends = append(s.ends, func() error { _ = ln.Close(); return nil })
	if err := s.start(ctx, ln.Addr()); err != nil {
		return nil, end, err
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := s.edge.Serve(ln); err != nil {
			log.Error().Err(err).Msg("the service does not listen any more")
		}
	}()
	s.ends = append(s.ends, func() error {
		err := s.endEdge()
		<-served
		return err
	})
	if _, err := s.waitReady(ctx); err != nil {
		return nil, end, usage("no browser can be started: %w", err)
	}
	admins := s.admin()
	admins.By = persistence.Issuer{Via: persistence.ViaStart}
	made, err := admin.Run(context.WithoutCancel(ctx), admins, admin.CreateToken{Account: firstAccount, Plan: string(engine.Pro)})
	if err != nil {
		return nil, end, fmt.Errorf("make a token: %w", err)
	}
	revoke = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err := admin.Run(ctx, admins, admin.RevokeToken{ID: made.ID})
		return err
	}
	base, err := url.Parse(s.base(ln.Addr()))
	if err != nil {
		return nil, end, fmt.Errorf("find the service: %w", err)
	}
	return &mcp.Remote{URL: base, Token: made.Token}, end, nil
}
