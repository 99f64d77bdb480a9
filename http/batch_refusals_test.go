package http_test

import (
	"encoding/json"
	"strings"
	"testing"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

// TestBatchRefusals: what is wrong is named with its line and its field, and nothing of
// the batch is played.
func TestBatchRefusals(t *testing.T) {
	beside(t)
	_, e, x := batchKit(t, 1)
	head := `{"task":` + batchTask + `}` + "\n"
	for _, c := range []struct{ kind, body, path, text string }{
		{lines, ``, "", "in the first line"},
		{lines, head, "/items", "at least one"},
		{lines, "{\n", "", "line 1: "},
		{lines, `{"tasks":1}` + "\n", "/tasks", `line 1: the batch has no field "tasks"; did you mean`},
		{lines, `{"task":{"actions":[{"opn":"x"}]}}` + "\n" + `{"n":1}`, "/task/actions/0/opn", "line 1: "},
		{lines, `{"task":{"queue":false,"actions":[{"wait":1}]}}` + "\n", "/task/queue", "line 1: the tasks of a batch are queued"},
		{lines, `{"task":{"queue":{"key":"a"},"actions":[{"wait":1}]}}` + "\n", "/task/queue/key", "give the batch one"},
		{lines, head + `{"n":1}` + "\n\n" + `{"m":1}`, "/items/1/n", "line 4: missing: /actions/1 of the task reads ${item.n}"},
		{lines, head + `{"n":1}` + "\n" + `[1]`, "/items/1", "line 3: want an object"},
		{lines, head + `{"n":1}` + "\n" + `{"n":`, "/items/1/n", "line 3: "},
		{"application/json", `{"task":` + batchTask + `}`, "", "has no items"},
		{"application/json", `{"items":[]}`, "", "has no task"},
		{"application/json", `{"task":` + batchTask + `,"items":[{"n":1},{}]}`, "/items/1/n", "missing"},
		{"application/json", `{"task":` + batchTask + `,"items":{}}`, "/items", "want an array"},
		{"application/json", `{"name":"","task":` + batchTask + `,"items":[{"n":1}]}`, "/name", "not an empty string"},
	} {
		a := askBatch(t, e, "POST", "/v1/batches", c.kind, c.body, 400)
		if len(a.Details) == 0 || a.Details[0].Path != c.path || !strings.Contains(a.Details[0].Message, c.text) {
			t.Errorf("%q: %+v, want %q at %q", c.body, a.Details, c.text, c.path)
		}
	}
	if status, _ := sendBody(t, e, "POST", "/v1/batches", "text/plain", head); status != 415 {
		t.Errorf("text is %d", status)
	}
	if l := askBatch(t, e, "GET", "/v1/batches", "application/json", "", 200); len(l.Batches) != 0 || len(x.played) != 0 {
		t.Errorf("%+v is listed, %v was played", l.Batches, x.played)
	}
	askBatch(t, e, "GET", "/v1/batches/none", "application/json", "", 404)
	askBatch(t, e, "GET", "/v1/batches?limit=0", "application/json", "", 400)
	b := askBatch(t, e, "POST", "/v1/batches", lines, itemLines(1, plainItem), 202).Batch
	askBatch(t, e, "GET", "/v1/batches/"+b.BatchID+"?wait=60001", "application/json", "", 400)
	for _, q := range []string{"order=size", "cursor=x", "order=items&cursor=-1", "limit=x"} {
		askBatch(t, e, "GET", "/v1/batches/"+b.BatchID+"/results?"+q, "application/json", "", 400)
	}
}

// TestBatchLimits: how much an account may have in batches, and how little of a batch is
// in the queue.
func TestBatchLimits(t *testing.T) {
	need.NoRace(t)
	beside(t)
	limits := engine.DefaultLimits()
	pro := limits[engine.Pro]
	pro.QueueTasks, pro.QueueBytes = 2000, 1<<20
	limits[engine.Pro] = pro
	k := testkit.New(t, testkit.Options{Workers: 1, Config: func(c *actors.Config) { c.QueuedUploads, c.Limits = t.TempDir(), limits }})
	e := openServer(t, k.Node, func(c *http.Config) { c.Live = k.Node })
	k.Node.HoldQueue(true)
	big := `{"n":"` + strings.Repeat("x", engine.MaxItem) + `"}`
	if a := askBatch(t, e, "POST", "/v1/batches", lines, itemLines(1, func(int) string { return big }), 400); !strings.Contains(a.Error, "line 2: has 262152 bytes: want at most 262144") {
		t.Errorf("a large item: %+v", a)
	}
	long := itemLines(1, func(int) string { return `{"n":"` + strings.Repeat("x", 1<<20) + `"}` })
	if a := askBatch(t, e, "POST", "/v1/batches", lines, long, 400); !strings.Contains(a.Error, "line 2: has more than 1048576 bytes") {
		t.Errorf("a long line: %+v", a)
	}
	if status, text := sendBody(t, e, "POST", "/v1/batches", "application/json", strings.Repeat(" ", 1<<20)+"{}"); status != 413 {
		t.Errorf("a large batch as JSON: %d %s", status, text)
	}
	if a := askBatch(t, e, "POST", "/v1/batches", lines, itemLines(2001, plainItem), 429); a.Code != "queue_full" || !strings.Contains(a.Error, "2001 items") && !strings.Contains(a.Error, "items that wait") {
		t.Errorf("too many items: %+v", a)
	}
	half := strings.Repeat("x", 200<<10)
	if a := askBatch(t, e, "POST", "/v1/batches", lines, itemLines(6, func(int) string { return `{"n":"` + half + `"}` }), 429); a.Code != "queue_full" || !strings.Contains(a.Error, "bytes that wait") {
		t.Errorf("too many bytes: %+v", a)
	}
	askBatch(t, e, "POST", "/v1/batches", lines, itemLines(1000, plainItem), 202)
	for range 999 {
		askBatch(t, e, "POST", "/v1/batches", lines, itemLines(1, plainItem), 202)
	}
	const first, others = 256, 999 // of the first batch as many as may be there at once
	eventually(t, "the items are in the queue", func() bool { return k.Node.Status().Queued >= first+others })
	if n := k.Node.Status().Queued; n != first+others {
		t.Errorf("%d items are in the queue", n)
	}
	if a := askBatch(t, e, "POST", "/v1/batches", lines, itemLines(1, plainItem), 429); a.Code != "queue_full" || !strings.Contains(a.Error, "1000 batches are kept") {
		t.Errorf("too many batches: %+v", a)
	}
}

// TestBatchWaitsForStorage: where results have no room no more items begin, until older
// ones make room. A new batch is refused.
func TestBatchWaitsForStorage(t *testing.T) {
	beside(t)
	limits := engine.DefaultLimits()
	pro := limits[engine.Pro]
	pro.StorageBytes, pro.StorageFiles = 300_000, 1000
	limits[engine.Pro] = pro
	ledger := persistence.NewLedger(0, nil)
	files := persistence.NewAccounted(persistence.NewMemoryFiles(), ledger)
	eng := testkit.NewEngine()
	eng.Default = func(testkit.Call) testkit.Script {
		return testkit.Script{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)}}
	}
	k := testkit.New(t, testkit.Options{Workers: 4, Engine: eng, Config: func(c *actors.Config) { c.QueuedUploads, c.Limits, c.Files = t.TempDir(), limits, files }})
	e := openServer(t, k.Node, func(c *http.Config) { c.Live, c.Ledger, c.Limits = k.Node, ledger, limits })
	id := askBatch(t, e, "POST", "/v1/batches", lines, itemLines(1000, plainItem), 202).Batch.BatchID
	b := untilBatch(t, e, id, func(b batchBody) bool { return b.Held != "" && b.Running == 0 })
	// The items count, and each end with some 1,500 bytes. Those that were in the queue go on.
	if b.Held != "storage_quota" || b.Complete < 100 || b.Complete > 700 {
		t.Errorf("without room: %+v", b)
	}
	askBatch(t, e, "POST", "/v1/batches", lines, itemLines(1, plainItem), 429)
	k.Node.SetLimits(engine.DefaultLimits())
	if b := ended(t, e, id); b.Complete != 1000 || b.Held != "" {
		t.Errorf("with room: %+v", b)
	}
}

// TestBatchOfAnyLength: as lines, a batch may be larger than any other request, and its
// client may ask before it sends it.
//
// Promise: A batch can have lines of any length (docs/batches.md#many-items).
func TestBatchOfAnyLength(t *testing.T) {
	need.All(t)
	need.NoRace(t)
	beside(t)
	k := testkit.New(t, testkit.Options{Workers: 1, Config: func(c *actors.Config) { c.QueuedUploads = t.TempDir() }})
	e := openServer(t, k.Node, func(c *http.Config) { c.Live = k.Node })
	k.Node.HoldQueue(true)
	const n, size = 420, 255 << 10 // 105 MiB
	line := `{"n":"` + strings.Repeat("x", size) + `"}`
	body := itemLines(n, func(int) string { return line })
	for _, headers := range [][]string{nil, {"Expect", "100-continue"}} {
		if b := askBatch(t, e, "POST", "/v1/batches", lines, body, 202, headers...).Batch; b.Items != n {
			t.Errorf("%v: %+v", headers, b)
		}
	}
	if status, text := sendBody(t, e, "POST", "/v1/batches", "application/json", body); status != 413 {
		t.Errorf("as JSON: %d %s", status, text)
	}
}

// TestBatchesNeedAQueue: a node that shares a store without a lease has no queue, and says so
// of batches.
func TestBatchesNeedAQueue(t *testing.T) {
	beside(t)
	k := testkit.New(t, testkit.Options{Workers: 1, Config: func(c *actors.Config) { c.Node = "n1" }})
	e := openServer(t, k.Node, func(c *http.Config) { c.Live = k.Node })
	for path, method := range map[string]string{"": "GET", "/b1": "GET", "/b1/results": "GET", "/b1/failed": "GET", "/b1/pause": "POST"} {
		if a := askBatch(t, e, method, "/v1/batches"+path, "application/json", "{}", 501); a.Code != "queue_unavailable" {
			t.Errorf("%s %s: %+v", method, path, a)
		}
	}
	if a := askBatch(t, e, "POST", "/v1/batches", lines, itemLines(3, plainItem), 501); a.Code != "queue_unavailable" {
		t.Errorf("a batch: %+v", a)
	}
}

// TestBatchesOfARemovedAccount: nothing of its batches is left, or goes on.
func TestBatchesOfARemovedAccount(t *testing.T) {
	beside(t)
	store := persistence.NewMemory()
	defer store.Close()
	k := testkit.New(t, testkit.Options{Workers: 1, Config: func(c *actors.Config) { c.QueuedUploads, c.Store = t.TempDir(), store }})
	e := openServer(t, k.Node, func(c *http.Config) { c.Live = k.Node })
	k.Node.HoldQueue(true)
	askBatch(t, e, "POST", "/v1/batches", lines, itemLines(700, plainItem), 202)
	eventually(t, "items are in the queue", func() bool { return k.Node.Status().Queued == 256 })
	if _, err := api.Ask(t.Context(), k.Node, &api.RemoveAccount{Account: "acc1"}); err != nil {
		t.Fatal(err)
	}
	if l := askBatch(t, e, "GET", "/v1/batches", "application/json", "", 200); len(l.Batches) != 0 || k.Node.Status().Queued != 0 {
		t.Errorf("%+v is listed, %d tasks wait", l.Batches, k.Node.Status().Queued)
	}
	left, err := store.Keys(t.Context(), "batch", "", 10)
	if err != nil || len(left) != 0 {
		t.Errorf("%+v is left, %v", left, err)
	}
}
