package main

import (
	"context"
	"crypto/tls"
	"errors"

	"github.com/rs/zerolog"

	"troupe/cmd/troupe/doctor"
	"troupe/engine"
)

// doctorCommand takes the flags of serve, so that what is looked at is what
// would run.
type doctorCommand struct {
	Serve serveCommand `embed:""`
	JSON  bool         `help:"Print JSON, for scripts."`
}

// errUnwell: the report is printed and says why.
var errUnwell = errors.New("a check failed")

// Run looks at everything that the service needs here. The exit code is 0 if
// the service would work, 1 if something is a problem, and 2 if the flags are
// wrong.
func (c *doctorCommand) Run(w *environment) error {
	if err := c.Serve.check(); err != nil {
		return err
	}
	dir, err := findData(c.Serve.Data)
	if err != nil {
		return usageError{err}
	}
	all := doctor.Examine(w.ctx, c.Serve.examined(dir))
	if err := doctor.Report(w.stdout, all, c.JSON); err != nil {
		return err
	}
	if !doctor.Healthy(all) {
		return errUnwell
	}
	return nil
}

// examined is what the flags say, for the doctor.
func (c *serveCommand) examined(dir string) doctor.Service {
	return doctor.Service{
		Data: dir, Store: storeIn(dir), Key: keyIn(dir), Running: serviceRuns(dir), Workers: c.Workers,
		Listen: c.Listening.Listen, Local: c.Listening.local(), MaxConnections: c.Listening.MaxConnections, Certificate: c.Listening.certificate,
		Browser: c.Chromium.examined(),
		Cluster: doctor.Cluster{Listen: c.Cluster.ClusterListen, Workers: c.Cluster.ClusterWorkers, Peers: c.Cluster.ClusterPeers},
		Storage: c.S3.examined(),
	}
}

// certificate is how TLS is spoken; nil: it is not.
func (l *listening) certificate() (*tls.Config, error) {
	secure, err := l.secure(zerolog.Nop())
	if err != nil || secure == nil {
		return nil, err
	}
	return secure.Config(), nil
}

func (c chromium) examined() doctor.Browser {
	return doctor.Browser{
		Path: c.Browser, NoSandbox: c.NoSandbox, Isolation: c.Isolation,
		Engine: func(path, dir string, noSandbox bool) (engine.Engine, func() error, error) {
			c := c
			c.Browser, c.NoSandbox = path, noSandbox
			e, proxy, err := c.engine(dir, false, nil, nil, false, zerolog.Nop())
			if err != nil {
				return nil, nil, err
			}
			return e, proxy.Close, nil
		},
	}
}

func (s *storage) examined() *doctor.Storage {
	if !s.on() {
		return nil
	}
	return &doctor.Storage{Bucket: s.Bucket, Endpoint: s.Endpoint, Open: func(ctx context.Context) error {
		_, err := s.open(ctx)
		return err
	}}
}
