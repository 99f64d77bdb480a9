package member

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// SecretsChange is a change of the node's secrets that was read and not made yet.
type SecretsChange struct {
	m      *Member
	before secrets
	after  secrets
}

// ErrNoOtherNodes: the node is alone, and nobody needs its secret.
var ErrNoOtherNodes = errors.New("the service is not a node of a cluster")

// SecretsNow are the names of the secrets in use, the node's own first.
func (m *Member) SecretsNow() []string {
	if m.identity == nil {
		return nil
	}
	return m.identity.now.Load().secrets.names()
}

// ReadSecrets reads the file with the secrets again. Nothing changes yet.
func (m *Member) ReadSecrets() (*SecretsChange, error) {
	if m.identity == nil {
		return nil, ErrNoOtherNodes
	}
	after, err := m.cfg.readSecrets()
	if err != nil {
		return nil, err
	}
	return &SecretsChange{m, m.identity.now.Load().secrets, after}, nil
}

// Names are the secrets after the change, the node's own first.
func (c *SecretsChange) Names() []string { return c.after.names() }

// Added are the secrets that the node accepts only after the change, and Dropped those
// that it accepts only before.
func (c *SecretsChange) Added() []string   { return c.after.without(c.before).names() }
func (c *SecretsChange) Dropped() []string { return c.before.without(c.after).names() }

// Keys are those for a purpose after the change, then those of dropped secrets.
func (c *SecretsChange) Keys(purpose string) ([][]byte, error) {
	return slices.Concat(c.after, c.before.without(c.after)).keys(purpose)
}

// Try asks the other nodes, by connections that begin and end for this alone, whether
// the node could be one of them after the change. It returns the addresses that do not
// answer.
func (c *SecretsChange) Try(ctx context.Context) (silent []string, err error) {
	// This node is one of the addresses: it must know new secrets, too.
	if err := c.m.identity.use(slices.Concat(c.before, c.after.without(c.before))); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.m.identity.use(c.before))
		}
	}()
	trial := &identity{files: c.m.identity.files, signed: c.m.identity.signed, key: c.m.identity.key}
	if err := trial.use(c.after); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var wrong []error
	for _, address := range c.m.cfg.Peers {
		all.Go(func() {
			no, heard := trial.dial(ctx, address)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case !heard:
				silent = append(silent, address)
			case no != nil:
				wrong = append(wrong, fmt.Errorf("the node at %s: %w", address, no))
			}
		})
	}
	all.Wait()
	slices.Sort(silent)
	return silent, errors.Join(wrong...)
}

// What the other side's answer to a handshake means.
var (
	errNotAccepted = errors.New("it does not accept the secret in the first line: add that to its file, and reload it there first")
	errNotShown    = errors.New("its own secret is not in the file: keep that as a further line until the first line is the same on all nodes")
)

// tryTimeout is how long another node has to answer.
const tryTimeout = 5 * time.Second

// dial makes a connection as to another node. The error says that one side refuses the
// other, and heard that there is another side.
func (i *identity) dial(ctx context.Context, address string) (no error, heard bool) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	cfg := i.config()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(address)
	}
	secure := tls.Client(conn, cfg)
	err = secure.HandshakeContext(ctx)
	if err == nil {
		// The other side checks this one's certificate after that. It closes the
		// connection in any case: a node would have sent another first line.
		_, _ = io.WriteString(secure, "PING\r\n")
		_, err = secure.Read(make([]byte, 1))
	}
	var alert *net.OpError
	switch {
	case errors.Is(err, errUnvouched):
		return errNotShown, true
	case errors.As(err, &alert) && alert.Op == "remote error":
		return errNotAccepted, true
	case err == nil || errors.Is(err, io.EOF):
		return nil, true
	}
	return nil, false
}

// Use lets connections that begin from now on have the new secrets. Those that are there
// continue, with whatever secret they began.
func (c *SecretsChange) Use() error { return c.m.identity.use(c.after) }

// Undrop accepts dropped secrets as before, because records are still sealed with them.
// The first secret stays.
func (c *SecretsChange) Undrop() error {
	return c.m.identity.use(slices.Concat(c.after, c.before.without(c.after)))
}

// restartPause is between two attempts to start the engine again.
const restartPause = time.Second

// Reconnect ends all connections to other nodes and opens them again, so that none is
// left that began with a dropped secret. It takes a second or two, in which the node is
// away for the others.
func (c *SecretsChange) Reconnect(ctx context.Context) (err error) {
	if c.m.Attached() {
		return c.m.conn.ForceReconnect()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	for {
		if err = c.m.restart(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		c.m.cfg.Log.Error().Err(err).Msg("the node cannot connect to the others again")
		sleep(ctx, restartPause)
	}
}
