package cluster_test

import (
	"fmt"
	"net"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"troupe/cluster/member"
	"troupe/testkit/networks"
)

// longWay is a connection between two places: what goes through it takes half of the
// distance, and nothing does while it is cut.
type longWay struct {
	net.Listener
	bytes atomic.Int64 // in both directions
	mu    sync.Mutex
	whole chan struct{} // closed while it is not cut
}

func newLongWay(t testing.TB, to string) *longWay {
	t.Helper()
	w := &longWay{whole: make(chan struct{})}
	close(w.whole)
	w.Listener = forward(t, to, w.carry)
	return w
}

func (w *longWay) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = make(chan struct{})
}

func (w *longWay) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.whole)
}

func (w *longWay) isWhole() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.whole
}

// carry takes bytes from one end to the other. Those that come while it is cut are kept, as
// by a network that sends them again, until it is whole.
func (w *longWay) carry(from, to net.Conn) {
	type piece struct {
		bytes []byte
		due   time.Time
	}
	pieces := make(chan piece, 4096)
	go func() {
		defer to.Close()
		for p := range pieces {
			time.Sleep(time.Until(p.due)) // the way is as long as that
			<-w.isWhole()
			if _, err := to.Write(p.bytes); err != nil {
				from.Close()
			}
		}
	}()
	defer close(pieces)
	for {
		b := make([]byte, 16<<10)
		n, err := from.Read(b)
		if n > 0 {
			w.bytes.Add(int64(n))
			pieces <- piece{b[:n], time.Now().Add(*cellDistance / 2)}
		}
		if err != nil {
			return
		}
	}
}

// cell is a cluster in one place.
type cell struct {
	name  string
	nodes []*httpNode
	token string             // of an account that is at home here
	edges []*httptest.Server // where clients arrive that may be at home elsewhere
}

// cells are two places, and what is between them.
type cells struct {
	t    testing.TB
	all  []*cell
	ways []*longWay
	// receipt is how long a receipt may take.
	receipt time.Duration
}

// newCells starts two clusters of three nodes each. They know nothing of one another yet.
func newCells(t testing.TB) *cells {
	t.Helper()
	c := &cells{t: t, receipt: cellReceipt}
	for _, name := range []string{"eu", "us"} {
		cfgs := configs(t, 3)
		for i := range cfgs {
			cfgs[i].Name = fmt.Sprintf("%s-%d", name, i+1)
		}
		place := &cell{name: name}
		for _, m := range joinAll(t, cfgs) {
			place.nodes = append(place.nodes, openHTTPNode(t, m, 2))
		}
		place.token = place.nodes[0].token("ada", "pro")
		c.all = append(c.all, place)
	}
	for _, place := range c.all {
		for _, n := range place.nodes {
			soon(t, "the nodes of "+place.name+" know its account", func() bool { return n.ask("GET", "/v1/usage", place.token, "").status == 200 })
		}
	}
	return c
}

// cut cuts the places off from one another, until what it returns is called, or the test ends.
func (c *cells) cut() (mend func()) {
	for _, w := range c.ways {
		w.cut()
	}
	mend = sync.OnceFunc(func() {
		for _, w := range c.ways {
			w.mend()
		}
	})
	c.t.Cleanup(mend)
	return mend
}

// join gives each node an engine between cells, beside the one of its cluster: without a
// store, with the gateways, and with nothing of the cluster in it.
func (c *cells) join() {
	gateways := map[string][]string{}
	for _, place := range c.all {
		gateways[place.name] = networks.Addresses(c.t, len(place.nodes))
	}
	ways := map[string]*longWay{}
	for _, addresses := range gateways {
		for _, a := range addresses {
			ways[a] = newLongWay(c.t, a)
			c.ways = append(c.ways, ways[a])
		}
	}
	for _, place := range c.all {
		routes := networks.Addresses(c.t, len(place.nodes))
		for i, n := range place.nodes {
			s := c.engine(place.name, i, routes, gateways, ways)
			conn, err := nats.Connect("", nats.InProcessServer(s))
			if err != nil {
				c.t.Fatal(err)
			}
			c.t.Cleanup(conn.Close)
			c.serve(place, n, conn)
			edge := httptest.NewServer(c.edge(place, n, conn))
			c.t.Cleanup(edge.Close)
			place.edges = append(place.edges, edge)
		}
	}
	soon(c.t, "a request reaches the other cell", func() bool {
		return c.ask(0, 1, "GET", "/v1/usage", "").status == 200 && c.ask(1, 0, "GET", "/v1/usage", "").status == 200
	})
}

func (c *cells) engine(name string, i int, routes []string, gateways map[string][]string, ways map[string]*longWay) *server.Server {
	hostPort := func(a string) (string, int) {
		at, err := net.ResolveTCPAddr("tcp", a)
		if err != nil {
			c.t.Fatal(err)
		}
		return at.IP.String(), at.Port
	}
	o := &server.Options{ServerName: fmt.Sprintf("%s-%d-cells", name, i+1), DontListen: true, NoSigs: true, MaxPayload: member.MaxMessage, MaxPending: 8 * member.MaxMessage}
	o.Cluster.Name = name
	o.Cluster.Host, o.Cluster.Port = hostPort(routes[i])
	for _, r := range routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: r})
	}
	own := gateways[name][i]
	o.Gateway = server.GatewayOpts{Name: name, Advertise: ways[own].Addr().String(), RejectUnknown: true}
	o.Gateway.Host, o.Gateway.Port = hostPort(own)
	for other, addresses := range gateways {
		remote := &server.RemoteGatewayOpts{Name: other}
		for _, a := range addresses {
			remote.URLs = append(remote.URLs, &url.URL{Scheme: "nats", Host: ways[a].Addr().String()})
		}
		o.Gateway.Gateways = append(o.Gateway.Gateways, remote)
	}
	s, err := server.NewServer(o)
	if err != nil {
		c.t.Fatal(err)
	}
	s.Start()
	ready := make(chan struct{})
	close(ready)
	s.StartRouting(ready)
	c.t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(hang) {
		c.t.Fatal("an engine between cells is not ready")
	}
	return s
}
