package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/cluster"
	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/engine"
	"troupe/engine/browser"
	"troupe/engine/egress"
	"troupe/http"
	"troupe/http/admin"
	"troupe/http/telemetry"
	"troupe/persistence"
	"troupe/persistence/backup"
	"troupe/persistence/clock"
)

type serveCommand struct {
	Listening     listening     `embed:""`
	Data          string        `help:"Data folder. Default: troupe in $XDG_DATA_HOME or ~/.local/share; /var/lib/troupe for root." placeholder:"DIR"`
	Config        string        `help:"Configuration file (JSON) with the plans and the proxies that tasks can name." placeholder:"FILE"`
	Number        *int          `name:"workers" help:"Number of workers, each with a browser; 0 for a cluster node without browsers. Default: one for each processor, at least 2." placeholder:"N"`
	FilesURL      string        `name:"files-url" help:"URL at which clients reach /files. Default: from --listen." placeholder:"URL"`
	FileTTL       time.Duration `name:"file-ttl" default:"24h" help:"How long pictures and downloads are kept. Default: 24h."`
	Storage       int64         `name:"max-storage" help:"Storage for all accounts together, in MiB: pictures, downloads, uploads and large results. Default: the free disk space, minus a reserve. One account can use at most half." placeholder:"MIB"`
	Grace         time.Duration `default:"30s" help:"How long running tasks may go on after the service was told to stop."`
	Resets        resets        `embed:"" prefix:"reset-"`
	Renewal       renewal       `embed:"" prefix:"renew-"`
	History       history       `embed:""`
	Log           logFlags      `embed:"" prefix:"log-"`
	Chromium      chromium      `embed:""`
	Sharing       sharing       `embed:""`
	Observability observability `embed:""`
	Cluster       clustering    `embed:""`
	S3            storage       `embed:"" prefix:"s3-"`
	Backups       backups       `embed:"" prefix:"backup-"`
	Restore       restoring     `embed:"" prefix:"restore-"`
	AcceptCopy    bool          `help:"Start with a data folder that was copied while a service ran with it. The last changes, and files that records name, can be missing. For one start only." env:"-"`

	Workers int `kong:"-"` // what Number says, or its default
	limits  map[engine.Plan]engine.Limits
	proxies map[string]engine.NamedProxy
}

// check finds what is wrong with the flags before anything is started.
func (c *serveCommand) check() error {
	if err := errors.Join(c.Listening.check(), c.Sharing.check(), c.Renewal.check(), c.History.check(), c.Observability.check(), c.Cluster.check(), c.S3.check(), c.Chromium.check(), c.Backups.check(c.S3), c.Restore.check(c)); err != nil {
		return err
	}
	if err := c.Cluster.checkRole(c.Number); err != nil {
		return err
	}
	c.Workers = max(2, runtime.NumCPU())
	if c.Cluster.Role == string(member.Store) {
		c.Workers = 0
	}
	if c.Number != nil && (*c.Number != 0 || c.Cluster.on()) {
		c.Workers = *c.Number
	}
	switch {
	case c.Workers < 0 || c.Workers > 512:
		return usage("--workers is %d: want 1 to 512", c.Workers)
	case c.FileTTL < time.Minute:
		return usage("--file-ttl is %v: want a minute or more", c.FileTTL)
	case c.Storage < 0 || c.Storage > 1<<40:
		return usage("--max-storage is %d: want MiB, 1 or more", c.Storage)
	case c.Grace < 0:
		return usage("--grace is %v: want zero or more", c.Grace)
	}
	if c.FilesURL != "" {
		if u, err := url.Parse(c.FilesURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usage("--files-url %q is not an address such as https://files.example.org/files", c.FilesURL)
		}
	}
	file, err := readConfig(c.Config)
	if err == nil {
		c.proxies, err = namedProxies(file.proxies, false)
	}
	if err != nil {
		return usage("read --config %s: %w", c.Config, err)
	}
	c.limits = file.limits
	return nil
}

// service is everything that runs.
type service struct {
	*serveCommand
	data  string
	room  memory                                        // that the process has for what
	plans atomic.Pointer[map[engine.Plan]engine.Limits] // as they are now
	clock clock.Clock                                   // has all waits for stored times
	log   zerolog.Logger
	tls   *tls.Config
	ends  []func() error // in the order of their starts

	disk          *persistence.Badger // of this node alone; nil in a cluster
	store         persistence.Store
	cached        persistence.Store // what this node has at hand of it; nil: all of it
	usage         *persistence.Usage
	accounts      *persistence.Accounts
	tokenAccounts *persistence.Accounts // for the tokens of requests
	secrets       *persistence.Secrets
	flows         *persistence.Flows
	files         *persistence.Accounted
	ledger        *persistence.Ledger
	proxy         *egress.Proxy
	namedProxies  engine.Proxies
	launches      *launchRecord
	member        *member.Member  // nil: there are no other nodes
	shared        *store.Store    // nil as well then
	router        *cluster.Router // nil as well then
	nodeSecrets   *nodeSecrets    // nil as well then
	node          *actors.Node
	audit         *persistence.Audit
	backups       *backup.Keeper    // nil: this node keeps no records
	sealing       *persistence.Seal // nil: this node keeps no records
	backupsEnd    context.Context   // ends those that are being made
	backing       sync.WaitGroup    // backups that operators have asked for
	stopped       time.Time         // when the stop began
	interrupted   int               // tasks that the stop has cut off
	certificate   *http.Certificate // nil: no TLS
	edge          *http.Server
	metrics       *telemetry.Metrics
	observe       func(http.TaskRequest) (trace string, answered func(http.TaskResult)) // nil: nobody wants traces
}

// Run starts the service and ends it at a signal.
func (c *serveCommand) Run(w *environment) (err error) {
	if err := errors.Join(c.check(), c.Chromium.executable()); err != nil {
		return err
	}
	s := &service{serveCommand: c}
	if s.log, err = c.Log.open(w.stderr); err != nil {
		return usageError{err}
	}
	if s.certificate, err = c.Listening.secure(s.log); err != nil {
		return err
	}
	if s.certificate != nil {
		s.tls = s.certificate.Config()
	}
	if s.data, err = dataFolder(c.Data); err != nil {
		return usageError{err}
	}
	s.room = c.shareMemory()
	var closed []os.Signal
	if terminal(w.stderr) { // then it says that the terminal was closed, not that there is news
		closed = append(closed, syscall.SIGHUP)
	}
	stop, forced, forget := signals(w.ctx, closed...)
	defer forget()
	hup, deaf := hangups(closed == nil)
	defer deaf()
	defer func() { err = errors.Join(err, s.close()) }()

	ln, err := c.Listening.open()
	if err != nil {
		return err
	}
	if text := c.Listening.readable(); text != "" {
		s.log.Warn().Str("listen", c.Listening.Listen).Msg(text)
	}
	people := c.Log.console(w.stderr)
	if !people {
		s.logStart()
	}
	defer func() { s.logStop(stop, err) }()
	s.ends = append(s.ends, func() error { _ = ln.Close(); return nil }) // closed by the edge, if it got to serve
	if err := s.start(stop, ln.Addr()); err != nil {
		return err
	}
	failed, served := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(served)
		failed <- s.edge.Serve(ln)
	}()
	s.ends = append(s.ends, func() error { // first: what it serves is still there
		err := s.endEdge()
		<-served
		return err
	})
	socket, err := admin.OpenSocket(socketIn(s.data), s.admin(), s.log)
	if err != nil {
		return err
	}
	s.ends = append(s.ends, socket.Close)

	defer s.reloadAt(hup)()
	if err := s.welcome(stop, w.stdout, s.base(ln.Addr())); err != nil {
		return err
	}
	if people { // what they need comes first, and settings only where they have asked for all
		s.logStart()
	}
	tellSystemd(s.log, daemon.SdNotifyReady)
	select {
	case err = <-failed:
	case <-stop.Done():
	}
	tellSystemd(s.log, daemon.SdNotifyStopping)
	s.stopped = time.Now()
	return errors.Join(err, s.stop(forced))
}

// admin is what operator commands run on.
func (s *service) admin() *admin.Admin {
	o := &admin.Admin{Accounts: s.accounts, Secrets: s.secrets, Flows: s.flows, Actors: s.adminActors(), Import: s.importer(), Audit: s.audit}
	if s.backups != nil {
		o.Backups = s
	}
	if s.member != nil {
		o.RemoveNode, o.NodeSecrets = s.member.Remove, s.nodeSecrets
	}
	if s.edge != nil {
		o.Service, o.Log = s.edge.AdminService(), s.log
	}
	return o
}

// start opens the store and starts browsers, actors and edge.
func (s *service) start(ctx context.Context, addr net.Addr) (err error) {
	if err := s.openStore(ctx); err != nil {
		return err
	}
	if err := s.restoreFirst(ctx); err != nil {
		return err
	}
	s.audit = persistence.NewAudit(auditIn(s.data))
	s.ends = append(s.ends, s.audit.Close, s.sweep())
	s.plans.Store(&s.limits)
	s.usage = s.counts()
	s.ends = append(s.ends, func() error { s.usage.Close(); return nil })
	rest, err := offlineAdmin(s.accounts, s.store, s.files, s.log)
	if err != nil {
		return err
	}
	if err := rest.FinishRemovals(context.Background()); err != nil { // the others are in no danger
		s.log.Error().Err(err).Msg("some data of a deleted account could not be removed; the next start tries again")
	}

	if reaped, err := browser.ReapOrphans(); err != nil {
		s.log.Warn().Err(err).Msg("what browsers leave behind stays until the first process of the system or the container takes care of it")
	} else {
		s.ends = append(s.ends, func() error { reaped(); return nil })
	}
	browsers, err := browserFolder(s.data)
	if err != nil {
		return err
	}
	// It stays where something is left in it: the next start will want to know.
	s.ends = append(s.ends, func() error { _ = os.Remove(browsersIn(s.data)); return nil })
	if n, err := browser.EndLeftovers(browsers); err != nil || n > 0 {
		s.log.Warn().Err(err).Int("ended", n).Msg("browsers that a killed service left behind were ended")
	}
	s.namedProxies.Set(s.serveCommand.proxies)
	workers, shares := s.Sharing.workers(s.Cluster.Node, s.Workers)
	eng, proxy, err := s.Chromium.engine(func() (string, error) { return browserFolder(s.data) }, s.withoutSandbox(), &s.namedProxies, shares, s.Sharing.ShareBrowsersBetweenAccounts, s.log)
	if err != nil {
		return err
	}
	s.proxy = proxy
	s.ends = append(s.ends, proxy.Close)
	s.launches = &launchRecord{Engine: eng}
	if eng, err = s.watched(s.launches); err != nil {
		return err
	}

	base := s.FilesURL
	if base == "" {
		base = s.base(addr) + "/files"
	}
	seal, err := s.seal()
	if err != nil {
		return err
	}
	s.keepBackups(seal)
	s.watchSealed(seal)
	s.secrets, s.flows = persistence.NewSecrets(s.store, seal), persistence.NewFlows(s.store)
	if s.cached != nil {
		s.secrets.ReadFrom(s.cached)
	}
	if s.member != nil {
		s.nodeSecrets = &nodeSecrets{s: s, seal: seal}
	}
	profiles := persistence.NewProfiles(s.store, seal)
	var peers actors.Peers
	if s.router != nil {
		peers = s.router
	}
	s.node, err = actors.Start(actors.Config{
		Clock: &s.clock,
		Peers: peers, WorkerNode: s.Cluster.worker(), LeadsStore: s.leadsStore(),
		Engine: eng, Isolation: s.Chromium.Isolation, Store: s.store, Usage: s.usage, Files: s.files, Seal: seal, Limits: s.limits, SaveFile: http.Keep(s.files, base, s.FileTTL, s.allowance, s.log),
		Node: s.Cluster.Node, OnChange: s.changes(), QueuedUploads: queuedUploadsIn(s.data),
		Workers: workers, Secrets: http.SecretsFor(s.secrets), Profiles: profiles, Log: s.log,
		Account: s.accountNow, Notices: s.sending(base), Session: actors.SessionConfig{Lease: s.Cluster.lease()},
		History: s.History.bounds(),
		Browser: actors.BrowserConfig{RenewTasks: s.Renewal.Tasks, RenewAge: s.Renewal.Age, RenewMemory: s.Renewal.Memory << 20},
	})
	if err != nil {
		return err
	}
	s.ends = append(s.ends, func() error { s.node.Stop(); return nil })

	s.edge, err = http.New(http.Config{
		Actors: s.actors(), Live: s.live(), OtherNodes: s.otherNodes(), Tickets: s.tickets(), Auth: s.tokenAccounts, Counts: s.usage, Limits: s.limits, Isolation: s.Chromium.Isolation, Files: s.files, FileTTL: s.FileTTL, FilesURL: base, SessionFiles: persistence.NewSessionFiles(s.store, s.files), Ledger: s.ledger, Uploads: uploadsIn(s.data), Address: s.base(addr), TLS: s.tls, Log: s.log,
		Unreachable: s.proxy.Literal, Hosts: s.Listening.hosts(s.FilesURL), Origins: s.Listening.AllowOrigin,
		Cluster: s.clusterStatus(), Proxies: s.Listening.proxies, Memory: http.MemoryLimits(s.room.requests), MaxConns: s.Listening.MaxConnections, MaxConnsPerIP: s.Listening.PerAddress, Notices: s.notices, Unready: s.unready, Degraded: s.degraded,
		Observe: s.observe, Refused: s.metrics.Refused, Admin: s.admin(), Tokens: s.tokenAccounts, Flows: s.flows, Profiles: profiles, OutboundProxies: &s.namedProxies, Secrets: http.SecretsFor(s.secrets), Sessions: s.store, Version: ownVersion(),
		Runs: s.node.Runs(),
	})
	if err != nil {
		return err
	}
	s.ends = append(s.ends, s.endEdge) // where it does not get to serve
	if err := s.announce(); err != nil {
		return err
	}
	s.ends = append(s.ends, s.warnOfLimits(time.Minute), s.watchUsedUp(5*time.Second))
	return s.showMetrics()
}

// stop ends the service: first nothing new, then what runs, then the rest.
func (s *service) stop(forced context.Context) error {
	s.log.Info().Dur("grace", s.Grace).Msg("stopping; a second signal stops at once")
	began := time.Now()
	s.serveSessions(forced)
	s.edge.Drain()
	d, err := s.node.Drain(forced, s.Grace-time.Since(began))
	if err == nil {
		s.interrupted = d.Interrupted
	}
	if err == nil && d.Interrupted > 0 {
		s.log.Warn().Int("tasks", d.Interrupted).Msg("tasks were interrupted")
	}
	s.leave(forced, began)
	s.node.Stop()
	return s.endEdge()
}

// endEdge ends what the edge still has. It may be called again.
func (s *service) endEdge() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.edge.Shutdown(ctx)
}

// endWithin is how long one part may take to end. Badger, for one, tries for
// ever to write what it holds to a disk that takes nothing.
const endWithin = 15 * time.Second

// close ends whatever was started, the last first.
func (s *service) close() (err error) {
	for i := len(s.ends) - 1; i >= 0; i-- {
		ended := make(chan error, 1)
		go func() { ended <- s.ends[i]() }()
		select {
		case e := <-ended:
			err = errors.Join(err, e)
		case <-time.After(endWithin):
			err = errors.Join(err, fmt.Errorf("a part of the service did not end within %v", endWithin))
		}
	}
	return err
}
