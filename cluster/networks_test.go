package cluster_test

import (
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"troupe/cluster/member"
)

// networks are networks of their own for nodes in processes: the connection of each to
// the others can be cut, that to its clients stays.
type networks struct {
	t       testing.TB
	bridge  string
	links   []string // of the nodes, to each other
	places  []string
	peers   []string // where the others reach each
	clients []string
}

// networksMade counts them in this process.
var networksMade atomic.Int64

// newNetworks makes them for so many nodes, and skips the test where that needs more
// than it may do.
func newNetworks(t testing.TB, nodes int) *networks {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		t.Skip("cutting nodes off needs networks of their own: root, and the command ip")
	}
	id := 1 + (os.Getpid()+83*int(networksMade.Add(1)))%250 // those of the test before may still be going
	w := &networks{t: t, bridge: fmt.Sprintf("trc%d", id)}
	outside := fmt.Sprintf("trd%d", id)
	for _, bridge := range []string{w.bridge, outside} {
		if out, err := exec.Command("ip", "link", "add", bridge, "type", "bridge").CombinedOutput(); err != nil {
			t.Skipf("there are no networks to be had: %v: %s", err, out)
		}
		t.Cleanup(func() { w.ip("link", "del", bridge) })
		w.ip("link", "set", bridge, "up")
	}
	w.ip("addr", "add", fmt.Sprintf("10.216.%d.254/24", id), "dev", outside)
	for n := range nodes {
		place, link, door := fmt.Sprintf("trc%dn%d", id, n+1), fmt.Sprintf("trc%dl%d", id, n+1), fmt.Sprintf("trd%dl%d", id, n+1)
		w.ip("netns", "add", place)
		t.Cleanup(func() { w.ip("netns", "del", place) })
		w.ip("-n", place, "link", "set", "lo", "up")
		peer, client := fmt.Sprintf("10.215.%d.%d", id, n+1), fmt.Sprintf("10.216.%d.%d", id, n+1)
		for _, end := range []struct{ link, bridge, name, address string }{{link, w.bridge, "nodes", peer}, {door, outside, "clients", client}} {
			w.ip("link", "add", end.link, "type", "veth", "peer", "name", end.name, "netns", place)
			t.Cleanup(func() { w.ip("link", "del", end.link) })
			w.ip("link", "set", end.link, "master", end.bridge, "up")
			w.ip("-n", place, "addr", "add", end.address+"/24", "dev", end.name)
			w.ip("-n", place, "link", "set", end.name, "up")
		}
		w.links, w.places = append(w.links, link), append(w.places, place)
		w.peers, w.clients = append(w.peers, peer+":7222"), append(w.clients, client)
	}
	return w
}

func (w *networks) ip(args ...string) {
	w.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		w.t.Errorf("ip %v: %v: %s", args, err, out)
	}
}

// move gives nodes their addresses in their networks.
func (w *networks) move(cfgs []member.Config) {
	for i := range cfgs {
		cfgs[i].Listen, cfgs[i].Peers = w.peers[i], w.peers
	}
}

// cut pulls a plug: what is sent is lost, and nobody is told.
func (w *networks) cut(node int) { w.ip("link", "set", w.links[node], "nomaster") }

func (w *networks) heal(node int) { w.ip("link", "set", w.links[node], "master", w.bridge) }
