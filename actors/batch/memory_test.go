package batch

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// TestBatchesKeepTexts: a batch has the text of its task in memory, and not the parsed one,
// while it goes on; after its end it has neither, and it is as it was when it is retried.
func TestBatchesKeepTexts(t *testing.T) {
	need.NoRace(t)
	files, err := persistence.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	disk, err := records.Open(records.Config{Log: zerolog.Nop(), Files: files})
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	number, order := 0, uint64(0)
	var bound atomic.Bool // by limits that let no batch run
	limits := func() map[engine.Plan]engine.Limits {
		all := engine.DefaultLimits()
		if bound.Load() {
			all[ada.Plan] = engine.Limits{Sessions: true}
		}
		return all
	}
	m, err := Open(t.Context(), Config{
		Records: disk, Queue: &noQueue{}, Limits: limits, Log: zerolog.Nop(),
		NewID: func() string { number++; return fmt.Sprintf("batch_%d", number) }, Order: func() uint64 { order++; return order },
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Start()
	defer m.Stop()
	const batches = 5
	text := `{"actions":[` + strings.Repeat(`{"set":{"n":[`+strings.Repeat(`"${item.n}",`, 250)+`1]}},`, 100) + `{"wait":1}]}`
	template, err := engine.ParseTemplate([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	live := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	change := func(id string, c api.BatchChange) {
		t.Helper()
		if x, err := m.Change(t.Context(), &api.ChangeBatch{Account: ada, ID: id, Change: c}); err != nil || x.Refusal != nil {
			t.Fatal(x, err)
		}
	}
	state := func(id string) api.Batch {
		t.Helper()
		x, err := m.Get(t.Context(), &api.GetBatch{Account: ada, ID: id})
		if err != nil || x.Refusal != nil {
			t.Fatal(x, err)
		}
		return *x.Batch
	}
	queued := func(id string) func() bool {
		return func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			for _, it := range m.all[id].live {
				if it.queued {
					return true
				}
			}
			return false
		}
	}
	before := live()
	var ids []string
	for range batches {
		x, err := m.Create(t.Context(), &api.CreateBatch{Account: ada, Task: template.Task.Within([]string{"shop.example"})})
		if err != nil || x.Refusal != nil {
			t.Fatal(x, err)
		}
		id := x.Batch.ID
		ids = append(ids, id)
		if x, err := m.Add(t.Context(), &api.AddBatchItems{Account: ada, ID: id, Items: []json.RawMessage{json.RawMessage(`{"n":1}`)}}); err != nil || x.Refusal != nil {
			t.Fatal(x, err)
		}
		change(id, api.BatchReady)
		wait.Until(t, "its item is in the queue", queued(id))
	}
	each := (live() - before) / batches
	t.Logf("a batch of %d KiB that goes on has %d KiB", len(text)>>10, each>>10)
	if each > int64(len(text))*3/2 {
		t.Errorf("a batch of %d bytes that goes on has %d in memory", len(text), each)
	}
	m.mu.Lock()
	s := m.all[ids[0]]
	m.mu.Unlock()
	for _, no := range []bool{true, false} {
		bound.Store(no)
		if n := testing.AllocsPerRun(5, func() { // the first is not counted
			if err := m.follow(s); (err != nil) != no {
				t.Error(err)
			}
		}); n > 100 {
			t.Errorf("bound %v: asking the plan has made %v pieces of memory: the task was parsed again", no, n)
		}
	}
	for i, id := range ids {
		if i > 0 {
			change(id, api.BatchCancel)
		}
		task := m.task(id, 0)
		of := &api.BatchRef{Batch: id}
		place, done, err := m.Ending(t.Context(), of)
		if err == nil {
			err = disk.Batches().End(t.Context(), *of, records.BatchEnd{Task: task, Status: api.TaskFailed, Code: engine.CodeTimeout, Ended: time.Now(), Order: place})
		}
		if err != nil {
			t.Fatal(err)
		}
		done(engine.CodeTimeout, true, nil)
		wait.Until(t, "it has ended", func() bool { return !state(id).Ended.IsZero() })
	}
	each = (live() - before) / batches
	t.Logf("one that has ended has %d KiB", each>>10)
	if each > 200<<10 { // what was parsed last may still be somewhere
		t.Errorf("a batch that has ended has %d bytes in memory", each)
	}
	if b := state(ids[1]); b.Failed != 1 || fmt.Sprint(b.Sites) != "[shop.example]" {
		t.Errorf("after its end: %+v", b)
	}
	change(ids[0], api.BatchRetry)
	wait.Until(t, "its item is played again", queued(ids[0]))
	b, err := disk.Batches().Read(t.Context(), ada.ID, ids[0])
	if err != nil || b.State != api.BatchRunning || len(b.Task) < len(text) {
		t.Errorf("retried: %s, a task of %d bytes, %v", b.State, len(b.Task), err)
	}
	runtime.KeepAlive(template)
}
