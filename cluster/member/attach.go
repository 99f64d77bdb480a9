package member

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"troupe/persistence"
)

// A worker node has no engine: no vote, no copy and no port. It has one connection, to
// any of the nodes that keep the store, and takes another one if that is lost. Decision
// 0035 says why it is none of the engine's leaf nodes.

// Role is what a node is for.
type Role string

const (
	// Both keeps what is stored, and may have browsers. It is the default.
	Both Role = "both"
	// Store keeps what is stored, and has no browsers.
	Store Role = "store"
	// Worker has browsers and keeps nothing.
	Worker Role = "worker"
)

// Roles are all of them.
var Roles = []Role{Both, Store, Worker}

const (
	// A connection that does not answer two of these in a row is closed: as between
	// the others.
	attachPing   = routePing
	attachMisses = routeMisses
	attachWait   = 100 * time.Millisecond // between two attempts, and up to twice that
	// dialTimeout bounds a connection and its handshake.
	dialTimeout = 5 * time.Second
	// sayUnreached is how often a node says that it reaches nobody.
	sayUnreached = 15 * time.Second
)

// attach connects a worker node. The connection may come later: see [Member.Ready].
func attach(cfg Config) (*Member, error) {
	m := &Member{cfg: cfg, stop: func() {}}
	var err error
	if m.identity, err = newIdentity(&cfg); err != nil {
		return nil, err
	}
	m.moved.Store(time.Now().UnixNano())
	var all []string
	for _, peer := range cfg.Peers {
		all = append(all, (&url.URL{Scheme: "tls", Host: peer}).String())
	}
	log := cfg.Log
	m.conn, err = nats.Connect(strings.Join(all, ","), nats.Name(cfg.Name),
		nats.Secure(m.identity.config()), nats.TLSHandshakeFirst(), nats.Timeout(dialTimeout),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(attachWait), nats.ReconnectJitter(attachWait, attachWait),
		nats.PingInterval(attachPing), nats.MaxPingsOutstanding(attachMisses),
		// What cannot be sent now fails now: its sender knows then that nobody has it.
		nats.ReconnectBufSize(-1), nats.IgnoreDiscoveredServers(),
		nats.ConnectHandler(m.attached), nats.ReconnectHandler(m.attached),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			log.Warn().Err(err).Msg("the connection to the node that keeps the store is lost: another one is tried")
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			last := m.said.Load()
			if now := time.Now().UnixNano(); now-last > sayUnreached.Nanoseconds() && m.said.CompareAndSwap(last, now) {
				log.Warn().Err(err).Strs("peers", cfg.Peers).Msg("no node that keeps the store is reached")
			}
		}))
	if err != nil {
		return nil, fmt.Errorf("connect to the nodes that keep the store: %w", err)
	}
	return m, nil
}

// attached is called when a connection stands.
func (m *Member) attached(nc *nats.Conn) {
	m.minority.Store(false) // until that one says so
	m.moved.Store(time.Now().UnixNano())
	m.cfg.Log.Info().Str("node", nc.ConnectedServerName()).Msg("this worker node is connected to a node that keeps the store")
}

// Role is what the node is for.
func (m *Member) Role() Role {
	if m.cfg.Role == "" {
		return Both
	}
	return m.cfg.Role
}

// Attached reports whether this node keeps nothing itself, and reaches the others by a
// node that does.
func (m *Member) Attached() bool { return m.cfg.Role == Worker }

// Accepts reports whether worker nodes may connect to this node.
func (m *Member) Accepts() bool { return m.cfg.Workers != "" && !m.Attached() }

// Hub is the node that a worker node is connected to; empty: none.
func (m *Member) Hub() string {
	if m.conn == nil || !m.conn.IsConnected() {
		return ""
	}
	return m.conn.ConnectedServerName()
}

// HubSees notes whether the node that this one is connected to sees a majority, and how
// many nodes keep the store or may.
func (m *Member) HubSees(majority bool, members int) {
	m.minority.Store(!majority)
	m.members.Store(int64(members))
}

// stays is how long a worker node stays with a node at least, before it leaves one that
// does not serve it.
const stays = 2 * time.Second

// Move has a worker node take another node to connect to: the one that it has sees no
// majority, or does not answer.
func (m *Member) Move(why string) {
	last, now := m.moved.Load(), time.Now().UnixNano()
	if now-last < stays.Nanoseconds() || !m.moved.CompareAndSwap(last, now) || !m.conn.IsConnected() {
		return
	}
	m.cfg.Log.Warn().Str("node", m.Hub()).Str("reason", why).Msg("this worker node connects to another node that keeps the store")
	if err := m.conn.ForceReconnect(); err != nil {
		m.cfg.Log.Warn().Err(err).Msg("the connection could not be exchanged")
	}
}

// readyAttached is [Member.Ready] of a worker node.
func (m *Member) readyAttached(ctx context.Context) error {
	js, err := jetstream.New(m.conn)
	if err != nil {
		return err
	}
	for {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err := js.AccountInfo(try)
		cancel()
		if err == nil && m.Hub() != "" {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: no node that keeps the store answers: %w", persistence.ErrNoQuorum, context.Cause(ctx))
		}
		sleep(ctx, 50*time.Millisecond)
	}
}
