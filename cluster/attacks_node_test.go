package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/cluster"
	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/engine"
	"troupe/testkit"
	"troupe/testkit/need"
)

func js(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// told asks a node something as another member does, and gives the answer.
func told(t testing.TB, from, to *testNode, b []byte) []byte {
	t.Helper()
	r, err := from.conn.Request("troupe.node."+to.name+".ask", b, hang)
	if err != nil {
		t.Fatalf("%d bytes of kind %d: %v", len(b), b[1], err)
	}
	return r.Data
}

// TestAttackEmptyMessages: messages that say nothing, or numbers and names that cannot
// be, end nothing at the node that gets them.
func TestAttackEmptyMessages(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	odd := js(t, map[string]any{
		"TaskID": "none", "Wait": -1, "Timeout": math.MinInt64, "After": math.MinInt64, "Tasks": -1, "Most": math.MinInt64, "Grace": math.MinInt64,
		"Object": "*", "Worker": "../..", "Name": "", "Node": ">", "ID": "", "Session": "none", "Origin": "n1", "Turn": uint64(math.MaxUint64),
	})
	var asked sync.WaitGroup
	for _, k := range cluster.Kinds() {
		if k == cluster.KindRemoveWorker { // with a grace of centuries it waits as long as it was told
			continue
		}
		for _, head := range [][]byte{[]byte("{}"), []byte("null"), odd, []byte(`{"Account":null,"Outcome":{},"Executed":{},"Polled":null}`)} {
			asked.Go(func() { told(t, n1, n2, cluster.Raw(k, head)) })
			if err := n1.conn.Publish("troupe.inventory", cluster.Raw(k, head)); err != nil {
				t.Error(err)
			}
		}
	}
	asked.Wait()
	to.until("it has answered all", func() bool { return cluster.Asked(n2.Router) == 0 })
	if h := to.played(to.send(n1, anna, patient, testkit.Script{})); h != n2 {
		t.Errorf("a task was played on %s", h.name)
	}
}

// TestAttackAnswers: a member that answers a task with something that is no answer, and then
// says nothing more, has lost the task, and nothing else. Nobody waits until the task's own
// time is over, which is longer than the test does.
func TestAttackAnswers(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0)
	n1 := to.nodes[0]
	answer := make(chan []byte, 1)
	for what, f := range map[string]func(*nats.Msg){
		"ping": func(m *nats.Msg) { _ = m.Respond([]byte("b")) },
		"ask": func(m *nats.Msg) {
			if m.Data[1] == cluster.KindExecute {
				_ = m.Respond(<-answer)
			}
		},
	} {
		sub, err := n1.conn.Subscribe("troupe.node.n9."+what, f)
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Unsubscribe()
	}
	tell := func() {
		worker := map[string]any{"ID": actors.WorkerID("n9", 1), "Name": "w", "State": api.Online}
		inventory := map[string]any{"Node": "n9", "Boot": "b", "Sent": time.Now(), "Workers": []any{worker}}
		if err := n1.conn.Publish("troupe.inventory", cluster.Raw(cluster.KindInventory, js(t, inventory))); err != nil {
			t.Fatal(err)
		}
	}
	tell()
	to.until("n9 is there", func() bool { return n1.Router.Status().PeerWorkers == 1 })
	for name, b := range map[string][]byte{
		"nothing":                     {},
		"another version":             {9, cluster.KindExecuted, 2, '{', '}'},
		"neither outcome nor reason":  cluster.Raw(cluster.KindExecuted, []byte("{}")),
		"null":                        cluster.Raw(cluster.KindExecuted, []byte("null")),
		"another answer":              cluster.Raw(13, []byte("{}")),
		"a payload that is not there": cluster.Raw(cluster.KindPayload, []byte(`{"Node":"n9","ID":"x","Size":268435456}`)),
		"a payload of another node":   cluster.Raw(cluster.KindPayload, []byte(`{"Node":"n1","ID":"x","Size":10}`)),
		"a payload of everybody":      cluster.Raw(cluster.KindPayload, []byte(`{"Node":"*","ID":"x","Size":10}`)),
		"less than nothing":           cluster.Raw(cluster.KindPayload, []byte(`{"Node":"n9","ID":"x","Size":-10}`)),
	} {
		answer <- b
		body := fmt.Sprintf(`{"timeout":120000,"workerId":%q,"session":{"override":true},"actions":[{"wait":1}]}`, actors.WorkerID("n9", 1))
		g := to.send(n1, anna, body, testkit.Script{})
		if x := to.answer(g); x.Outcome == nil || x.Outcome.End != engine.EndLost {
			t.Errorf("%s: %+v", name, x)
		}
	}
}

// TestAttackForgedRequests: a request that no node sends is turned away before anything
// of it is kept, fetched or written.
func TestAttackForgedRequests(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	files := func(n int, size int64, node string) (all []any) {
		for range n {
			all = append(all, map[string]any{"Name": "a", "Parcel": map[string]any{"Node": node, "ID": "x", "Size": size}})
		}
		return all
	}
	long := strings.Repeat("x", 1<<19)
	n := 0
	for name, forged := range map[string]map[string]any{
		"no identifier":        {"TaskID": ""},
		"a long identifier":    {"TaskID": long},
		"a node of all":        {"Origin": "*"},
		"no node":              {"Origin": ""},
		"a long boot":          {"Boot": long},
		"too many files":       {"Files": files(1001, 0, "n1")},
		"a file of a terabyte": {"Files": files(1, 1<<40, "n1")},
		"a file of less":       {"Files": files(1, -1, "n1")},
		"a file of another":    {"Files": files(1, 5, "n3")},
		"files of 125 MiB":     {"Files": files(5, 25<<20, "n1")},
	} {
		n++
		o := map[string]any{"TaskID": fmt.Sprintf("forged-%d", n), "Origin": "n1", "Boot": "b", "Account": anna}
		for k, v := range forged {
			o[k] = v
		}
		got := told(t, n1, n2, cluster.Raw(cluster.KindExecute, js(t, o), []byte(plain)))
		if got[1] != cluster.KindFault || !strings.Contains(string(got), "accept a task") {
			t.Errorf("%s: %.200q", name, got)
		}
	}
	if seen := cluster.Seen(n2.Router); seen != 0 {
		t.Errorf("%d tasks are remembered", seen)
	}
	if all, err := os.ReadDir(n2.uploads); err != nil || len(all) > 0 {
		t.Errorf("there are %d folders, %v", len(all), err)
	}
	deep := []byte(strings.Repeat(`{"loop":{"do":[`, 50_000))
	o := js(t, map[string]any{"TaskID": "deep", "Origin": "n1", "Boot": "b", "Account": anna})
	if got := told(t, n1, n2, cluster.Raw(cluster.KindExecute, o, deep)); got[1] != cluster.KindFault {
		t.Errorf("a list that is too deep: %.200q", got)
	}
	if len(n2.Engine.Plays()) > 0 {
		t.Errorf("it has played %v", n2.Engine.Plays())
	}
}

// TestAttackVerbsForNobody: ten thousand verbs for a worker that is not there are
// answered, and leave nothing behind.
func TestAttackVerbsForNobody(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	removal := cluster.Raw(cluster.KindRemoveWorker, js(t, api.RemoveWorker{Worker: "none", Grace: math.MaxInt64}))
	task := func(i int) []byte {
		o := map[string]any{"TaskID": fmt.Sprintf("nobody-%d", i), "Origin": "n1", "Boot": "b", "Account": anna}
		return cluster.Raw(cluster.KindExecute, js(t, o), []byte(`{"workerId":"none","actions":[{"wait":1}]}`))
	}
	var asked sync.WaitGroup
	for i := range 50 {
		asked.Go(func() {
			for k := range 200 {
				if k%2 == 0 {
					told(t, n1, n2, removal)
				} else {
					told(t, n1, n2, task(200*i+k))
				}
			}
		})
	}
	asked.Wait()
	to.until("it does nothing for others", func() bool { return cluster.Asked(n2.Router) == 0 })
	if seen := cluster.Seen(n2.Router); seen != 0 {
		t.Errorf("%d tasks are remembered", seen)
	}
	to.played(to.send(n1, anna, patient, testkit.Script{}))
}

// TestAttackHalfHandshakes: strangers that connect and say nothing, or too slowly, or
// announce records that do not come, hold memory and goroutines for as long as a
// handshake may take, and the node goes on.
func TestAttackHalfHandshakes(t *testing.T) {
	need.Time(t)
	t.Parallel()
	cfgs := configs(t, 3)
	m := join(t, cfgs[0])
	const each = 100
	says := map[string][]byte{
		"nothing":                     nil,
		"slow bytes":                  {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
		"a record that does not come": {0x16, 3, 1, 0x40, 0},
		"a hello of 16 MiB":           append([]byte{0x16, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff}, make([]byte, 1<<14-4)...),
		"a record of 64 KiB":          append([]byte{0x16, 3, 1, 0xff, 0xff}, make([]byte, 1<<16-1)...),
		"no TLS":                      []byte(strings.Repeat("CONNECT {}\r\n", 1000)),
	}
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	var strangers, there sync.WaitGroup
	there.Add(each * len(says))
	for name, text := range says {
		for range each {
			strangers.Go(func() {
				conn, err := net.Dial("tcp", cfgs[0].Listen)
				there.Done()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				go func() {
					if name != "slow bytes" {
						_, _ = conn.Write(text)
						return
					}
					for i := 0; ; i++ {
						if _, err := conn.Write(text[min(i, len(text)-1):][:1]); err != nil {
							return
						}
						time.Sleep(100 * time.Millisecond)
					}
				}()
				_ = conn.SetReadDeadline(time.Now().Add(hang))
				heard := 0
				for b := make([]byte, 1024); ; {
					n, err := conn.Read(b)
					heard += n
					if os.IsTimeout(err) {
						t.Errorf("%s: the connection stays open", name)
					}
					if err != nil {
						break
					}
				}
				if heard > 64 {
					t.Errorf("%s: heard %d bytes", name, heard)
				}
			})
		}
	}
	there.Wait()
	runtime.ReadMemStats(&during)
	if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > 512<<20 { // with all that runs beside it
		t.Errorf("%d MiB for %d strangers", grown>>20, each*len(says))
	}
	if err := m.Conn().FlushTimeout(hang); err != nil {
		t.Errorf("the node does not answer meanwhile: %v", err)
	}
	strangers.Wait()
	if peers := m.Peers(); len(peers) > 0 {
		t.Errorf("it takes %v for nodes", peers)
	}
}

// TestAttackJunkRecords: records that no node writes are left out, and those around
// them are there.
func TestAttackJunkRecords(t *testing.T) {
	t.Parallel()
	m := join(t, member.Config{Name: "n1", Dir: t.TempDir(), Unsynced: true})
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	s, err := store.Open(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for subject, headers := range map[string]nats.Header{
		"store.=zz":  nil,
		"store.a.=":  nil,
		"store.a.=4": nil,
		"store.time": {"Troupe-Expires": {strings.Repeat("9", 1000)}},
		"store.many": nil,
		"store.long": {"Troupe-Write": {strings.Repeat("x", 1<<20)}},
		"beat.junk":  {"Troupe-Deleted": {"1"}},
	} {
		msg := nats.NewMsg(subject)
		if headers != nil {
			msg.Header = headers
		}
		msg.Data = []byte("junk")
		if err := m.Conn().PublishMsg(msg); err != nil {
			t.Fatal(err)
		}
	}
	if n, ok, err := s.Add(ctx, "many", 1, 10, time.Time{}); err == nil && ok {
		t.Errorf("what is no number counts as %d", n)
	}
	if n, ok, err := s.Add(ctx, "a/count", 1, 10, time.Time{}); err != nil || !ok || n != 1 {
		t.Errorf("a counter: %d, %v, %v", n, ok, err)
	}
	all, err := s.List(ctx, "a/")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, r := range all {
		found = found || r.Key == "a/count" && string(r.Value) == "1"
	}
	if !found {
		t.Errorf("the records are %v", all)
	}
}
