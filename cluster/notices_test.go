package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

// receiver gets notices.
type receiver struct {
	*httptest.Server
	status atomic.Int64 // that it answers with; 0: 204
	mu     sync.Mutex
	got    []gotNotice
}

type gotNotice struct {
	id     string
	status int
	header http.Header
	body   []byte
	of     noticeBody
}

type noticeBody struct {
	Type string
	Data struct {
		TaskID, BatchID, Status, Code string
	}
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		g := gotNotice{id: q.Header.Get("webhook-id"), header: q.Header, status: int(r.status.Load())}
		if g.status == 0 {
			g.status = http.StatusNoContent
		}
		g.body, _ = io.ReadAll(q.Body)
		_ = json.Unmarshal(g.body, &g.of)
		r.mu.Lock()
		r.got = append(r.got, g)
		r.mu.Unlock()
		w.WriteHeader(g.status)
	}))
	t.Cleanup(r.Close)
	return r
}

// accepted are the notices that it has accepted, by the task or batch that they tell of.
func (r *receiver) accepted() map[string][]gotNotice {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string][]gotNotice{}
	for _, g := range r.got {
		if g.status < 300 {
			about := g.of.Data.TaskID + g.of.Data.BatchID
			all[about] = append(all[about], g)
		}
	}
	return all
}

func newNoticeCluster(t testing.TB, offAt time.Duration, goes func(testkit.Call) testkit.Script, workers ...int) *testCluster {
	t.Helper()
	to := &testCluster{t: t, store: persistence.NewMemory(), lease: clusterLease, goes: goes, notices: actors.NoticesConfig{
		Client: &http.Client{}, Delays: slices.Repeat([]time.Duration{50 * time.Millisecond}, 1000), OffAt: offAt,
	}}
	to.grow(workers...)
	to.ordered()
	return to
}

func (to *testCluster) start(h *testNode, body string) string {
	to.t.Helper()
	x, err := h.Router.Start(context.Background(), &api.Execute{Account: anna, Task: parse(to.t, body), Asked: time.Now()}, nil)
	if err != nil || x.Refusal != nil {
		to.t.Fatalf("at %s: %+v, %v", h.name, x, err)
	}
	return x.TaskID
}

func askAt[R any](to *testCluster, h *testNode, m api.Request[R]) *R {
	to.t.Helper()
	x, err := api.Ask(context.Background(), h.Router, m)
	if err != nil {
		to.t.Fatalf("%T at %s: %v", m, h.name, err)
	}
	return x
}

// TestNoticesOfNodes: whichever node takes and plays a task, its receivers get one notice of
// its end, and every node says the same of it. Endpoints and the secret are changed at any
// node.
func TestNoticesOfNodes(t *testing.T) {
	t.Parallel()
	to := newNoticeCluster(t, 0, nil, 1, 1, 1)
	hook, point := newReceiver(t), newReceiver(t)
	named := askAt(to, to.nodes[0], &api.PutEndpoint{Account: anna, Notify: engine.Notify{URL: point.URL, Events: []engine.NoticeEvent{engine.NoticeEnd}}})
	if named.Refusal != nil {
		t.Fatalf("%+v", named.Refusal)
	}
	var ids []string
	for i := range 30 {
		mode := []string{`"queue":true`, `"async":true,"queueTimeout":15000`}[i%2]
		ids = append(ids, to.start(to.nodes[i%3], fmt.Sprintf(`{"actions":[{"wait":1}],%s,"notify":[{"url":%q}]}`, mode, hook.URL)))
	}
	for _, r := range []*receiver{hook, point} {
		to.until("each end is told of", func() bool { return len(r.accepted()) == len(ids) })
	}
	secrets := map[string]bool{}
	for _, h := range to.nodes {
		secrets[askAt(to, h, &api.NoticeSecret{Account: anna}).Secret] = true
	}
	if len(secrets) != 1 {
		t.Errorf("the nodes know %d secrets", len(secrets))
	}
	rotated := askAt(to, to.nodes[2], &api.NoticeSecret{Account: anna, Rotate: true})
	if !secrets[rotated.Previous] || secrets[rotated.Secret] {
		t.Errorf("%+v", rotated)
	}
	to.until("nothing waits", func() bool {
		return len(askAt(to, to.nodes[1], &api.ListNotices{Account: anna, Waiting: true, Most: 10}).Notices) == 0
	})
	old, err := standardwebhooks.NewWebhook(rotated.Previous)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*receiver{hook, point} {
		for task, all := range r.accepted() {
			if !slices.Contains(ids, task) || len(all) != 1 || all[0].of.Type != "task.complete" {
				t.Errorf("%s: %d notices, %+v", task, len(all), all[0].of)
			}
			if err := old.Verify(all[0].body, all[0].header); err != nil {
				t.Error(err)
			}
		}
	}
	first := askAt(to, to.nodes[0], &api.ListNotices{Account: anna, Most: 100}).Notices
	for _, h := range to.nodes[1:] {
		l := askAt(to, h, &api.ListNotices{Account: anna, Most: 100}).Notices
		if len(l) != 2*len(ids) || !slices.EqualFunc(l, first, func(a, b api.Notice) bool { return a.ID == b.ID && a.Status == b.Status && a.Attempts == 1 }) {
			t.Errorf("%d notices at %s, %d at %s", len(l), h.name, len(first), to.nodes[0].name)
		}
	}
	again := first[0]
	to.redeliver(to.other(to.ordered()), again.ID)
	to.until("it is sent again, signed by both secrets", func() bool {
		fresh, _ := standardwebhooks.NewWebhook(rotated.Secret)
		for _, r := range []*receiver{hook, point} {
			for _, g := range r.accepted()[again.About] {
				if g.id == again.ID && fresh.Verify(g.body, g.header) == nil && old.Verify(g.body, g.header) == nil {
					return true
				}
			}
		}
		return false
	})
}

func (to *testCluster) redeliver(h *testNode, id string) {
	to.t.Helper()
	if x := askAt(to, h, &api.Redeliver{Account: anna, ID: id}); x.Refusal != nil {
		to.t.Fatalf("at %s: %+v", h.name, x.Refusal)
	}
}

// TestEndpointsOfNodes: a receiver that fails is switched off for every node, and switched
// on again at any.
func TestEndpointsOfNodes(t *testing.T) {
	t.Parallel()
	to := newNoticeCluster(t, 500*time.Millisecond, nil, 1, 1, 1)
	hook := newReceiver(t)
	hook.status.Store(500)
	at := to.ordered()
	task := to.start(at, fmt.Sprintf(`{"actions":[{"wait":1}],"async":true,"notify":[{"url":%q}]}`, hook.URL))
	var id string
	for _, h := range to.nodes {
		to.until(h.name+" knows that the receiver is off", func() bool {
			l := askAt(to, h, &api.ListEndpoints{Account: anna}).Endpoints
			if len(l) == 1 && !l[0].Off.IsZero() && l[0].Notify.URL == hook.URL {
				id = l[0].ID
			}
			return id != ""
		})
	}
	var notice api.Notice
	to.until("its notice is off", func() bool {
		l := askAt(to, to.other(at), &api.ListNotices{Account: anna, Most: 10}).Notices
		if len(l) == 1 && l[0].Status == api.NoticeOff {
			notice = l[0]
		}
		return notice.ID != ""
	})
	if x := askAt(to, to.other(at), &api.Redeliver{Account: anna, ID: notice.ID}); x.Refusal == nil || x.Refusal.Code != engine.CodeInvalidRequest {
		t.Errorf("%+v", x)
	}
	hook.status.Store(0)
	if x := askAt(to, to.other(at), &api.ChangeEndpoint{Account: anna, ID: id, Change: api.EndpointEnable}); x.Refusal != nil {
		t.Fatalf("%+v", x.Refusal)
	}
	to.redeliver(to.other(at), notice.ID)
	to.until("it gets its notice", func() bool { return len(hook.accepted()[task]) == 1 })
}

// TestNoticesOfALostNode: the notices of a node that is lost are sent by another one, also
// those of the tasks that it ran.
func TestNoticesOfALostNode(t *testing.T) {
	need.Time(t)
	t.Parallel()
	to := newNoticeCluster(t, 0, func(c testkit.Call) testkit.Script {
		if c.Task.WorkerID != "" {
			return testkit.Script{Takes: time.Hour}
		}
		return testkit.Script{}
	}, 1, 1, 1)
	hook := newReceiver(t)
	hook.status.Store(503)
	at := to.ordered()
	well := to.other(at)
	notify := fmt.Sprintf(`"notify":[{"url":%q}]`, hook.URL)
	runs := to.start(well, fmt.Sprintf(`{"actions":[{"wait":1}],"async":true,"workerId":%q,%s}`, actors.WorkerID(at.name, 1), notify))
	to.until("the task runs", func() bool { return at.Engine.Playing(runs) })
	ids := []string{runs}
	for range 5 {
		ids = append(ids, to.start(well, `{"actions":[{"wait":1}],"queue":true,`+notify+`}`))
	}
	to.until("notices wait", func() bool { // a task of the queue may wait for the worker that is busy
		return len(askAt(to, well, &api.ListNotices{Account: anna, Waiting: true, Most: 10}).Notices) >= len(ids)-2
	})
	to.cutOff(at, true)
	hook.status.Store(0)
	to.until("each end is told of", func() bool { return len(hook.accepted()) == len(ids) })
	if g := hook.accepted()[runs]; len(g) == 0 || g[0].of.Type != "task.failed" || g[0].of.Data.Code != string(engine.CodeWorkerLost) {
		t.Errorf("%+v", g)
	}
	ends := map[string]map[string]bool{}
	for about, all := range hook.accepted() {
		ends[about] = map[string]bool{}
		for _, g := range all {
			ends[about][g.id] = true
		}
		if len(ends[about]) != 1 {
			t.Errorf("%s: %d identifiers", about, len(ends[about]))
		}
	}
	to.cutOff(at, false)
}
