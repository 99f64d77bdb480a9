package member

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"troupe/cluster/damage"
	"troupe/persistence"
)

// Bounds of what nodes say to each other.
const (
	// MaxMessage is the largest message between nodes. Larger data goes in parts, or as
	// files.
	MaxMessage = 16 << 20

	startTimeout = 20 * time.Second
	// A connection that does not answer two of these in a row is closed, so a
	// node that is frozen or cut off is known to be within a second and a half.
	routePing   = 500 * time.Millisecond
	routeMisses = 2
	// The longest key of a record, each byte of it escaped, and what stands
	// around it.
	longestSubject = 16 << 10
	// What the engine may take; of the disk, that is the bound.
	maxMemory = 64 << 20
	maxStore  = 1 << 40
)

// Member is this node's place in the cluster.
type Member struct {
	cfg      Config
	identity *identity // nil: there are no other nodes
	server   atomic.Pointer[server.Server]
	restarts sync.Mutex // one at a time
	conn     *nats.Conn
	close    sync.Once

	password string // of who may change the cluster itself

	// Of a worker node:
	minority atomic.Bool  // the node that it is connected to sees no majority
	members  atomic.Int64 // as that one says
	moved    atomic.Int64 // when it has last taken another one
	said     atomic.Int64 // when it has last said that it reaches none

	whole      atomic.Bool
	diskFull   atomic.Bool // the disk is taken to be full, whatever it says
	waits      atomic.Bool // the copy is opened once the others are seen to have everything
	stop       context.CancelFunc
	background sync.WaitGroup
}

// Join starts this node's engine and returns when it listens. Whether the
// others are there is another question: see [Member.Ready]. The very first
// start of a cluster needs all nodes; later ones a majority.
func Join(ctx context.Context, cfg Config) (*Member, error) {
	cfg.Peers = slices.Clone(cfg.Peers)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Role == Worker {
		return attach(cfg)
	}
	var givenUp []string
	var err error
	if !cfg.Damaged {
		if givenUp, err = damage.Inspect(cfg.Dir); err != nil {
			return nil, err
		}
		if givenUp != nil && len(cfg.Peers) < 3 { // no majority without this node
			return nil, &persistence.Damage{Dir: cfg.Dir, Found: givenUp}
		}
	}
	if err = errors.Join(damage.Clear(cfg.Dir, givenUp), damage.ClearFiles(cfg.Dir)); err != nil {
		return nil, fmt.Errorf("prepare the node's copy: %w", err)
	}
	m := &Member{cfg: cfg, stop: func() {}}
	m.password = newPassword()
	if givenUp != nil {
		cfg.Log.Warn().Strs("logs", givenUp).Msg("the engine has given up a part of this node's copy: the node fetches it when the others have it")
		m.waits.Store(true)
	}
	if len(cfg.Peers) > 0 {
		if m.identity, err = newIdentity(&cfg); err != nil {
			return nil, err
		}
	}
	if err = m.run(ctx); err != nil {
		m.Close()
		return nil, err
	}
	// In the process itself: it ends only where this process falls behind with
	// what it is sent, and comes back then.
	m.conn, err = nats.Connect("", nats.InProcessServer(m), nats.Name(cfg.Name),
		nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("connect to the engine between nodes: %w", err)
	}
	var running context.Context
	running, m.stop = context.WithCancel(context.Background())
	m.background.Go(func() { m.whole.Store(m.Ready(running) == nil) })
	m.background.Go(func() { m.mark(running) })
	m.background.Go(func() { m.revive(running) })
	return m, nil
}

// run starts an engine and waits until it listens. Where the disk has no room to open the
// node's copy, or the others must have it before, the engine runs without it: the node takes
// part, and revive opens the copy later.
func (m *Member) run(ctx context.Context) error {
	if len(m.cfg.Peers) > 0 && (m.waits.Load() || !m.openable()) {
		return m.runEngine(ctx, false)
	}
	return m.runEngine(ctx, true)
}

func (m *Member) runEngine(ctx context.Context, keeps bool) error {
	cfg := &m.cfg
	o, err := m.options()
	if err != nil {
		return err
	}
	o.JetStream = keeps
	m.addManager(o)
	s, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("prepare the engine between nodes: %w", err)
	}
	s.SetLoggerV2(newEngineLog(cfg.Log), cfg.Log.GetLevel() <= 0, false, false)
	s.Start()
	if keeps && !s.JetStreamEnabled() { // it has given up its start, and listens nowhere
		s.Shutdown()
		s.WaitForShutdown()
		return errors.New("open the node's copy: the log says why")
	}
	m.server.Store(s)
	if len(cfg.Peers) > 0 && o.DontListen {
		// The engine begins with its routes when it has a port for clients,
		// which it is to have none of. This is the signal that it waits for.
		ready := make(chan struct{})
		close(ready)
		s.StartRouting(ready)
	}
	if !s.ReadyForConnections(min(startTimeout, left(ctx))) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("listen for other nodes on %s: the engine is not ready; is the address another's?", cfg.Listen)
	}
	return nil
}

// Engine is the one that runs now.
func (m *Member) Engine() *server.Server { return m.server.Load() }

// InProcessConn connects to the engine that runs now; it is what [Member.Conn] uses.
func (m *Member) InProcessConn() (net.Conn, error) { return m.Engine().InProcessConn() }

// options are those of the engine.
func (m *Member) options() (*server.Options, error) {
	c := &m.cfg
	o := &server.Options{
		ServerName:             c.Name,
		DontListen:             true, // clients are in this process
		NoSigs:                 true,
		JetStream:              true,
		StoreDir:               c.Dir,
		JetStreamMaxMemory:     maxMemory,
		JetStreamMaxStore:      maxStore,
		SyncAlways:             !c.Unsynced,
		DisableJetStreamBanner: true,
		MaxPayload:             MaxMessage,
		MaxPending:             8 * MaxMessage,
		MaxControlLine:         longestSubject,
	}
	if len(c.Peers) == 0 {
		return o, nil
	}
	password, err := m.identity.now.Load().secrets.password()
	if err != nil {
		return nil, err
	}
	host, port, _ := splitAddress(c.Listen)
	o.Cluster = server.ClusterOpts{
		Name: "troupe", Host: host, Port: port,
		Username: "node", Password: password, AuthTimeout: 5,
		TLSConfig: m.identity.config(), TLSTimeout: 5,
		PingInterval: routePing, MaxPingsOut: routeMisses,
		// One connection to each node, and the engine's own for what it keeps in
		// common: all messages are of one account, which uses one only, and each of
		// the others would be pinged for nothing.
		PoolSize: 1,
	}
	o.CustomRouterAuthentication = m.identity
	if c.Workers != "" {
		// The same certificates as between the others, and no word before they were
		// shown. The handshake is the whole check.
		o.DontListen = false
		o.Host, o.Port, _ = splitAddress(c.Workers)
		o.TLSConfig, o.TLSHandshakeFirst, o.TLSTimeout = m.identity.config(), true, 5
		o.Cluster.NoAdvertise = true // worker nodes know the addresses
	}
	for _, peer := range c.Peers {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: peer, User: url.UserPassword("node", password)})
	}
	return o, nil
}

// left is how much time a context leaves.
func left(ctx context.Context) time.Duration {
	end, bounded := ctx.Deadline()
	if !bounded {
		return time.Hour
	}
	return max(time.Until(end), 0)
}

// Name is the node's own.
func (m *Member) Name() string { return m.cfg.Name }

// Conn is the connection that messages between nodes go by. It ends with the
// member.
func (m *Member) Conn() *nats.Conn { return m.conn }

// Size is how many nodes the cluster is to have. Worker nodes do not count.
func (m *Member) Size() int {
	if m.Attached() {
		return m.Members()
	}
	return max(len(m.cfg.Peers), 1)
}

// Replicas is how many nodes keep a copy of what is stored.
func (m *Member) Replicas() int { return min(m.Size(), 3) }

// Patience is how long a read or a write waits for a majority.
func (m *Member) Patience() time.Duration { return m.cfg.Patience }

// Dir is the folder of the node's copy.
func (m *Member) Dir() string { return m.cfg.Dir }

// SimulateFullDisk makes the node take its disk for full, until it is called again
// with false. Tests use it.
func (m *Member) SimulateFullDisk(on bool) { m.diskFull.Store(on) }

// Log is the node's log.
func (m *Member) Log() zerolog.Logger { return m.cfg.Log }

// LeadsStream reports whether this node leads a stream of records or files.
func (m *Member) LeadsStream(name string) bool {
	return !m.Attached() && m.Engine().JetStreamIsStreamLeader("$G", name)
}

// ShortenLog writes down how far a stream is that this node leads, and drops what its log has
// of earlier changes: what a node needs of those that comes back, it gets as a whole.
func (m *Member) ShortenLog(stream string) error {
	if m.Attached() {
		return nil
	}
	return m.Engine().JetStreamSnapshotStream("$G", stream)
}

// Keys gives keys of 32 bytes for one purpose, the same on all nodes with the same
// secrets: the first is the one to use, the others are those of other secrets.
func (m *Member) Keys(purpose string) ([][]byte, error) {
	if m.identity == nil {
		key, err := derive(m.cfg.Secret, "key "+purpose)
		return [][]byte{key}, err
	}
	return m.identity.now.Load().secrets.keys(purpose)
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Close leaves the cluster. Others notice at once.
func (m *Member) Close() error {
	m.close.Do(func() {
		m.stop()
		m.background.Wait()
		if m.conn != nil {
			m.conn.Close()
		}
		if s := m.Engine(); s != nil {
			s.Shutdown()
			s.WaitForShutdown()
			m.stopped()
		}
	})
	return nil
}
