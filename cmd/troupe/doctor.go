package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/cluster/member"
	"troupe/cmd/troupe/doctor"
	"troupe/engine"
	"troupe/http/admin"
	"troupe/persistence"
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
		Data: dir, Store: storeIn(dir), Key: keyIn(dir), Running: serviceRuns(dir), Workers: c.Workers, Try: c.tryFolder(dir),
		Listen: c.Listening.Listen, MaxConnections: c.Listening.MaxConnections, Certificate: c.Listening.certificate,
		Browser: c.Chromium.examined(c.withoutSandbox() != ""),
		Cluster: doctor.Cluster{Listen: c.Cluster.ClusterListen, Workers: c.Cluster.ClusterWorkers, Peers: c.Cluster.ClusterPeers},
		Storage: c.S3.examined(),
	}
}

// tryFolder starts in a folder what [service.start] starts in the data folder, as far as that
// writes to the disk, and ends it.
func (c *serveCommand) tryFolder(data string) func(ctx context.Context, dir string) error {
	return func(ctx context.Context, dir string) (err error) {
		if err := admin.CheckSocket(socketIn(data)); err != nil {
			return err
		}
		s := &service{serveCommand: c, log: zerolog.Nop()}
		defer func() { err = errors.Join(err, s.close()) }()
		if s.data, err = dataFolder(filepath.Join(dir, "d")); err != nil {
			return err
		}
		switch {
		case c.Cluster.worker(): // it keeps nothing
		case c.Cluster.on():
			err = s.tryCopy(ctx)
		default:
			err = s.tryStore(ctx)
		}
		if err != nil {
			return err
		}
		for _, folder := range []string{auditIn(s.data), uploadsIn(s.data), queuedUploadsIn(s.data)} {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return fmt.Errorf("make a folder for files: %w", err)
			}
		}
		if path := socketIn(s.data); admin.CheckSocket(path) == nil { // else only this one is too long
			return admin.TrySocket(path)
		}
		return nil
	}
}

// tryStore makes the store of a service that has no other nodes, and writes to it.
func (s *service) tryStore(ctx context.Context) (err error) {
	var closes func() error
	if s.disk, closes, err = openDisk(s.data, s.log); err != nil {
		return err
	}
	s.ends = append(s.ends, closes)
	if _, err := openKey(s.data, s.disk); err != nil {
		return err
	}
	if _, err = s.disk.Put(ctx, persistence.Write{Key: "doctor", Value: []byte("tried"), Durable: true}); err == nil {
		err = s.disk.Blocked()
	}
	if err != nil {
		return fmt.Errorf("write to the store: %w", err)
	}
	folder, err := persistence.OpenFolder(filesIn(s.data))
	if err != nil {
		return err
	}
	s.ends = append(s.ends, folder.Close)
	_, err = folder.Put(ctx, persistence.Blob{ContentType: "text/plain", Expires: time.Now().Add(time.Hour)}, strings.NewReader("tried"))
	return err
}

// tryCopy starts a node without others, with its part of what the nodes of a cluster keep.
func (s *service) tryCopy(ctx context.Context) error {
	m, err := member.Join(ctx, member.Config{Name: s.Cluster.Node, Dir: clusterIn(s.data), Log: s.log})
	if err == nil {
		s.ends = append(s.ends, m.Close)
	}
	return err
}

// certificate is how TLS is spoken; nil: it is not.
func (l *listening) certificate() (*tls.Config, error) {
	secure, err := l.secure(zerolog.Nop())
	if err != nil || secure == nil {
		return nil, err
	}
	return secure.Config(), nil
}

func (c chromium) examined(fallback bool) doctor.Browser {
	return doctor.Browser{
		Path: c.Browser, NoSandbox: c.NoSandbox, Fallback: fallback, Isolation: c.Isolation,
		Engine: func(path, dir string, noSandbox bool) (engine.Engine, func() error, error) {
			c := c
			c.Browser, c.NoSandbox = path, noSandbox
			e, proxy, err := c.engine(folderOf(dir), "", nil, nil, false, zerolog.Nop())
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
