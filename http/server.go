package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/http/access"
	"troupe/http/admin"
	"troupe/http/answer"
	"troupe/http/gate"
	"troupe/http/live"
	"troupe/http/mcp"
	"troupe/http/socket"
	"troupe/persistence"
)

// Actors is what the edge needs of the actors. [actors.Node] implements it.
type Actors interface {
	Execute(ctx context.Context, m *api.Execute) (*api.Executed, error)
	// Start calls free when the task has ended, where it has started under its own
	// identifier.
	Start(ctx context.Context, m *api.Execute, free func()) (*api.Started, error)
	api.Doer
	Status() api.Status
}

// OtherNodes is what the edge needs of the other nodes.
type OtherNodes interface {
	// Pause lets a node take no more tasks, or take them again, and says how it is
	// then; nil: it only says that. No name is this node.
	Pause(ctx context.Context, node string, on *bool) (api.Status, error)
	// LinkViewers returns how many clients of other nodes use each link of an account.
	LinkViewers(ctx context.Context, account string) map[string]int
	// SessionTicket returns a ticket for a session that another node has made, and uses it up if it
	// is to; nil: there is none.
	SessionTicket(ctx context.Context, sum []byte, session string, use bool) []byte
	// EndClients ends the client of a session of an account that is connected to another node.
	EndClients(ctx context.Context, account, session, why string) bool
	// StopClients ends the clients of other nodes that use sessions of this one, which stops.
	StopClients()
}

// Config is what a [Server] is made from. Zero values mean the defaults that
// the comments name.
type Config struct {
	Actors Actors
	Live   live.Source // nil: there are no pictures and feeds
	Auth   access.Authenticator
	// Unreachable says why a host of a receiver can never be reached; nil: all may be.
	Unreachable func(host string) error
	Files       persistence.Files // nil: nothing is served under /files/
	FileTTL     time.Duration     // how long files of sessions are kept at most; 24 h
	FilesURL    string            // below which clients reach files; empty: /files
	// SessionFiles are those of sessions; nil: sessions have none.
	SessionFiles *persistence.SessionFiles
	Counts       Counts                        // of daily tasks; nil: answers do not say what is left
	Limits       map[engine.Plan]engine.Limits // nil: engine.DefaultLimits
	// Isolation is the operator's, by which tasks are checked; empty: engine.IsolateTask.
	Isolation engine.Isolation
	Ledger    *persistence.Ledger // of what accounts keep; nil: it is not bounded
	Uploads   string              // folder for the files of requests; emptied at the start
	Address   string              // of the service in the examples of its documents; empty: as they are written
	TLS       *tls.Config         // nil: plain HTTP
	Log       zerolog.Logger
	// Observe, when set, is called with each request for a task. It returns the
	// trace context of the task, and a function that is called with the result.
	Observe func(TaskRequest) (trace string, answered func(TaskResult))
	// Refused, when set, is called with the code of each refusal.
	Refused func(engine.Code)
	// Tokens, when set, knows the tokens of accounts, for their owners.
	Tokens Tokens
	// OutboundProxies are those that tasks may name; nil: none.
	OutboundProxies *engine.Proxies
	// Profiles, when set, keeps what tasks of accounts leave of sites.
	Profiles *persistence.Profiles
	// Secrets gives the secrets of an account, which no answer has; nil: there are none.
	Secrets engine.SecretsOf
	// Flows, when set, keeps the stored flows of accounts.
	Flows *persistence.Flows
	// Sessions keeps what models have done in sessions, for all nodes; nil: it ends
	// with this process.
	Sessions persistence.Store
	// Runs is the history of runs; nil: none is kept.
	Runs *runs.History
	// Version is the program's, for clients that want to know it.
	Version string
	// Admin, when set, runs the commands that come over HTTP with a
	// token of an operator's account. New puts the server into it.
	Admin *admin.Admin

	// Hosts are the names under which the service answers, LocalHosts for those
	// of the machine itself; nil: any.
	Hosts []string
	// Origins are those of web pages that may use the service from a browser,
	// beside its own; nil: none.
	Origins []string
	// OtherNodes are the other nodes of the cluster; nil without a cluster.
	OtherNodes OtherNodes
	// Tickets keeps tickets and links for all nodes, each of which follows it;
	// nil: those of this process end with it.
	Tickets persistence.Store
	// Cluster returns what this node knows of all nodes; nil without a cluster.
	Cluster func(context.Context) answer.Cluster
	// Unready says why no requests should come here although a worker is free;
	// empty: nothing does. It may be nil.
	Unready func() string
	// Degraded reports whether what has to be written down cannot be, although tasks run:
	// a notice says why. It may be nil.
	Degraded func() bool
	// Notices are sentences for the operator that /readyz says, whether or not
	// the service is ready. It may be nil.
	Notices func() []string

	// Proxies are believed about who sent a request (X-Forwarded-For, Forwarded), and may
	// have any number of connections.
	Proxies []netip.Prefix

	// Memory bounds what requests and answers have in memory, see [MemoryLimits].
	Memory gate.Limits

	MaxConns       int           // open connections; 16384
	MaxConnsPerIP  int           // open connections from one address, or one /64 of IPv6; 0: no limit
	MaxHeader      int           // bytes of request line and headers; 16 KiB
	RequestTimeout time.Duration // for headers and a small body to arrive; 30 s
	IdleTimeout    time.Duration // between requests of one connection; 2 min
	WriteTimeout   time.Duration // for a client to take an answer, or one event; 1 min
	Heartbeat      time.Duration // between signs of life where events are followed; 15 s
}

// Server answers clients.
type Server struct {
	cfg         Config
	http        *fasthttp.Server
	conns       *connections
	disconnects *disconnectDetector
	control     *access.Control
	commands    *admin.Remote
	authorizer  *live.Authorizer
	streams     *live.Streams
	sockets     *socket.Sockets
	router      *router
	models      *mcp.Server

	profileTurns profileTurns

	waits  *access.AccountLimiter
	gate   *gate.Gate
	bodies *bodyReader

	base     context.Context // of every request; ends when the grace is over
	abandon  context.CancelCauseFunc
	faults   answer.Faults
	limits   atomic.Pointer[map[engine.Plan]engine.Limits]
	draining atomic.Bool // for good: the service is about to stop
	paused   atomic.Bool // until the operator says otherwise
	down     sync.Once
	wg       sync.WaitGroup // what goes on after its request was answered
}

// New makes a server. It serves nothing until Serve.
func New(cfg Config) (*Server, error) {
	if cfg.Limits == nil {
		cfg.Limits = engine.DefaultLimits()
	}
	def(&cfg.MaxConns, 16384)
	def(&cfg.MaxHeader, 16<<10)
	def(&cfg.RequestTimeout, 30*time.Second)
	def(&cfg.IdleTimeout, 2*time.Minute)
	def(&cfg.WriteTimeout, time.Minute)
	def(&cfg.Heartbeat, 15*time.Second)
	def(&cfg.FileTTL, 24*time.Hour)
	def(&cfg.FilesURL, "/files")
	def(&cfg.Memory, MemoryLimits(MaxMemory))
	if err := emptyFolder(cfg.Uploads); err != nil {
		return nil, fmt.Errorf("prepare the folder for uploads: %w", err)
	}
	s := &Server{cfg: cfg, disconnects: newDisconnectDetector(disconnectInterval)}
	s.waits = access.NewAccountLimiter(maxWaits, engine.CodeTooManyWaiting, fmt.Sprintf(
		"The account already follows %d tasks, by polls that wait and streams of events: end some, or poll without wait", maxWaits))
	s.limits.Store(&cfg.Limits)
	s.base, s.abandon = context.WithCancelCause(context.Background())
	s.faults = answer.Faults{Log: cfg.Log, Base: s.base, Stopping: s.draining.Load}
	s.gate = gate.New(cfg.Memory)
	s.bodies = &bodyReader{
		gate: s.gate, uploads: cfg.Uploads, ledger: cfg.Ledger, within: s.within,
		timeout: cfg.RequestTimeout, disconnects: s.disconnects, base: s.base, faults: &s.faults,
	}
	s.control = access.NewControl(cfg.Auth, cfg.Proxies, &s.faults)
	s.conns = newConnections(cfg.MaxConns, cfg.MaxConnsPerIP, s.control.Trusted)
	if cfg.Admin != nil {
		cfg.Admin.Service, cfg.Admin.Log = s.AdminService(), cfg.Log
	}
	s.commands = admin.NewRemote(cfg.Admin, &s.faults)
	streams := &live.Config{
		Actors: cfg.Actors, Source: cfg.Live, Auth: cfg.Auth, Control: s.control, Faults: &s.faults, Admin: s.commands, Waits: s.waits,
		Tickets: cfg.Tickets, While: s.disconnects.track, Gate: s.gate, Answer: min(answerWeight, s.mostLoaded()), TooMuch: tooMuch, WriteTimeout: cfg.WriteTimeout, Heartbeat: cfg.Heartbeat,
	}
	if cfg.OtherNodes != nil {
		streams.Others = cfg.OtherNodes.LinkViewers
	}
	s.authorizer = live.NewAuthorizer(streams)
	s.streams = live.NewStreams(streams, s.authorizer)
	node, _ := cfg.Live.(socket.Node)
	s.sockets = socket.New(socket.Config{
		Others: cfg.OtherNodes,
		Node:   node, Auth: cfg.Auth, Control: s.control, Faults: &s.faults, Sessions: s.sessions, NewID: actors.NewTaskID,
		While: s.disconnects.track, Patience: cfg.WriteTimeout, Heartbeat: cfg.Heartbeat,
	})
	s.router = newRouter(s.routes())
	s.models = s.newModels()
	s.http = &fasthttp.Server{
		Handler:      s.handle,
		ErrorHandler: s.handleBroken,
		ConnState:    s.conns.changed,
		Logger:       &s.cfg.Log,
		// Connections over the limit are turned away by our own listener: it
		// does so without a TLS handshake inside the accept loop. fasthttp counts one a little
		// longer, until its goroutine is free: that must take nobody's place.
		Concurrency:           cfg.MaxConns + 256,
		ReadBufferSize:        cfg.MaxHeader,
		ReadTimeout:           cfg.RequestTimeout,
		IdleTimeout:           cfg.IdleTimeout,
		MaxIdleWorkerDuration: 2 * time.Second,  // goroutines without a connection; what a closed server leaves runs as long as that
		WriteTimeout:          cfg.WriteTimeout, // counts from the end of the handler: a long task is not cut
		MaxRequestBodySize:    maxRequest,
		// Bodies are read by the handlers, after the token was checked.
		HeaderReceived: s.headersRead, ExpectHandler: s.expects,
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true, // headers hold tokens
		NoDefaultServerHeader:        true,
		CloseOnShutdown:              true,
	}
	if cfg.Tickets != nil {
		s.wg.Go(func() { s.authorizer.Follow(s.base) })
	}
	if cfg.Tokens != nil {
		s.wg.Go(func() { cfg.Tokens.FollowTokens(s.base, s.streams.TokenEvent) })
	}
	return s, nil
}

// Serve answers what comes in through ln until Shutdown. It may be called for
// several listeners.
func (s *Server) Serve(ln net.Listener) error {
	ln = s.conns.listen(ln)
	if s.cfg.TLS != nil {
		ln = &tlsListener{ln, s}
	}
	if err := s.http.Serve(ln); err != nil {
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	}
	return nil
}

// SetLimits changes what each plan allows, for requests that come from now on.
func (s *Server) SetLimits(l map[engine.Plan]engine.Limits) {
	l = maps.Clone(l)
	s.limits.Store(&l)
}

// Drain makes the service not ready: readyz says so, and new tasks are refused.
// Connections stay open, so that requests get this answer.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.holdQueue(true)
	s.sockets.Stop() // they would last as long as the grace does
}

// Pause does the same for as long as the operator wants.
func (s *Server) Pause(on bool) {
	s.paused.Store(on)
	s.holdQueue(on || s.draining.Load())
}

// Drains reports whether new tasks are refused.
func (s *Server) Drains() bool { return s.draining.Load() || s.paused.Load() }

// Status is the node in numbers, as the edge lets clients to it.
func (s *Server) Status() api.Status {
	n := s.cfg.Actors.Status()
	n.Draining = n.Draining || s.Drains()
	return n
}

// Shutdown drains, waits until every running request is answered, and closes
// the listeners and connections. When ctx ends first, it interrupts requests that still
// wait, and gives them a moment to answer.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	var err error
	s.down.Do(func() { err = s.shutdown(ctx) })
	return err
}

func (s *Server) shutdown(ctx context.Context) error {
	s.streams.Stop()
	late := s.conns.quiet(ctx)
	s.streams.Wait()
	if late != nil {
		s.abandon(engine.ErrDraining)
		moment, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateGrace)
		defer cancel()
		_ = s.conns.quiet(moment)
	}
	s.conns.closeAll()
	s.abandon(engine.ErrDraining)
	s.wg.Wait()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateGrace)
	defer cancel()
	if err := s.http.ShutdownWithContext(end); err != nil {
		return fmt.Errorf("close the connections: %w", err)
	}
	if late != nil {
		return fmt.Errorf("wait for running requests: %w", late)
	}
	return nil
}

// lateGrace is how long requests may still take whose time was over.
const lateGrace = 2 * time.Second

// emptyFolder makes a folder that only we can read and removes what a killed
// process left in it.
func emptyFolder(dir string) error {
	if dir == "" {
		return errors.New("no folder was given")
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o700)
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Streams are what clients look at.
func (s *Server) Streams() *live.Streams { return s.streams }

// SessionTicket returns a ticket for a session that this process has made, by its hash.
func (s *Server) SessionTicket(sum []byte, session string, use bool) []byte {
	return s.sockets.Ticket(sum, session, use)
}

// EndClients ends the client that is attached to a session over a socket of this process, and its
// tickets where the session has ended.
func (s *Server) EndClients(account, session, why string) bool {
	return s.sockets.End(account, session, why)
}

// LinkViewers returns how many clients of this process use each link of an account.
func (s *Server) LinkViewers(account string) map[string]int { return s.authorizer.LinkViewers(account) }
