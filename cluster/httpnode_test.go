package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/cluster"
	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/engine"
	edge "troupe/http"
	"troupe/http/admin"
	httpanswer "troupe/http/answer"
	"troupe/persistence"
	"troupe/testkit"
)

// httpNode is a node of a test with all that a service has, but scripted browsers.
type httpNode struct {
	*testkit.Kit
	t        testing.TB
	member   *member.Member
	company  *cluster.Router
	usage    *persistence.Usage
	accounts *persistence.Accounts
	files    persistence.Files
	edge     *edge.Server
	base     string
}

// limits are those of the tests' plans: "basic" is the one with a limit.
func limits() map[engine.Plan]engine.Limits {
	all := engine.DefaultLimits()
	small := all[engine.Pro]
	small.TasksPerDay = 10_000
	all[engine.Basic] = small
	return all
}

// sessionLease is how long a node's sessions stay its own while it is cut off.
const sessionLease = 8 * time.Second

// openHTTPNode starts a node on a member of a cluster, with so many workers.
func openHTTPNode(t testing.TB, m *member.Member, workers int) *httpNode {
	t.Helper()
	return openScriptedNode(t, m, workers, testkit.NewEngine(), "127.0.0.1")
}

// openScriptedNode starts one whose browsers do what an engine's scripts say.
func openScriptedNode(t testing.TB, m *member.Member, workers int, engine *testkit.Engine, host string) *httpNode {
	t.Helper()
	h := &httpNode{t: t, member: m}
	opening, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	records := openStore(t, m, "account/", "token/")
	files, err := store.OpenFiles(opening, records)
	if err != nil {
		t.Fatal(err)
	}
	h.files = files
	h.accounts = persistence.NewAccounts(records)
	h.company, err = cluster.NewRouter(cluster.RouterConfig{
		Conn: m.Conn(), Node: m.Name(), Version: "test", Uploads: filepath.Join(t.TempDir(), "guests"), Log: zerolog.Nop(), Role: roleOf(m), Members: m.Members, Hub: hubOf(m), Digests: m.Accepts(),
	})
	if err != nil {
		t.Fatal(err)
	}
	h.usage = persistence.NewSharedUsage(records, persistence.QuotaSharing{
		Nodes: m.Size(), Count: h.company.Count, Majority: m.Majority, Recent: records.Copy().Get, Elsewhere: h.company.Held, WorkerNode: m.Attached(),
	})
	t.Cleanup(h.usage.Close)
	h.Kit = testkit.New(t, testkit.Options{
		Store: records, Files: files, Specs: actors.SharedWorkers(m.Name(), workers), Engine: engine,
		Config: func(c *actors.Config) {
			heard := c.OnChange
			c.Node, c.Usage, c.Limits, c.WorkerNode = m.Name(), h.usage, limits(), m.Attached()
			c.Session.Lease = sessionLease
			c.Notices = actors.NoticesConfig{Client: &http.Client{}, Result: edge.NoticeResult, Delays: slices.Repeat([]time.Duration{100 * time.Millisecond}, 1000)}
			c.Peers, c.LeadsStore = h.company, records.Leads
			c.OnChange = func(w api.WorkerInfo) { heard(w); h.company.Changed(w) }
		},
	})
	server, err := edge.New(edge.Config{
		Actors: h.company, OtherNodes: h.company, Live: h.Node, Auth: persistence.NewAccounts(records.Cached()), Counts: h.usage, Limits: limits(), Files: files,
		Uploads: filepath.Join(t.TempDir(), "uploads"), Admin: &admin.Admin{Accounts: h.accounts, Actors: h.Node},
		Cluster: func(context.Context) httpanswer.Cluster {
			return httpanswer.Cluster{Success: true, Node: m.Name(), Leader: m.Leader(), Majority: m.Majority()}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.edge = server
	if err := h.company.Open(h.Node, server); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.company.Close)
	h.base = serveEdge(t, server, host)
	return h
}

// serveEdge serves clients on a free port, and gives the address.
func serveEdge(t testing.TB, server *edge.Server, host string) (base string) {
	t.Helper()
	ln, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
		<-served
	})
	return "http://" + ln.Addr().String()
}

// roleOf is what a node says that it is for.
func roleOf(m *member.Member) string {
	if m.Attached() {
		return string(member.Worker)
	}
	return ""
}

// hubOf is the node that a worker node is connected to; nil: it is none.
func hubOf(m *member.Member) func() string {
	if !m.Attached() {
		return nil
	}
	return m.Hub
}

// token makes an account with a token.
func (h *httpNode) token(name, plan string) string {
	h.t.Helper()
	make := h.accounts.Create
	if name == "boss" {
		make = h.accounts.CreateOperator
	}
	a, err := make(ctx, name, plan)
	if err != nil {
		h.t.Fatal(err)
	}
	plain, _, err := h.accounts.CreateToken(ctx, a.ID, persistence.Issuer{})
	if err != nil {
		h.t.Fatal(err)
	}
	return plain
}

// reply is an answer of an edge.
type reply struct {
	status int
	header http.Header
	text   string
	took   time.Duration

	Success   bool   `json:"success"`
	Code      string `json:"code"`
	Status    string `json:"status"`
	TaskID    string `json:"taskId"`
	SessionID string `json:"sessionId"`
	Used      int64  `json:"usedToday"`
	Majority  *bool  `json:"majority"`
}

// client opens a connection for each request: which one a test meets must not
// depend on the requests before.
var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// ask sends a request to the node's edge. A header is given as its name and value.
func (h *httpNode) ask(method, path, token, body string, header ...string) reply {
	h.t.Helper()
	req, err := http.NewRequest(method, h.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		h.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	began := time.Now()
	res, err := client.Do(req)
	if err != nil {
		h.t.Errorf("%s %s: %v", method, path, err)
		return reply{}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Errorf("%s %s: %v", method, path, err)
	}
	r := reply{status: res.StatusCode, header: res.Header, text: string(b), took: time.Since(began)}
	_ = json.Unmarshal(b, &r) // what is no JSON has none of it
	return r
}
