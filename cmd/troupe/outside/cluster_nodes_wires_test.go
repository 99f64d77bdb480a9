package outside_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// wires are networks of their own for the nodes of a test. Each node has two
// connections: one that the nodes reach each other by, which can be cut, and one
// for its clients and its pages.
type wires struct {
	id int
}

// newWires makes such networks; nil where that cannot be done.
func newWires(t *testing.T) *wires {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		return nil
	}
	w := &wires{id: os.Getpid() % 250}
	for _, bridge := range []string{w.between(), w.outside()} {
		if err := ip("link", "add", bridge, "type", "bridge"); err != nil {
			t.Logf("there are no networks to be had: %v", err)
			return nil
		}
		t.Cleanup(func() {
			if err := ip("link", "del", bridge); err != nil {
				t.Error(err)
			}
		})
		w.must(t, "link", "set", bridge, "up")
	}
	w.must(t, "addr", "add", w.here()+"/24", "dev", w.outside())
	return w
}

func (w *wires) between() string { return fmt.Sprintf("trb%d", w.id) }
func (w *wires) outside() string { return fmt.Sprintf("tro%d", w.id) }

// here is the address of this process for the nodes.
func (w *wires) here() string {
	if w == nil {
		return "127.0.0.1"
	}
	return fmt.Sprintf("10.214.%d.254", w.id)
}

// plug makes the network of a node and connects it. It returns where other nodes
// reach it, and the address for its clients.
func (w *wires) plug(t *testing.T, n int) (place, link, peer, client string) {
	t.Helper()
	place = fmt.Sprintf("tr%dn%d", w.id, n)
	w.must(t, "netns", "add", place)
	t.Cleanup(func() {
		if err := ip("netns", "del", place); err != nil {
			t.Error(err)
		}
	})
	link = fmt.Sprintf("trb%dn%d", w.id, n)
	door := fmt.Sprintf("tro%dn%d", w.id, n)
	nodes, client := fmt.Sprintf("10.213.%d.%d", w.id, n), fmt.Sprintf("10.214.%d.%d", w.id, n)
	w.must(t, "-n", place, "link", "set", "lo", "up")
	for _, end := range []struct{ link, bridge, name, address string }{
		{link, w.between(), "nodes", nodes}, {door, w.outside(), "clients", client},
	} {
		w.must(t, "link", "add", end.link, "type", "veth", "peer", "name", end.name, "netns", place)
		w.must(t, "link", "set", end.link, "master", end.bridge, "up")
		w.must(t, "-n", place, "addr", "add", end.address+"/24", "dev", end.name)
		w.must(t, "-n", place, "link", "set", end.name, "up")
	}
	return place, link, nodes + ":7222", client
}

// cut pulls a plug: what is sent is lost, and nobody is told.
func (w *wires) cut(t *testing.T, link string) {
	t.Helper()
	w.must(t, "link", "set", link, "nomaster")
}

func (w *wires) heal(t *testing.T, link string) {
	t.Helper()
	w.must(t, "link", "set", link, "master", w.between())
}

func (w *wires) must(t *testing.T, args ...string) {
	t.Helper()
	if err := ip(args...); err != nil {
		t.Fatal(err)
	}
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Where other nodes reach one, and where it tells its numbers. Systems give neither
// port to whoever asks for any: at an address that is a node's alone nobody else
// takes them before it does.
const peerPort, metricsPort = ":7222", ":9464"

// hosts counts the addresses that were given to nodes.
var hosts atomic.Uint32

// freeHost is a loopback address that no other node has, where the system has more
// than one.
func freeHost(t *testing.T) (host, peer, metrics string) {
	t.Helper()
	for range 1000 {
		n := hosts.Add(1)
		host := fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()%250, n/250, 1+n%250)
		ln, err := net.Listen("tcp", host+peerPort)
		switch {
		case err == nil:
			ln.Close()
			return host, host + peerPort, host + metricsPort
		case !errors.Is(err, syscall.EADDRINUSE): // that would be another run of the tests
			free := freeAddresses(t, 2)
			return "127.0.0.1", free[0], free[1]
		}
	}
	t.Fatal("there is no loopback address for a node")
	return "", "", ""
}

// freeAddresses are such on which nothing listens.
func freeAddresses(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		all = append(all, ln.Addr().String())
	}
	return all
}
