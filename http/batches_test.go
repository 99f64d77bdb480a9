package http_test

import (
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit"
)

// batchAnswer is what tests read of answers about batches.
type batchAnswer struct {
	Success     bool
	Code, Error string
	Batch       batchBody
	Batches     []batchBody
	Next        string
	Details     []struct{ Path, Message string }
}

type batchBody struct {
	BatchID, Name, Status                              string
	Items, Waiting, Running, Complete, Failed, Dropped int
	Retries                                            int
	Held                                               string
	Failures                                           []struct {
		Code    string
		Count   int
		Example *struct {
			Index         int
			TaskID, Error string
		}
	}
}

type batchLine struct {
	Index                        int
	Item                         map[string]any
	TaskID, Status, Code, Cursor string
	Result                       map[string]any
}

// sendBody sends a request with a body of any type.
func sendBody(t *testing.T, e *edge, method, path, kind, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := nethttp.NewRequest(method, "http://"+e.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Content-Type", kind)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&nethttp.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 1<<20 {
		documented(t, method, strings.Split(path, "?")[0], resp.StatusCode, resp.Header.Get("Content-Type"), b)
	}
	return resp.StatusCode, string(b)
}

const lines = "application/x-ndjson"

func askBatch(t *testing.T, e *edge, method, path, kind, body string, want int, headers ...string) (a batchAnswer) {
	t.Helper()
	status, text := sendBody(t, e, method, path, kind, body, headers...)
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != want {
		t.Fatalf("%s %s: %d %s, want %d", method, path, status, text, want)
	}
	return a
}

// results reads lines of results.
func results(t *testing.T, e *edge, path string) (all []batchLine) {
	t.Helper()
	status, text := sendBody(t, e, "GET", path, "application/json", "")
	if status != 200 {
		t.Fatalf("%s: %d %s", path, status, text)
	}
	for l := range strings.Lines(text) {
		var one batchLine
		if err := json.Unmarshal([]byte(l), &one); err != nil {
			t.Fatalf("%s: %q: %v", path, l, err)
		}
		all = append(all, one)
	}
	return all
}

// itemEngine plays tasks by their items: one with "bad" fails while bad is set, and one
// with "slow" waits.
type itemEngine struct {
	mu     sync.Mutex
	good   bool
	played []int
}

// set says whether bad and slow items are like others now, and forgets what was played.
func (x *itemEngine) set(good bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.good, x.played = good, nil
}

func batchKit(t *testing.T, workers int) (*testkit.Kit, *edge, *itemEngine) {
	x := &itemEngine{}
	eng := testkit.NewEngine()
	eng.Default = func(c testkit.Call) testkit.Script {
		var it struct {
			N         int
			Bad, Slow bool
		}
		if err := json.Unmarshal(c.Task.Item(), &it); err != nil {
			t.Errorf("the item %s: %v", c.Task.Item(), err)
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.played = append(x.played, it.N)
		if it.Slow && !x.good {
			return testkit.Script{Takes: time.Hour}
		}
		if it.Bad && !x.good {
			return testkit.Script{Outcome: &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: engine.CodeElementNotFound, Text: "no button", Index: 0, Path: "actions[0]"}}}}
		}
		return testkit.Script{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, it.N))}}
	}
	k := testkit.New(t, testkit.Options{Workers: workers, Engine: eng, Config: func(c *actors.Config) { c.QueuedUploads = t.TempDir() }})
	return k, openServer(t, k.Node, func(c *http.Config) { c.Live = k.Node }), x
}

// untilBatch asks until a batch is as it should be.
func untilBatch(t *testing.T, e *edge, id string, is func(batchBody) bool) batchBody {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		b := askBatch(t, e, "GET", "/v1/batches/"+id, "application/json", "", 200).Batch
		if is(b) {
			return b
		}
		if time.Now().After(end) {
			t.Fatalf("the batch stays %+v", b)
		}
	}
}

// ended waits until a batch has ended.
func ended(t *testing.T, e *edge, id string) batchBody {
	t.Helper()
	b := askBatch(t, e, "GET", "/v1/batches/"+id+"?wait=60000", "application/json", "", 200).Batch
	if b.Status != "ended" {
		t.Fatalf("the batch stays %+v", b)
	}
	return b
}

const batchTask = `{"actions":[{"open":"https://example.com/"},{"set":{"n":"${item.n}"}}]}`

func itemLines(n int, f func(i int) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"name":"prices","task":%s}`+"\n", batchTask)
	for i := range n {
		b.WriteString(f(i) + "\n")
	}
	return b.String()
}

func plainItem(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }

// TestBatch: a batch from its start to its end, as clients see it.
func TestBatch(t *testing.T) {
	beside(t)
	_, e, x := batchKit(t, 4)
	const n = 1000
	made := askBatch(t, e, "POST", "/v1/batches", lines, "\ufeff"+itemLines(n, func(i int) string {
		return fmt.Sprintf(`{"n":%d,"bad":%t}`, i, i%100 == 7)
	}), 202).Batch
	if made.Items != n || made.Name != "prices" || made.Status != "running" || !strings.HasPrefix(made.BatchID, "batch_") {
		t.Fatalf("the start: %+v", made)
	}
	path := "/v1/batches/" + made.BatchID
	b := ended(t, e, made.BatchID)
	if b.Complete != n-10 || b.Failed != 10 || b.Waiting+b.Running+b.Dropped != 0 {
		t.Errorf("the end: %+v", b)
	}
	if len(b.Failures) != 1 || b.Failures[0].Code != "element_not_found" || b.Failures[0].Count != 10 || b.Failures[0].Example == nil ||
		b.Failures[0].Example.Index%100 != 7 || b.Failures[0].Example.Error != "no button" {
		t.Errorf("the failures: %+v", b.Failures)
	}
	for order, sorted := range map[string]bool{"ended": false, "items": true} {
		var all []batchLine
		for cursor := ""; ; { // in parts
			part := results(t, e, path+"/results?order="+order+"&limit=70&cursor="+cursor)
			if len(part) == 0 {
				break
			}
			all, cursor = append(all, part...), part[len(part)-1].Cursor
		}
		seen := map[int]bool{}
		for i, r := range all {
			if seen[r.Index] || sorted && r.Index != i || r.Item["n"] != float64(r.Index) || r.Result == nil {
				t.Fatalf("order %s: line %d is %+v", order, i, r)
			}
			if seen[r.Index] = true; r.Status == "complete" && r.Result["data"].(map[string]any)["n"] != float64(r.Index) {
				t.Fatalf("order %s: line %d is %+v", order, i, r)
			}
		}
		if len(all) != n {
			t.Errorf("order %s: %d results", order, len(all))
		}
	}
	_, failed := sendBody(t, e, "GET", path+"/failed", "application/json", "")
	if strings.Count(failed, "\n") != 10 || !strings.HasPrefix(failed, `{"n":7,"bad":true}`) {
		t.Errorf("failed: %s", failed)
	}

	x.set(true)
	askBatch(t, e, "POST", path+"/retry", "application/json", "{}", 200)
	b = ended(t, e, made.BatchID)
	if b.Complete != n || b.Failed != 0 || b.Retries != 1 {
		t.Errorf("after the retry: %+v", b)
	}
	slices.Sort(x.played)
	if len(x.played) != 10 || x.played[9] != 907 {
		t.Errorf("the retry played %v", x.played)
	}
	if all := results(t, e, path+"/results"); len(all) != n || all[n-1].Index%100 != 7 || all[n-1].Status != "complete" {
		t.Errorf("%d results after the retry, and the last is %+v", len(all), all[len(all)-1])
	}
	askBatch(t, e, "POST", path+"/retry", "application/json", "{}", 400)

	second := askBatch(t, e, "POST", "/v1/batches", "application/json", `{"task":`+batchTask+`,"items":[{"n":1},{"n":2}]}`, 202, "Idempotency-Key", "k1").Batch
	again := askBatch(t, e, "POST", "/v1/batches", lines, itemLines(500, plainItem), 202, "Idempotency-Key", "k1").Batch
	if again.BatchID != second.BatchID || again.Items != 2 {
		t.Errorf("the key made %+v, then %+v", second, again)
	}
	l := askBatch(t, e, "GET", "/v1/batches?limit=1", "application/json", "", 200)
	if len(l.Batches) != 1 || l.Batches[0].BatchID != second.BatchID || l.Next == "" {
		t.Errorf("the list: %+v", l)
	}
	l = askBatch(t, e, "GET", "/v1/batches?limit=1&cursor="+l.Next, "application/json", "", 200)
	if len(l.Batches) != 1 || l.Batches[0].BatchID != made.BatchID || l.Next != "" {
		t.Errorf("the list goes on: %+v", l)
	}
	if status, _ := call(t, e, "GET", path, "small", ""); status != 404 {
		t.Errorf("another account gets %d", status)
	}
}

// TestBatchPauseAndCancel: a paused batch begins no more items, also none that was in the
// queue already, and leaves nothing of itself there.
func TestBatchPauseAndCancel(t *testing.T) {
	beside(t)
	k, e, x := batchKit(t, 2)
	id := askBatch(t, e, "POST", "/v1/batches", lines, itemLines(600, func(i int) string { return fmt.Sprintf(`{"n":%d,"slow":true}`, i) }), 202).Batch.BatchID
	untilBatch(t, e, id, func(b batchBody) bool { return b.Running == 2 })
	if b := askBatch(t, e, "POST", "/v1/batches/"+id+"/pause", "application/json", "{}", 200).Batch; b.Status != "paused" {
		t.Fatalf("paused: %+v", b)
	}
	tasks := askQueue(t, e, "GET", "/v1/tasks?status=queued&limit=100", "good", "", 200).Tasks
	if len(tasks) == 0 {
		t.Fatal("nothing of the batch waits in the queue")
	}
	if first := results(t, e, "/v1/batches/"+id+"/results"); len(first) != 0 {
		t.Fatalf("results: %+v", first)
	}
	for _, tk := range runningTasks(t, e) {
		askQueue(t, e, "DELETE", "/v1/tasks/"+tk, "good", "", 200)
	}
	b := untilBatch(t, e, id, func(b batchBody) bool { return b.Failed == 2 && b.Running == 0 })
	for end := time.Now().Add(20 * time.Second); k.Node.Status().Queued > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d tasks of a paused batch wait in the queue", k.Node.Status().Queued)
		}
	}
	if b.Complete != 0 || b.Waiting != 598 || len(x.played) != 2 {
		t.Errorf("paused: %+v, and %v was played", b, x.played)
	}
	x.set(true)
	askBatch(t, e, "POST", "/v1/batches/"+id+"/resume", "application/json", "{}", 200)
	if b := ended(t, e, id); b.Complete != 598 || b.Failed != 2 {
		t.Errorf("the end: %+v", b)
	}
	if len(x.played) != 598 {
		t.Errorf("%d were played", len(x.played))
	}

	x.set(false)
	id = askBatch(t, e, "POST", "/v1/batches", lines, itemLines(600, func(i int) string { return fmt.Sprintf(`{"n":%d,"slow":true}`, i) }), 202).Batch.BatchID
	untilBatch(t, e, id, func(b batchBody) bool { return b.Running == 2 })
	askBatch(t, e, "POST", "/v1/batches/"+id+"/cancel", "application/json", "{}", 200)
	b = untilBatch(t, e, id, func(b batchBody) bool { return b.Status == "cancelled" && b.Running+b.Waiting == 0 })
	if b.Failed != 2 || b.Dropped != 598 || b.Complete != 0 || len(b.Failures) != 1 || b.Failures[0].Code != "cancelled" {
		t.Errorf("cancelled: %+v", b)
	}
	seen := map[float64]string{}
	for _, list := range []string{"/failed", "/dropped"} {
		_, text := sendBody(t, e, "GET", "/v1/batches/"+id+list, "application/json", "")
		for l := range strings.Lines(text) {
			var one struct{ N float64 }
			if err := json.Unmarshal([]byte(l), &one); err != nil || seen[one.N] != "" {
				t.Fatalf("%s has %q, which is in %q: %v", list, l, seen[one.N], err)
			}
			seen[one.N] = list
		}
	}
	if len(seen) != 600 {
		t.Errorf("%d items are listed", len(seen))
	}
	if all := results(t, e, "/v1/batches/"+id+"/results"); len(all) != 2 || all[0].Status != "failed" || all[1].Code != "cancelled" {
		t.Errorf("results: %+v", all)
	}
	if n := k.Node.Status().Queued; n != 0 {
		t.Errorf("%d tasks of a cancelled batch wait", n)
	}
	askBatch(t, e, "POST", "/v1/batches/"+id+"/resume", "application/json", "{}", 400)
}

// runningTasks are the tasks that the account's list has as running.
func runningTasks(t *testing.T, e *edge) (all []string) {
	t.Helper()
	for _, one := range askQueue(t, e, "GET", "/v1/tasks?limit=100", "good", "", 200).Tasks {
		if one.Status == "running" {
			all = append(all, one.TaskID)
		}
	}
	return all
}

// TestBatchesCountInTheRoom: what batches keep counts, also of those that were cancelled at
// once. An account that has no room makes no more of them, and nobody else notices.
func TestBatchesCountInTheRoom(t *testing.T) {
	beside(t)
	l := persistence.NewLedger(0, nil)
	store := persistence.NewMemory()
	t.Cleanup(func() { store.Close() })
	eng := testkit.NewEngine()
	eng.Default = func(testkit.Call) testkit.Script { return testkit.Script{Takes: time.Hour} }
	k := testkit.New(t, testkit.Options{Workers: 1, Engine: eng, Config: func(c *actors.Config) {
		c.Store, c.Files = store, persistence.NewAccounted(persistence.NewMemoryFiles(), l)
	}})
	e := openServer(t, k.Node, bounded(l, 1, 1000), func(c *http.Config) { c.Live = k.Node })
	item := func(i int) string { return fmt.Sprintf(`{"n":%d,"of":%q}`, i, strings.Repeat("x", 5000)) }
	refused := 0
	for range 12 {
		status, text := sendBody(t, e, "POST", "/v1/batches", lines, itemLines(30, item))
		var a batchAnswer
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		switch {
		case status == 202:
			askBatch(t, e, "POST", "/v1/batches/"+a.Batch.BatchID+"/cancel", "application/json", "{}", 200)
		case status == 429 && a.Code == "storage_quota":
			refused++
		default:
			t.Fatalf("a batch: %d %s", status, text)
		}
	}
	kept := l.Of("acc1").Bytes
	if refused < 5 || kept > mib*11/10 || kept < mib/2 {
		t.Errorf("%d of 12 batches were refused, and the account keeps %d bytes", refused, kept)
	}
	for end := time.Now().Add(20 * time.Second); l.Of("acc1").HeldBytes > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("room is held for nobody")
		}
	}
	restarted := persistence.NewLedger(0, nil)
	if err := restarted.CountRecords(t.Context(), store); err != nil || restarted.Of("acc1").Bytes < kept*19/20 || restarted.Of("acc1").Bytes > kept*21/20 {
		t.Errorf("after a restart %d bytes are counted of %d: %v", restarted.Of("acc1").Bytes, kept, err)
	}
	if err := l.Full("acc2", persistence.Allowance{Bytes: mib}); err != nil {
		t.Errorf("another account: %v", err)
	}
}
