package member

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
)

// Config says how a node takes part.
type Config struct {
	// Name is the node's own. It stays the same over restarts, and no other node has
	// it. The node's stored data belongs to it.
	Name string
	// Listen is where the other nodes reach this one, as host:port. Nobody else
	// has business there.
	Listen string
	// Peers are the addresses of all nodes, this one included, as host:port.
	// None at all makes a node without others: nothing listens, and nothing is
	// replicated. It is for tests. Those of a worker node are where the nodes that keep
	// the store accept worker nodes: one or more of them, or a name of all.
	Peers []string

	// Role is what the node is for; empty: [Both].
	Role Role
	// Workers is where worker nodes reach this one, as host:port; empty: they do not.
	Workers string

	// Secret is what every node knows and nobody else; further lines are secrets that
	// the node accepts as well. SecretFile names a file that holds them; one of the two
	// is needed.
	Secret     []byte
	SecretFile string
	// CertFile, KeyFile and CAFile (PEM) replace the certificates that nodes
	// otherwise make from the secret. All three or none.
	CertFile, KeyFile, CAFile string

	// Dir is a folder of its own for what is stored.
	Dir string
	// Unsynced lets acknowledged writes wait for the disk in memory: more of
	// them in a second, and what a loss of power at a majority of nodes takes
	// with it.
	Unsynced bool

	// Damaged lets the node start with what the engine can read of a damaged copy;
	// see [Inspect].
	Damaged bool

	// Patience is how long a read or a write waits for a majority before it is
	// given up; [persistence.Patience].
	Patience time.Duration

	Log zerolog.Logger
}

// ValidName is what may be part of a subject, a file name and a metric.
var ValidName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Check reports what is wrong with the configuration and with the files that it
// names, before anything is started.
func (c Config) Check() error {
	err := c.check()
	if err == nil && len(c.Peers) > 0 {
		_, err = c.TLS()
	}
	return err
}

// check reports everything that is wrong at once.
func (c *Config) check() error {
	if c.Patience == 0 {
		c.Patience = persistence.Patience
	}
	var wrong []error
	say := func(format string, a ...any) { wrong = append(wrong, fmt.Errorf(format, a...)) }
	if !ValidName.MatchString(c.Name) {
		say("the node's name %q must be 1 to 63 small letters, digits and hyphens, such as node-1", c.Name)
	}
	if c.Role != "" && !slices.Contains(Roles, c.Role) {
		say("the node's role %q must be both, store or worker", c.Role)
	}
	if c.Dir == "" && c.Role != Worker {
		say("a node of a cluster needs a folder for what it stores")
	}
	if err := c.checkAddresses(); err != nil {
		wrong = append(wrong, err)
	}
	files := []string{c.CertFile, c.KeyFile, c.CAFile}
	if slices.Contains(files, "") && (c.CertFile != "" || c.KeyFile != "" || c.CAFile != "") {
		say("name the certificate, its key and the authority that signs nodes: all three files, or none")
	}
	if len(c.Peers) > 0 {
		if _, err := c.readSecrets(); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

func (c *Config) checkAddresses() error {
	switch {
	case c.Role == Worker:
		return c.checkWorker()
	case len(c.Peers) == 0:
		return nil
	case c.Workers != "":
		if _, _, err := splitAddress(c.Workers); err != nil {
			return fmt.Errorf("the address to listen on for worker nodes: %w", err)
		}
		if c.Workers == c.Listen {
			return fmt.Errorf("worker nodes and the other nodes both connect to %s: give worker nodes an address of their own", c.Listen)
		}
	}
	host, _, err := splitAddress(c.Listen)
	if err != nil {
		return fmt.Errorf("the address to listen on for other nodes: %w", err)
	}
	seen, err := c.checkPeers()
	if err != nil {
		return err
	}
	switch len(c.Peers) {
	case 1:
		return errors.New("one node is not a cluster: omit the peers, or name at least three nodes, including this one")
	case 2:
		return errors.New("two nodes cannot tell which of them is cut off, so they would keep less than one does alone: " +
			"add a third as arbiter, which needs no browsers (--workers 0) and may be small")
	}
	if ip := net.ParseIP(host); !seen[c.Listen] && host != "" && (ip == nil || !ip.IsUnspecified()) {
		return fmt.Errorf("the peers must name every node, this one (%s) too", c.Listen)
	}
	return nil
}

// checkPeers returns the addresses of the peers.
func (c *Config) checkPeers() (seen map[string]bool, err error) {
	seen = map[string]bool{}
	for _, p := range c.Peers {
		peer, _, err := splitAddress(p)
		if err == nil && peer == "" {
			err = fmt.Errorf("%q names no host", p)
		}
		if err != nil {
			return nil, fmt.Errorf("the address of a peer: %w", err)
		}
		if seen[p] {
			return nil, fmt.Errorf("the peer %s is named twice", p)
		}
		seen[p] = true
	}
	return seen, nil
}

// checkWorker looks at the addresses of a worker node.
func (c *Config) checkWorker() error {
	switch {
	case c.Listen != "" || c.Workers != "":
		return errors.New("a worker node has no port for other nodes: give it the peers alone")
	case len(c.Peers) == 0:
		return errors.New("a worker node needs peers: the addresses on which the nodes that keep the store accept worker nodes")
	}
	_, err := c.checkPeers()
	return err
}

func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("%q must be host:port, such as 10.0.0.1:7222", address)
	}
	return host, port, nil
}
