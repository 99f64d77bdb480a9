package outside_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// keptSealed is what an account has that is sealed with the cluster's secret, in use while
// that changes: receivers of notices, a profile, a schedule with a secret in its task, and a
// batch. The receiver checks each signature when it comes.
type keptSealed struct {
	t        *testing.T
	g        *testCluster
	secret   string
	endpoint string // the request that made it, with a key
	schedule string
	batch    string

	mu    sync.Mutex
	about map[string]map[string]bool // by path of the receiver: the tasks and batches that were told of
}

const keptItems = 60

func keepSealed(t *testing.T, g *testCluster) *keptSealed {
	t.Helper()
	k := &keptSealed{t: t, g: g, about: map[string]map[string]bool{}}
	k.secret = k.told(g.nodes[0])
	verifier, err := standardwebhooks.NewWebhook(k.secret)
	if err != nil {
		t.Fatal(err)
	}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verifier.Verify(body, r.Header)
		}
		var n struct {
			Data struct{ TaskID, BatchID string }
		}
		if err == nil {
			err = json.Unmarshal(body, &n)
		}
		if err != nil {
			t.Errorf("a notice for %s: %v: %.300s", r.URL.Path, err, body)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.about[r.URL.Path] == nil {
			k.about[r.URL.Path] = map[string]bool{}
		}
		id := n.Data.TaskID
		if id == "" {
			id = n.Data.BatchID
		}
		k.about[r.URL.Path][id] = true
	}))
	t.Cleanup(hook.Close)

	k.endpoint = fmt.Sprintf(`{"url":"%s/endpoint","events":["end"]}`, hook.URL)
	k.keyed(g.nodes[0])
	g.good(g.play(g.nodes[0], `{"queueTimeout":20000,"profile":"kept","actions":[{"open":"http://demo.troupe.test/"},{"evaluate":"localStorage.setItem('kept', 'yes'); return 1"}]}`))
	var s struct{ Schedule struct{ ScheduleID string } }
	k.read(k.made(`/v1/schedules`, fmt.Sprintf(`{"every":10000,"task":{"actions":[{"open":"http://demo.troupe.test/login"},{"fill":["#user","${secret:pass}"]},{"evaluate":"if (user.value.length !== 13) throw new Error(user.value.length)"}],"notify":[{"url":"%s/schedule"}]}}`, hook.URL)), &s)
	k.schedule = s.Schedule.ScheduleID
	items := make([]string, keptItems)
	for i := range items {
		items[i] = fmt.Sprintf(`{"n":%d}`, i)
	}
	var b struct{ Batch struct{ BatchID string } }
	k.read(k.made(`/v1/batches`, fmt.Sprintf(`{"task":{"actions":[{"open":"http://demo.troupe.test/"},{"evaluate":"return saved.item.n"}]},"notify":[{"url":"%s/batch"}],"items":[%s]}`, hook.URL, strings.Join(items, ","))), &b)
	k.batch = b.Batch.BatchID
	return k
}

func (k *keptSealed) made(path, body string) nodeAnswer {
	k.t.Helper()
	x := k.g.ask(k.g.nodes[0], "POST", path, body)
	if x.err != nil || x.status/100 != 2 {
		k.t.Fatalf("POST %s: %v", path, x)
	}
	return x
}

// keyed makes the endpoint, or repeats the request with its key: that finds the answer of the
// first one, which is sealed.
func (k *keptSealed) keyed(at *member) {
	k.t.Helper()
	req, err := http.NewRequest("POST", at.base+"/v1/endpoints", strings.NewReader(k.endpoint))
	if err != nil {
		k.t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + k.g.token, "Content-Type": "application/json", "Idempotency-Key": "endpoint"} {
		req.Header.Set(name, value)
	}
	resp, err := alone.RoundTrip(req)
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 {
		k.t.Errorf("the endpoint with its key at %s: %d, %v: %s", at.name, resp.StatusCode, err, body)
	}
}

func (k *keptSealed) read(x nodeAnswer, to any) {
	k.t.Helper()
	if err := json.Unmarshal([]byte(x.body), to); err != nil {
		k.t.Fatalf("%v: %v", x, err)
	}
}

// told is the secret that signs notices, as a node tells it.
func (k *keptSealed) told(m *member) string {
	k.t.Helper()
	var s struct{ Secret string }
	k.read(k.g.ask(m, "GET", "/v1/notice-secret", ""), &s)
	if s.Secret == "" {
		k.t.Errorf("%s tells no secret of notices", m.name)
	}
	return s.Secret
}

// isWhole checks after the change that nothing of it was lost.
func (k *keptSealed) isWhole() {
	k.t.Helper()
	g := k.g
	for _, m := range g.nodes {
		if k.told(m) != k.secret {
			k.t.Errorf("%s signs notices with another secret than before", m.name)
		}
		k.keyed(m)
		x := g.good(g.play(m, `{"queueTimeout":20000,"profile":{"name":"kept","readonly":true},"actions":[{"open":"http://demo.troupe.test/"},{"evaluate":"return localStorage.getItem('kept')"}]}`))
		if fmt.Sprint(x.Data) != "yes" {
			k.t.Errorf("the profile at %s: %v", m.name, x)
		}
	}
	var b struct {
		Batch struct {
			Status                  string
			Items, Complete, Failed int
		}
	}
	g.until("the batch has ended", func() bool {
		k.read(g.ask(g.nodes[1], "GET", "/v1/batches/"+k.batch, ""), &b)
		return b.Batch.Status == "ended"
	})
	if b.Batch.Complete != keptItems || b.Batch.Failed != 0 {
		k.t.Errorf("the batch: %+v", b.Batch)
	}
	before := len(k.tasksTold("/schedule"))
	g.until("the schedule goes on", func() bool { return len(k.tasksTold("/schedule")) >= before+1 })
	if x := g.ask(g.nodes[2], "POST", "/v1/schedules/"+k.schedule+"/pause", "{}"); x.status != 200 {
		k.t.Errorf("pause the schedule: %v", x)
	}
	var waiting, dead struct{ Notices []json.RawMessage }
	g.until("no notice waits", func() bool {
		k.read(g.ask(g.nodes[0], "GET", "/v1/notices?status=waiting", ""), &waiting)
		return len(waiting.Notices) == 0
	})
	if k.read(g.ask(g.nodes[0], "GET", "/v1/notices?status=dead", ""), &dead); len(dead.Notices) > 0 {
		k.t.Errorf("notices that were given up: %s", dead.Notices)
	}
	if all := k.tasksTold("/batch"); len(all) != 1 {
		k.t.Errorf("of the batch's end: %v", all)
	}
	at := k.tasksTold("/endpoint")
	for id := range k.tasksTold("/schedule") {
		if !at[id] {
			k.t.Errorf("the endpoint was not told of %s", id)
		}
		x := g.poll(g.nodes[0], id, 0)
		if x.status != 200 || strings.Contains(x.body, `"errors"`) || !strings.Contains(x.body, `"complete"`) {
			k.t.Errorf("a run of the schedule: %v", x)
		}
	}
	k.t.Logf("%d runs of the schedule, %d notices at the endpoint", len(k.tasksTold("/schedule")), len(at))
	if len(at) < keptItems {
		k.t.Errorf("the endpoint was told of %d ends, and the batch alone has %d items", len(at), keptItems)
	}
}

func (k *keptSealed) tasksTold(path string) map[string]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[string]bool{}
	for id := range k.about[path] {
		all[id] = true
	}
	return all
}
