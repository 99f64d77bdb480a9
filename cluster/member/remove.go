package member

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"troupe/engine"
)

// manager is who may ask the engine to change the cluster itself. Its password is
// made when the process starts, and nobody but this process needs it.
const manager = "manager"

func newPassword() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails: it ends the process instead
	return hex.EncodeToString(b)
}

func (m *Member) addManager(o *server.Options) {
	system := server.NewAccount(server.DEFAULT_SYSTEM_ACCOUNT)
	o.Accounts = append(o.Accounts, system)
	o.Users = append(o.Users, &server.User{Username: manager, Password: m.password, Account: system})
}

// minNodes is how many nodes a cluster keeps.
const minNodes = 3

// removeTimeout is how long the node that leads has to answer. One that was lost
// just now does not.
const removeTimeout = 3 * time.Second

// Remove takes a node out of the cluster for ever: it does not count for a
// majority any more, and what it kept is kept by another one. The node must be
// down. One that shall come back, or whose name another machine takes, is not to
// be removed.
func (m *Member) Remove(ctx context.Context, name string) error {
	if m.Attached() {
		return errors.New("a worker node cannot remove nodes: run the command on a node that keeps the store. Worker nodes need not be removed: they are forgotten after they were stopped")
	}
	h := m.Health()
	i := slices.IndexFunc(h.Nodes, func(n NodeHealth) bool { return n.Name == name })
	switch {
	case h.Leader == "":
		return errors.New("there is no leader: fewer than a majority of the nodes are up")
	case name == m.Name():
		return errors.New("a node cannot remove itself: run the command on another node")
	case i < 0:
		return fmt.Errorf("there is no node %q: there are %s", name, strings.Join(m.names(h), ", "))
	case slices.Contains(m.Peers(), name):
		return fmt.Errorf("the node %q is up: stop it first", name)
	case m.Members() <= minNodes:
		return fmt.Errorf("there %s %d %s, and a cluster keeps %d: let a machine take the name %q over instead, or add a node first", engine.Plural(m.Members(), "is", "are"), m.Members(), engine.Plural(m.Members(), "node", "nodes"), minNodes, name)
	}
	conn, err := nats.Connect("", nats.InProcessServer(m), nats.UserInfo(manager, m.password))
	if err != nil {
		return fmt.Errorf("connect to the engine between nodes: %w", err)
	}
	defer conn.Close()
	ask, err := json.Marshal(server.JSApiMetaServerRemoveRequest{Server: name})
	if err != nil {
		return fmt.Errorf("remove a node: %w", err)
	}
	asked, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	r, err := conn.RequestWithContext(asked, server.JSApiRemoveServer, ask)
	switch {
	case err != nil && ctx.Err() == nil && asked.Err() != nil:
		return errors.New("no leader answered: the nodes may be electing one, so run the command again")
	case err != nil:
		return fmt.Errorf("remove a node: %w", err)
	}
	var done server.JSApiMetaServerRemoveResponse
	if err := json.Unmarshal(r.Data, &done); err != nil {
		return fmt.Errorf("remove a node: %w", err)
	}
	if !done.Success {
		return fmt.Errorf("remove a node: %s", done.Error.Description)
	}
	return nil
}

// names are the nodes that take part, this one among them.
func (m *Member) names(h Health) []string {
	all := []string{m.Name()}
	for _, n := range h.Nodes {
		all = append(all, n.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
