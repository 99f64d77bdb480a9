package outside_test

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	cluster "troupe/cluster/member"
	"troupe/testkit/need"
)

// writeSecrets gives all nodes a file with these secrets.
func (g *testCluster) writeSecrets(lines ...string) {
	g.t.Helper()
	if err := os.WriteFile(g.secretFile(), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// welcomes reports whether a node takes somebody with a secret for a node.
func (g *testCluster) welcomes(m *member, secret string) bool {
	g.t.Helper()
	cfg, err := (cluster.Config{Secret: []byte(secret)}).TLS()
	if err != nil {
		g.t.Fatal(err)
	}
	cfg.VerifyConnection = nil // whatever the node shows: the question is what it says
	conn, err := tls.Dial("tcp", m.peer, cfg)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(hang))
	_, _ = io.WriteString(conn, "PING\r\n")
	_, err = conn.Read(make([]byte, 1))
	return err == nil || err == io.EOF
}

// TestSecretChanges: the nodes' secret is changed under load, by the steps of the runbook.
// No request is refused, what is stored can be read, and the old secret is worth nothing
// at the end.
//
// Promise: The cluster's secret changes under load (docs/cluster.md).
func TestSecretChanges(t *testing.T) {
	need.All(t)
	t.Parallel()
	g := newTestCluster(t, 1, 1, 1)
	b, err := os.ReadFile(g.secretFile())
	if err != nil {
		t.Fatal(err)
	}
	older := strings.TrimSpace(string(b))
	random := make([]byte, 32)
	_, _ = rand.Read(random)
	newer := hex.EncodeToString(random)
	n1 := operatorCLI{t, g.nodes[0].data}

	if code, _, errs := play(t, "correct horse", "secret", "set", "pass", "--account=ada", "--origin=http://demo.troupe.test", "--data="+n1.data); code != 0 {
		t.Fatal(errs)
	}
	balance := &balancer{g: g, to: g.nodes}
	balance.watch()
	kept := keepSealed(t, g)
	load := g.pour(balance, 3, true)
	load.until(10)

	// Steps in a wrong order change nothing.
	g.writeSecrets(newer)
	n1.refuses(exitFailed, "drain this node first", "cluster", "secret", "reload")
	n1.refuses(exitFailed, "its own secret is not in the file", "cluster", "secret", "reload", "--now")
	g.writeSecrets(newer, older)
	n1.refuses(exitFailed, "does not accept the secret in the first line", "cluster", "secret", "reload")
	g.writeSecrets(older, "short")
	n1.refuses(exitFailed, "line 2 of the nodes' secrets must be 32 random characters", "cluster", "secret", "reload")

	reload := func(m *member) string {
		t.Helper()
		return operatorCLI{t, m.data}.says("cluster", "secret", "reload")
	}
	began := time.Now()
	g.writeSecrets(older, newer)
	for _, m := range g.nodes {
		reload(m)
	}
	t.Logf("1: all nodes accept the new secret after %v", time.Since(began).Round(time.Millisecond))
	g.writeSecrets(newer)
	n1.refuses(exitFailed, "its own secret is not in the file", "cluster", "secret", "reload", "--now")

	g.writeSecrets(newer, older)
	sealed := 0
	for _, m := range g.nodes {
		var n int
		if _, again, found := strings.Cut(reload(m), "Records sealed again: "); found {
			_, _ = fmt.Sscan(again, &n)
		}
		sealed += n
	}
	if sealed == 0 {
		t.Error("no record was sealed again")
	}
	t.Logf("2: all nodes use the new secret after %v, %d records were sealed again", time.Since(began).Round(time.Millisecond), sealed)
	if said := n1.says("cluster", "secret", "show"); strings.Count(said, "own") != 2 || strings.Count(said, "accepted") != 2 {
		t.Errorf("the secrets: %s", said)
	}
	for _, m := range g.nodes {
		if !g.welcomes(m, older) || !g.welcomes(m, newer) {
			t.Errorf("%s does not accept both secrets", m.name)
		}
	}

	g.writeSecrets(newer)
	for _, m := range g.nodes {
		g.drain(m)
		if said := reload(m); !strings.Contains(said, "It refuses ") {
			t.Errorf("the last step at %s: %s", m.name, said)
		}
		g.until("all see "+m.name, func() bool {
			for _, at := range g.nodes {
				if strings.Count(g.ask(at, "GET", "/v1/cluster", "").body, `"up":true`) != len(g.nodes) {
					return false
				}
			}
			return true
		})
		operatorCLI{t, m.data}.says("resume")
		g.until(m.name+" is ready", func() bool { return g.ask(m, "GET", "/readyz", "").status == 200 })
		time.Sleep(noticing) // as an operator does: the balancer must send to it again
	}
	t.Logf("3: all nodes refuse the old secret after %v", time.Since(began).Round(time.Millisecond))
	load.until(load.count() + 10)
	all := load.end()
	for _, a := range all {
		if !a.right {
			t.Errorf("a request under the change: %v", a.nodeAnswer)
		}
	}
	t.Logf("%d requests, the slowest took %v", len(all), load.slowest().Round(time.Millisecond))

	for _, m := range g.nodes {
		if g.welcomes(m, older) || !g.welcomes(m, newer) {
			t.Errorf("%s accepts the old secret, or not the new one", m.name)
		}
		x := g.good(g.play(m, `{"queueTimeout":10000,"actions":[{"open":"http://demo.troupe.test/login"},{"fill":["#user","${secret:pass}"]},{"evaluate":"return user.value.length"}]}`))
		if fmt.Sprint(x.Data) != "13" {
			t.Errorf("typed at %s: %v", m.name, x)
		}
	}
	kept.isWhole()

	// A node that starts with the new file alone is one of them, and reads what was sealed.
	g.stop(g.nodes[2])
	g.start(g.nodes[2])
	g.allKnow(g.workers())
}
