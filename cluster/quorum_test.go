package cluster_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors"
	"troupe/cluster/member"
	"troupe/persistence"
	"troupe/testkit/need"
)

// TestWithoutMajority: what the last of three nodes answers on each route.
func TestWithoutMajority(t *testing.T) {
	need.All(t)
	t.Parallel()
	const patience = 3 * time.Second // the writes before the loss come in it
	var members []*member.Member
	for _, cfg := range configs(t, 3) {
		cfg.Patience = patience
		members = append(members, join(t, cfg))
	}
	ready(t, members...)
	n1 := openHTTPNode(t, members[0], 6)
	openHTTPNode(t, members[1], 2)
	soon(t, "n1 knows the workers of n2", func() bool { return n1.company.Status().PeerWorkers == 2 })

	pro, basic, other, boss := n1.token("ada", "pro"), n1.token("bob", "basic"), n1.token("carl", "basic"), n1.token("boss", "pro")
	must := func(r reply) reply {
		t.Helper()
		if r.status != 200 {
			t.Fatalf("before the loss: %d %s", r.status, r.text)
		}
		return r
	}
	const task = `{"actions":[{"wait":0}]}`
	on := func(node, rest string) string {
		return fmt.Sprintf(`{"workerId":%q,%s"actions":[{"wait":0}]}`, actors.WorkerID(node, 1), rest)
	}
	for range 3 {
		must(n1.ask("POST", "/v1/", basic, task))
	}
	own := must(n1.ask("POST", "/v1/", pro, on("n1", `"async":true,`))).TaskID
	soon(t, "the own task has ended", func() bool {
		return n1.ask("GET", "/v1/get-result?taskId="+own, pro, "").Status == "complete"
	})
	theirs := must(n1.ask("POST", "/v1/", pro, on("n2", `"async":true,`))).TaskID
	held := must(n1.ask("POST", "/v1/", pro, on("n1", `"session":{"preserve":true},`))).SessionID
	picture, err := n1.files.Put(ctx, persistence.Blob{ContentType: "image/png", Inline: true}, strings.NewReader("a picture"))
	if err != nil {
		t.Fatal(err)
	}
	must(n1.ask("GET", "/files/"+picture.ID, "", ""))
	soon(t, "the share is there", func() bool { return n1.Node.Held()[idOf(t, n1, "bob")] > 2 })
	for _, m := range members[1:] {
		m.Close()
	}
	cut := time.Now()
	soon(t, "n1 sees no majority", func() bool { return !n1.member.Majority() && n1.company.Status().PeerWorkers == 0 })

	goOn := func(session string) string {
		return fmt.Sprintf(`{"session":{"id":%q},"actions":[{"wait":0}]}`, session)
	}
	r := n1.ask("POST", "/v1/", pro, goOn(held))
	if early := time.Since(cut) < sessionLease/2; early && (r.status != 200 || r.SessionID != held) { // later it may be over
		t.Errorf("an own session, while the node's lease goes on: %d %s", r.status, r.text)
	}

	type row struct {
		what, method, path, token, body string
		header                          []string
		status                          int
		code, says                      string
	}
	lost := func(r row) row { r.status, r.code = 503, "no_quorum"; return r }
	rows := []row{
		{what: "alive", method: "GET", path: "/healthz", status: 200},
		{what: "ready", method: "GET", path: "/readyz", status: 200},
		{what: "what can be read by anybody", method: "GET", path: "/openapi.json", status: 200},
		{what: "the cluster", method: "GET", path: "/v1/cluster", token: pro, status: 200, says: `"majority":false`},
		{what: "the workers, those of others offline", method: "GET", path: "/v1/workers", token: pro, status: 200, says: `"offline"`},
		{what: "how busy it is", method: "GET", path: "/v1/capacity", token: pro, status: 200},
		{what: "what was used, of an account with a share", method: "GET", path: "/v1/usage", token: basic, status: 200, says: `"usedToday":`},
		{what: "what was used, of an account with none", method: "GET", path: "/v1/usage", token: other, status: 200, says: `"usedToday":0`},
		{what: "the last tasks", method: "GET", path: "/v1/tasks", token: pro, status: 200, says: own},
		{what: "one of them", method: "GET", path: "/v1/tasks/" + own, token: pro, status: 200, says: own},
		{what: "a check of a task", method: "POST", path: "/v1/validate", token: pro, body: task, status: 200},
		{what: "a ticket", method: "POST", path: "/v1/tickets", token: pro, body: fmt.Sprintf(`{"object":%q}`, own), status: 200},
		{what: "a link", method: "POST", path: "/v1/links", token: pro, body: fmt.Sprintf(`{"object":%q}`, held), status: 200},
		{what: "the links", method: "GET", path: "/v1/links", token: pro, status: 200},
		lost(row{what: "a token that this node does not know", method: "GET", path: "/v1/workers", token: "troupe_" + strings.Repeat("A", 43)}),

		{what: "a task", method: "POST", path: "/v1/", token: pro, body: task, status: 200, says: `"success":true`},
		{what: "a task within the share", method: "POST", path: "/v1/", token: basic, body: task, status: 200, says: `"success":true`},
		{what: "one more", method: "POST", path: "/v1/", token: basic, body: task, status: 200, says: `"success":true`},
		lost(row{what: "a task of a limited plan without a share", method: "POST", path: "/v1/", token: other, body: task}),
		lost(row{what: "the start of an asynchronous task", method: "POST", path: "/v1/", token: pro, body: `{"async":true,"actions":[{"wait":0}]}`}),
		lost(row{what: "a request with a key", method: "POST", path: "/v1/", token: pro, body: task, header: []string{"Idempotency-Key", "one"}}),
		{what: "a named worker of a lost node", method: "POST", path: "/v1/", token: pro, body: on("n2", ""), status: 409, code: "worker_offline"},

		{what: "the end of an own task", method: "GET", path: "/v1/get-result?taskId=" + own, token: pro, status: 200, says: `"complete"`},
		{what: "its events", method: "GET", path: "/v1/tasks/" + own + "/events", token: pro, status: 200, says: "event: end"},
		{what: "the end of an own task that has ended", method: "DELETE", path: "/v1/tasks/" + own, token: pro, status: 200, says: `"cancelled":false`},
		lost(row{what: "a task on a lost node", method: "GET", path: "/v1/get-result?taskId=" + theirs, token: pro}),
		lost(row{what: "its events there", method: "GET", path: "/v1/tasks/" + theirs + "/events", token: pro}),
		lost(row{what: "its end there", method: "DELETE", path: "/v1/tasks/" + theirs, token: pro}),
		lost(row{what: "a task that nobody knows", method: "GET", path: "/v1/get-result?taskId=task_0123", token: pro}),
		lost(row{what: "a file", method: "GET", path: "/files/" + picture.ID}),

		lost(row{what: "an order that writes", method: "POST", path: "/v1/operator/account/create", token: boss, body: `{"name":"eve","plan":"pro"}`}),
		lost(row{what: "an order that reads what all have", method: "POST", path: "/v1/operator/account/list", token: boss, body: `{}`}),
		lost(row{what: "a new worker", method: "POST", path: "/v1/operator/worker/add", token: boss, body: `{"name":"one-more"}`}),
		{what: "an order to this node", method: "POST", path: "/v1/operator/capacity/list", token: boss, body: `{}`, status: 200},
		{what: "an order to one of its workers", method: "POST", path: "/v1/operator/worker/drain", token: boss, body: `{"worker":"` + actors.WorkerID("n1", 6) + `"}`, status: 200},
	}
	var all sync.WaitGroup
	try := func(c row) {
		all.Go(func() {
			r := n1.ask(c.method, c.path, c.token, c.body, c.header...)
			if r.status != c.status || r.Code != c.code || !strings.Contains(r.text, c.says) {
				t.Errorf("%s: %d %s after %v, want %d %s %s", c.what, r.status, r.text, r.took, c.status, c.code, c.says)
			}
			if after, _ := strconv.Atoi(r.header.Get("Retry-After")); r.status == 503 && after <= 0 {
				t.Errorf("%s: %d with Retry-After %q", c.what, r.status, r.header.Get("Retry-After"))
			}
			t.Logf("%-45s %d %-15s %v", c.what, r.status, r.Code, r.took.Round(time.Millisecond))
		})
	}
	for _, c := range rows {
		try(c)
	}
	all.Wait()

	soon(t, "the node's lease is over", func() bool { return n1.ask("POST", "/v1/", pro, goOn(held)).status == 503 })
	for _, c := range []row{
		lost(row{what: "an own session, after the lease", method: "POST", path: "/v1/", token: pro, body: goOn(held)}),
		lost(row{what: "a new session", method: "POST", path: "/v1/", token: pro, body: on("n1", `"session":{"preserve":true},`)}),
		{what: "and a task without one", method: "POST", path: "/v1/", token: pro, body: task, status: 200, says: `"success":true`},
	} {
		try(c)
	}
	all.Wait()
}

// idOf is the identifier of an account.
func idOf(t *testing.T, h *httpNode, name string) string {
	t.Helper()
	a, err := h.accounts.ByName(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return a.ID
}
