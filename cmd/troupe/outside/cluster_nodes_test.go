package outside_test

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine/browser"
	"troupe/testkit/leaks"
	"troupe/testkit/networks"
)

// member is one node of a cluster of processes.
type member struct {
	*child
	name, data, base string
	program          string
	args             []string
	workers          int
	peer             string        // where other nodes reach it
	metrics          string        // where they are told
	at               networks.Node // where it is; nothing: on 127.0.0.1

	dead, frozen, cut bool
}

// testCluster is such a cluster.
type testCluster struct {
	t        *testing.T // of what is being tried
	home     *testing.T // what is started ends with it
	dir      string
	nodes    []*member
	token    string // of ada, who has no daily limit
	site     *witness
	networks *networks.Networks // nil: the nodes are on 127.0.0.1
	told     *ledger
	other    string // the program of the second node; empty: as the others

	enlisted int // nodes, also those that are no more
}

// newTestCluster starts nodes n1, n2 … on loopback with so many workers each, and makes
// a token.
func newTestCluster(t *testing.T, workers ...int) *testCluster {
	t.Helper()
	return startTestCluster(t, nil, "", workers...)
}

func startTestCluster(t *testing.T, w *networks.Networks, other string, workers ...int) *testCluster {
	t.Helper()
	g := plannedCluster(t, w, other, workers...)
	g.start(g.nodes...)
	g.token = g.newToken("ada", "pro")
	g.whole()
	return g
}

// plannedCluster is such a cluster of which no node was started.
func plannedCluster(t *testing.T, w *networks.Networks, other string, workers ...int) *testCluster {
	t.Helper()
	leaks.Check(t)
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	g := &testCluster{t: t, home: t, dir: dir, networks: w, other: other, told: &ledger{}, site: newWitness(t, w.Here())}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	if err := os.WriteFile(g.secretFile(), []byte(hex.EncodeToString(secret)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.sweep)
	for _, n := range workers {
		g.enlist(n)
	}
	var peers []string
	for _, m := range g.nodes {
		peers = append(peers, m.peer)
	}
	for _, m := range g.nodes {
		m.args = append(m.args, "--cluster-peers="+strings.Join(peers, ","))
	}
	return g
}

// enlist makes one more node, which is not started and knows nobody.
func (g *testCluster) enlist(workers int) *member {
	g.t.Helper()
	g.enlisted++
	n := g.enlisted
	m := &member{name: fmt.Sprintf("n%d", n), workers: workers, program: program}
	if n == 2 && g.other != "" {
		m.program = g.other
	}
	var listen string
	if g.networks != nil {
		m.at = g.networks.Plug(g.home, n)
		m.peer, m.metrics, listen = m.at.Peer, m.at.Client+":9464", m.at.Client+":8080"
	} else {
		free := networks.Addresses(g.t, 3)
		m.peer, m.metrics, listen = free[0], free[1], free[2]
	}
	m.data = filepath.Join(g.dir, m.name)
	m.args = []string{"serve", "--listen=" + listen, "--data=" + m.data, "--allow-private", fmt.Sprintf("--workers=%d", workers), "--log-level=warn", "--metrics-listen=" + m.metrics,
		"--node=" + m.name, "--cluster-secret-file=" + g.secretFile(), "--cluster-listen=" + m.peer}
	if g.networks != nil {
		m.args = append(m.args, "--insecure-listen")
	}
	g.nodes = append(g.nodes, m)
	return m
}

func (g *testCluster) secretFile() string { return filepath.Join(g.dir, "secret") }

// newToken makes an account on a plan, if there is none, and a token for it.
func (g *testCluster) newToken(account, plan string) string {
	g.t.Helper()
	code, out, errs := play(g.t, "", "token", "create", "--account="+account, "--plan="+plan, "--data="+g.nodes[0].data)
	if code != 0 || !onlyToken.MatchString(out) {
		g.t.Fatalf("no token: %s%s", out, errs)
	}
	return strings.TrimSpace(out)
}

// start starts nodes side by side and waits until all of them answer.
func (g *testCluster) start(all ...*member) {
	g.t.Helper()
	for _, m := range all {
		m.child = spawnAs(g.home, m.program, m.at.Place, nil, m.args...)
		m.dead, m.frozen = false, false
	}
	for _, m := range all {
		if base := m.greeting(g.t); m.base != base { // the same at each start, for those who ask meanwhile
			m.base = base
		}
	}
}

// stop tells nodes to end in good order, side by side, and waits until they
// have.
func (g *testCluster) stop(all ...*member) {
	g.t.Helper()
	for _, m := range all {
		g.signal(m, syscall.SIGTERM)
		m.dead = true
	}
	for _, m := range all {
		if err := m.end(g.t, 30*time.Second); err != nil {
			g.t.Errorf("the end of %s: %v", m.name, err)
		}
	}
}

// kill ends nodes as a loss of power would, but for what was not written to
// their disks.
func (g *testCluster) kill(all ...*member) {
	g.t.Helper()
	for _, m := range all {
		g.signal(m, syscall.SIGKILL)
		m.dead = true
	}
	for _, m := range all {
		<-m.done
	}
}

func (g *testCluster) freeze(m *member) {
	g.t.Helper()
	g.signal(m, syscall.SIGSTOP)
	m.frozen = true
	c := m.child
	g.home.Cleanup(func() { _ = c.Process.Signal(syscall.SIGCONT) }) // it could not be ended otherwise
}

func (g *testCluster) wake(m *member) {
	g.t.Helper()
	g.signal(m, syscall.SIGCONT)
	m.frozen = false
}

func (g *testCluster) signal(m *member, s syscall.Signal) {
	g.t.Helper()
	if err := m.Process.Signal(s); err != nil {
		g.t.Fatalf("%v of %s: %v", s, m.name, err)
	}
}

// needNetworks skips what needs nodes that can be cut off from each other.
func (g *testCluster) needNetworks() {
	g.t.Helper()
	if g.networks == nil {
		g.t.Skip("cutting nodes off needs networks of their own: root, and the command ip")
	}
}

// cutOff takes a node's connection to the other nodes away: what is sent there
// is lost, and nobody is told. Clients still reach it.
func (g *testCluster) cutOff(m *member) {
	g.t.Helper()
	g.needNetworks()
	g.networks.Cut(g.t, m.at)
	m.cut = true
}

func (g *testCluster) heal(m *member) {
	g.t.Helper()
	g.networks.Heal(g.t, m.at)
	m.cut = false
}

// whole brings back what is away, and waits until all nodes know all workers and
// can write.
func (g *testCluster) whole() {
	g.t.Helper()
	g.back()
	g.allKnow(g.workers())
}

// back brings back what is away.
func (g *testCluster) back() {
	g.t.Helper()
	var dead []*member
	for _, m := range g.nodes {
		if m.cut {
			g.heal(m)
		}
		if m.frozen {
			g.wake(m)
		}
		if m.dead {
			dead = append(dead, m)
		}
	}
	g.start(dead...)
}

// anew takes the account's sessions and tasks away, with the account, and makes it
// again.
func (g *testCluster) anew() {
	g.t.Helper()
	g.back()
	if code, out, errs := play(g.t, "", "account", "delete", "ada", "--data="+g.nodes[0].data); code != 0 {
		g.t.Fatalf("the account cannot be deleted: %s%s", out, errs)
	}
	g.token = g.newToken("ada", "pro")
}

func (g *testCluster) workers() (n int) {
	for _, m := range g.nodes {
		n += m.workers
	}
	return n
}

// allKnow waits until each node tells of so many free workers, and of a leader
// and a majority. It returns how long that took.
func (g *testCluster) allKnow(workers int) time.Duration {
	g.t.Helper()
	return g.until("every node knows all others and their workers", func() bool {
		for _, m := range g.nodes {
			x := g.ask(m, "GET", "/v1/cluster", "")
			if x.status != 200 || strings.Count(x.body, `"up":true`) != len(g.nodes) || strings.Contains(x.body, `"draining":true`) ||
				!strings.Contains(x.body, `"majority":true`) || !strings.Contains(x.body, `"leader":`) || g.online(m) != workers {
				return false
			}
		}
		return true
	})
}

// leader is the node that the nodes say leads.
func (g *testCluster) leader() *member {
	g.t.Helper()
	var leads *member
	g.until("there is a leader", func() bool {
		x := g.ask(g.nodes[0], "GET", "/v1/cluster", "")
		var c struct{ Leader string }
		_ = json.Unmarshal([]byte(x.body), &c)
		i := slices.IndexFunc(g.nodes, func(m *member) bool { return m.name == c.Leader })
		if i >= 0 {
			leads = g.nodes[i]
		}
		return i >= 0
	})
	return leads
}

// others are the nodes but one.
func (g *testCluster) others(than *member) (all []*member) {
	for _, m := range g.nodes {
		if m != than {
			all = append(all, m)
		}
	}
	return all
}

func (g *testCluster) until(what string, is func() bool) time.Duration {
	g.t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > hang {
			g.t.Fatalf("it does not become so that %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

// online counts the workers that a node tells of and that are free; -1: it does
// not tell.
func (g *testCluster) online(m *member) (n int) {
	x := g.ask(m, "GET", "/v1/workers", "")
	var list struct {
		Workers []struct {
			State api.State `json:"state"`
		} `json:"workers"`
	}
	if x.status != 200 || json.Unmarshal([]byte(x.body), &list) != nil {
		return -1
	}
	for _, w := range list.Workers {
		if w.State == api.Online {
			n++
		}
	}
	return n
}

// end ends all nodes: in good order where all are there. What is left of a cluster
// would wait for a majority that does not come, and is killed.
func (g *testCluster) end() time.Duration {
	g.t.Helper()
	began := time.Now()
	var alive []*member
	for _, m := range g.nodes {
		if m.frozen {
			g.wake(m)
		}
		if !m.dead {
			alive = append(alive, m)
		}
	}
	if len(alive) == len(g.nodes) {
		g.stop(alive...)
	} else {
		g.kill(alive...)
	}
	return time.Since(began)
}

// sweep ends the browsers of killed nodes, as their next starts would have.
func (g *testCluster) sweep() {
	for _, m := range g.nodes {
		g.sweepNode(m)
	}
}

func (g *testCluster) sweepNode(m *member) {
	browsers := browsersIn(m.data)
	if _, err := os.Stat(browsers); err != nil {
		return
	}
	_, err := browser.EndLeftovers(browsers)
	if err = errors.Join(err, os.Remove(browsers)); err != nil {
		g.home.Error(err)
	}
}
