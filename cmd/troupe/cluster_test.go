package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine/browser"
	"troupe/testkit/leaks"
)

// member is one node of a cluster of processes.
type member struct {
	*child
	name, data, base string
	args             []string
}

// gang is such a cluster.
type gang struct {
	t     *testing.T
	nodes []*member
	token string
}

// newGang starts nodes n1, n2 … with so many workers each, and makes a token.
func newGang(t *testing.T, workers ...int) *gang {
	t.Helper()
	leaks.Check(t)
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte(hex.EncodeToString(secret)), 0o600); err != nil {
		t.Fatal(err)
	}
	var peers []string
	var held []net.Listener
	for range workers {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, ln)
		peers = append(peers, ln.Addr().String())
	}
	for _, ln := range held {
		ln.Close()
	}
	g := &gang{t: t}
	for i, n := range workers {
		m := &member{name: fmt.Sprintf("n%d", i+1)}
		m.data = filepath.Join(dir, m.name)
		m.args = []string{"serve", "--listen=127.0.0.1:0", "--data=" + m.data, "--allow-private", fmt.Sprintf("--workers=%d", n), "--log-level=warn",
			"--node=" + m.name, "--cluster-listen=" + peers[i], "--cluster-peers=" + strings.Join(peers, ","), "--cluster-secret-file=" + file}
		m.child = spawn(t, m.args...)
		g.nodes = append(g.nodes, m)
	}
	for _, m := range g.nodes {
		m.base = m.greeting(t)
	}
	code, out, errs := play(t, "", "token", "create", "--account=ada", "--plan=pro", "--data="+g.nodes[0].data)
	if g.token = strings.TrimSpace(out); code != 0 || g.token == "" {
		t.Fatalf("no token: %s%s", out, errs)
	}
	total := 0
	for _, n := range workers {
		total += n
	}
	g.until("every node knows all workers", func() bool {
		for _, m := range g.nodes {
			if g.online(m) != total {
				return false
			}
		}
		return true
	})
	return g
}

func (g *gang) until(what string, is func() bool) time.Duration {
	g.t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > 30*time.Second {
			g.t.Fatalf("it does not become so that %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

// online counts the workers that a node tells of and that are free.
func (g *gang) online(m *member) (n int) {
	status, body := get(g.t, m.base, g.token, "/v1/workers")
	var list struct {
		Workers []struct {
			State actors.State `json:"state"`
		} `json:"workers"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 {
		g.t.Fatalf("the workers at %s: %d %s", m.name, status, body)
	}
	for _, w := range list.Workers {
		if w.State == actors.Online {
			n++
		}
	}
	return n
}

type told struct {
	of
	body   string
	status int
	err    error
	at     time.Time
}

// play sends a task to a node.
func (g *gang) play(m *member, task string) told {
	g.t.Helper()
	status, body, err := post(m.base, g.token, task)
	x := told{body: body, status: status, err: err, at: time.Now()}
	if err == nil {
		x.of, x.err = parsed(body)
	}
	return x
}

func (g *gang) send(m *member, task string) <-chan told {
	c := make(chan told, 1)
	go func() { c <- g.play(m, task) }()
	return c
}

func (g *gang) good(x told) told {
	g.t.Helper()
	if x.err != nil || x.status != 200 || !x.Success {
		g.t.Fatalf("the answer is %d %s (%v)", x.status, x.body, x.err)
	}
	return x
}

func on(node, rest string) string {
	return fmt.Sprintf(`{"workerId":%q,"queueTimeout":10000,%s}`, actors.WorkerID(node, 1), rest)
}

var rounds = flag.Int("rounds", 1, "how often TestThreeNodes freezes one node and kills another")

// TestThreeNodes: three processes with a browser each are one service. A node
// that is frozen, and one that is killed, are missed in time, and what ran there
// has a definite answer.
func TestThreeNodes(t *testing.T) {
	began := time.Now()
	g := newGang(t, 0, 1, 1)
	t.Logf("three nodes are ready after %v", time.Since(began).Round(time.Millisecond))
	n1, n2, n3 := g.nodes[0], g.nodes[1], g.nodes[2]
	site, shown := numbered(t)
	seen := visits{shown: shown}

	x := g.good(g.play(n1, on("n2", fmt.Sprintf(`"session":{"preserve":true},"actions":[{"open":%q},{"getText":"h1"}]`, site+"?n=1"))))
	if x.Data != "number 1" {
		t.Errorf("the page says %v", x.Data)
	}
	x = g.good(g.play(n3, fmt.Sprintf(`{"session":{"id":%q,"close":true},"actions":[{"getText":"h1"}]}`, x.SessionID)))
	if x.Data != "number 1" {
		t.Errorf("from another node the session's page says %v", x.Data)
	}
	x = g.good(g.play(n1, `{"async":true,"queueTimeout":10000,"actions":[{"evaluate":"return 'x'.repeat(3<<20)"}]}`))
	for _, m := range g.nodes {
		status, body := get(t, m.base, g.token, "/v1/get-result?wait=10000&taskId="+x.TaskID)
		if a := read(t, body); status != 200 || a.Status != "complete" || len(fmt.Sprint(a.Data)) != 3<<20 {
			t.Errorf("%s tells of the task: %d %.200s", m.name, status, body)
		}
	}

	x = g.good(g.play(n1, on("n2", fmt.Sprintf(`"actions":[{"open":%q},{"screenshot":"viewport"}]`, site))))
	data, _ := x.Data.(map[string]any)
	picture, _ := data["url"].(string)
	_, file, _ := strings.Cut(picture, "/files/")
	for _, m := range g.nodes {
		if status, b := get(t, m.base, g.token, "/files/"+file); status != 200 || !strings.HasPrefix(b, "\x89PNG") {
			t.Errorf("%s has of the picture %q: %d, %d bytes", m.name, picture, status, len(b))
		}
	}
	status, body := get(t, n1.base, g.token, "/v1/cluster")
	if strings.Count(body, `"up":true`) != 3 || !strings.Contains(body, `"majority":true`) {
		t.Errorf("the cluster: %d %s", status, body)
	}
	if code, out, errs := play(t, "", "cluster", "status", "--data="+n1.data); code != 0 || strings.Count(out, "up") < 3 || !strings.Contains(out, "leads") {
		t.Errorf("the status: %d %s%s", code, out, errs)
	}

	page := 1
	open := func() (task string, n int) {
		page++
		return fmt.Sprintf(`"actions":[{"open":%q}`, fmt.Sprintf("%s?n=%d", site, page)), page
	}
	anywhere := func() {
		t.Helper()
		task, _ := open()
		g.good(g.play(n1, `{"queueTimeout":10000,`+task+`]}`))
	}
	for round := range *rounds {
		task, n := open()
		frozen := g.send(n1, on("n3", task+`,{"wait":20000}]`))
		seen.until(t, n)
		g.lost(n1, n3, syscall.SIGSTOP, frozen, 3*time.Second)
		anywhere() // what may go anywhere does not notice
		if err := n3.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		back := g.until("n3 is back, and has dropped its task", func() bool { return g.online(n1) == 2 })
		t.Logf("woken up: its worker is free after %v", back.Round(time.Millisecond))

		task, n = open()
		killed := g.send(n1, on("n2", task+`,{"wait":20000}]`))
		seen.until(t, n)
		g.lost(n1, n2, syscall.SIGKILL, killed, time.Second)
		anywhere()
		<-n2.done
		if round == *rounds-1 { // the next start would end its browser
			browsers, err := browserFolder(n2.data)
			if err == nil {
				_, err = browser.EndLeftovers(browsers)
			}
			if err != nil || os.Remove(browsers) != nil {
				t.Error(err)
			}
			break
		}
		began := time.Now()
		n2.child = spawn(t, n2.args...)
		n2.base = n2.greeting(t)
		g.until("n2 is back", func() bool { return g.online(n1) == 2 })
		t.Logf("started again: its worker is free after %v", time.Since(began).Round(time.Millisecond))
		task, _ = open()
		g.good(g.play(n3, on("n2", task+`]`)))
	}
	for n := range page {
		if got := seen.of(n + 1); got != 1 {
			t.Errorf("page %d was opened %d times", n+1, got)
		}
	}
	began = time.Now()
	for _, m := range []*member{n1, n3} { // both at once: what is left of a cluster is slow to end
		_ = m.Process.Signal(syscall.SIGTERM)
	}
	for _, m := range []*member{n1, n3} {
		if err := m.end(t, 20*time.Second); err != nil {
			t.Errorf("the end of %s: %v", m.name, err)
		}
	}
	t.Logf("told to stop: they have ended after %v", time.Since(began).Round(time.Millisecond))
}

// visits counts what was opened of numbered pages.
type visits struct {
	shown <-chan string
	n     map[string]int
}

func (v *visits) of(n int) int {
	if v.n == nil {
		v.n = map[string]int{}
	}
	for len(v.shown) > 0 {
		v.n[<-v.shown]++
	}
	return v.n[fmt.Sprint(n)]
}

func (v *visits) until(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); v.of(n) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("page %d is not opened", n)
		}
	}
}

// lost ends a node by a signal, and fails the test unless what runs on it is
// answered in time.
func (g *gang) lost(at, m *member, s syscall.Signal, running <-chan told, within time.Duration) {
	g.t.Helper()
	began := time.Now()
	if err := m.Process.Signal(s); err != nil {
		g.t.Fatal(err)
	}
	x := <-running
	took := x.at.Sub(began)
	g.t.Logf("%s of %s: answered after %v", s, m.name, took.Round(time.Millisecond))
	if x.err != nil || x.status != 200 || x.Code != "worker_lost" || took > within {
		g.t.Errorf("after %v the answer at %s is %d %s (%v)", took, at.name, x.status, x.body, x.err)
	}
	if x := g.play(at, on(m.name, `"actions":[{"wait":1}]`)); x.Code != "worker_offline" || x.status != http.StatusConflict {
		g.t.Errorf("a request for its worker: %d %s", x.status, x.body)
	}
}

var costs = flag.Int("cost", 0, "how many tasks TestForwardedCost plays in each way")

// TestForwardedCost compares a task that is sent to the node of its worker with
// the same one sent to another node: one after the other, in turns.
func TestForwardedCost(t *testing.T) {
	if *costs == 0 {
		t.Skip("it measures only: -cost 500")
	}
	g := newGang(t, 0, 1, 0)
	site, _ := numbered(t)
	w1 := fmt.Sprintf(`"actions":[{"open":%q},{"getText":"h1"}]`, site)
	for name, task := range map[string]string{"W1": w1, "nothing": `"actions":[{"wait":0}]`} {
		var here, there []time.Duration
		for i := range 2 * *costs {
			began := time.Now()
			g.good(g.play(g.nodes[(i+1)%2], on("n2", task)))
			if took := time.Since(began); i%2 == 0 {
				here = append(here, took)
			} else {
				there = append(there, took)
			}
		}
		slices.Sort(here)
		slices.Sort(there)
		h, f := here[len(here)/2], there[len(there)/2]
		t.Logf("%s: here %v, forwarded %v (p50 of %d each): %d µs more, %.3f times", name, h, f, len(here), (f - h).Microseconds(), float64(f)/float64(h))
	}
}
