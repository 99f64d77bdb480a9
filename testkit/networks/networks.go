// Package networks gives the nodes of a test addresses that nobody else gets, and networks
// of their own, in which their connections can be cut.
package networks

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Networks are two for the nodes of a test: one in which the nodes reach each other, and
// in which each can be cut off, and one for their clients and pages.
type Networks struct {
	id int // no other test has it while this one runs
}

// Node is the place of a node.
type Node struct {
	Place  string // its network namespace
	Peer   string // the address by which other nodes reach it, with a port
	Client string // the address of the node for clients
	link   string
}

// New makes networks. It gives nil where that cannot be done: it needs root and the
// command ip.
func New(t testing.TB) *Networks {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		return nil
	}
	var last error
	for try := range 250 {
		w := &Networks{id: 1 + (os.Getpid()+try)%250}
		if last = ip("link", "add", w.peers(), "type", "bridge"); last == nil {
			w.begin(t)
			return w
		}
		if !strings.Contains(last.Error(), "File exists") {
			break
		}
	}
	t.Logf("networks cannot be made: %v", last)
	return nil
}

func (w *Networks) begin(t testing.TB) {
	t.Helper()
	remove(t, "link", "del", w.peers())
	must(t, "link", "set", w.peers(), "up")
	ip("link", "del", w.clients()) // of a run that was killed
	must(t, "link", "add", w.clients(), "type", "bridge")
	remove(t, "link", "del", w.clients())
	must(t, "link", "set", w.clients(), "up")
	must(t, "addr", "add", w.Here()+"/24", "dev", w.clients())
}

func (w *Networks) peers() string   { return fmt.Sprintf("trp%d", w.id) }
func (w *Networks) clients() string { return fmt.Sprintf("trc%d", w.id) }

// Here is the address of this process for the nodes: the loopback address without
// networks.
func (w *Networks) Here() string {
	if w == nil {
		return "127.0.0.1"
	}
	return fmt.Sprintf("10.214.%d.254", w.id)
}

// Plug makes the place of node n, which counts from 1, and connects it.
func (w *Networks) Plug(t testing.TB, n int) Node {
	t.Helper()
	peer, client := fmt.Sprintf("10.213.%d.%d", w.id, n), fmt.Sprintf("10.214.%d.%d", w.id, n)
	node := Node{Place: fmt.Sprintf("tr%dn%d", w.id, n), Peer: peer + ":7222", Client: client, link: fmt.Sprintf("%sn%d", w.peers(), n)}
	ip("netns", "del", node.Place) // of a run that was killed
	must(t, "netns", "add", node.Place)
	remove(t, "netns", "del", node.Place)
	must(t, "-n", node.Place, "link", "set", "lo", "up")
	for _, end := range []struct{ link, bridge, name, address string }{
		{node.link, w.peers(), "nodes", peer},
		{fmt.Sprintf("%sn%d", w.clients(), n), w.clients(), "clients", client},
	} {
		ip("link", "del", end.link)
		must(t, "link", "add", end.link, "type", "veth", "peer", "name", end.name, "netns", node.Place)
		// A namespace that is deleted lets go of its links later: names would be taken.
		remove(t, "link", "del", end.link)
		must(t, "link", "set", end.link, "master", end.bridge, "up")
		must(t, "-n", node.Place, "addr", "add", end.address+"/24", "dev", end.name)
		must(t, "-n", node.Place, "link", "set", end.name, "up")
	}
	return node
}

// Cut cuts a node off from the others: what they send each other is lost, and neither
// gets an error.
func (w *Networks) Cut(t testing.TB, n Node) {
	t.Helper()
	must(t, "link", "set", n.link, "nomaster")
}

// Heal connects a node again.
func (w *Networks) Heal(t testing.TB, n Node) {
	t.Helper()
	must(t, "link", "set", n.link, "master", w.peers())
}

func must(t testing.TB, args ...string) {
	t.Helper()
	if err := ip(args...); err != nil {
		t.Fatal(err)
	}
}

// remove takes something away when the test ends.
func remove(t testing.TB, args ...string) {
	t.Cleanup(func() {
		if err := ip(args...); err != nil {
			t.Error(err)
		}
	})
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("running ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
