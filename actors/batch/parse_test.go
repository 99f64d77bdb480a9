package batch

import (
	"context"
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

// slowQueue takes what it is given when it is told to, or refuses it.
type slowQueue struct {
	noQueue
	asked, taken atomic.Int64
	refuses      bool
	takes        chan struct{}
}

func (q *slowQueue) Add(ctx context.Context, x *api.Execute) (*api.Started, error) {
	q.asked.Add(1)
	if q.refuses {
		return &api.Started{TaskID: x.TaskID, Refusal: api.Refuse(engine.CodeTooManyWaiting, "")}, nil
	}
	select {
	case <-q.takes:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	q.taken.Add(1)
	return q.noQueue.Add(ctx, x)
}

// largeBatches makes batches that go on at the same moment, with one item each.
func largeBatches(t *testing.T, q Queue, text string, n int) *Batches {
	t.Helper()
	files, err := persistence.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	disk, err := records.Open(records.Config{Log: zerolog.Nop(), Files: files})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disk.Close)
	var number, order atomic.Uint64
	m, err := Open(t.Context(), Config{
		Records: disk, Queue: q, Limits: engine.DefaultLimits, Log: zerolog.Nop(),
		NewID: func() string { return fmt.Sprintf("batch_%d", number.Add(1)) }, Order: func() uint64 { return order.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Start()
	t.Cleanup(m.Stop)
	template, err := engine.ParseTemplate([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		x, err := m.Create(t.Context(), &api.CreateBatch{Account: ada, Task: template.Task})
		if err != nil || x.Refusal != nil {
			t.Fatal(x, err)
		}
		if x, err := m.Add(t.Context(), &api.AddBatchItems{Account: ada, ID: x.Batch.ID, Items: []json.RawMessage{json.RawMessage(`{"n":1}`)}}); err != nil || x.Refusal != nil {
			t.Fatal(x, err)
		}
		if x, err := m.Change(t.Context(), &api.ChangeBatch{Account: ada, ID: x.Batch.ID, Change: api.BatchReady}); err != nil || x.Refusal != nil {
			t.Fatal(x, err)
		}
	}
	return m
}

// TestLargeTasksOfBatchesTakeTurns: however many batches of an account go on at the same moment,
// one large task of them is parsed at a time. The others go on after it.
func TestLargeTasksOfBatchesTakeTurns(t *testing.T) {
	need.NoRace(t)
	const batches = 12
	text := `{"actions":[` + strings.Repeat(`{"set":{"n":[`+strings.Repeat(`"${item.n}",`, 250)+`1]}},`, 100) + `{"wait":1}]}`
	live := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	q := &slowQueue{takes: make(chan struct{})}
	before := live()
	m := largeBatches(t, q, text, batches)
	wait.Until(t, "an item is offered to the queue, and the others wait or are offered, too", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		p := m.parsed[ada.ID]
		return q.asked.Load() > 0 && (q.asked.Load() == batches || p != nil && p.users == batches)
	})
	offered, has := q.asked.Load(), live()-before-int64(batches*len(text))
	t.Logf("%d batches have %d KiB beside their texts of %d KiB", batches, has>>10, len(text)>>10)
	if most := int64(40 * len(text)); offered > 1 || has > most {
		t.Errorf("%d large tasks are parsed at once, and %d batches of %d KiB have %d KiB beside their texts, want at most %d", offered, batches, len(text)>>10, has>>10, most>>10)
	}
	close(q.takes)
	wait.Until(t, "all items are in the queue", func() bool { return q.taken.Load() == batches })
}

// TestHeldBatchesRest: batches that the queue takes nothing of have a large task parsed now and
// then, and not each of them all the time.
func TestHeldBatchesRest(t *testing.T) {
	const batches = 12
	text := `{"actions":[{"set":{"n":"` + strings.Repeat("x", engine.SmallBody) + `"}}]}`
	q := &slowQueue{refuses: true}
	m := largeBatches(t, q, text, batches)
	wait.Until(t, "an item is offered to the queue", func() bool { return q.asked.Load() > 0 })
	begun, first := time.Now(), q.asked.Load()
	time.Sleep(3 * again / 2)
	if asked, most := q.asked.Load()-first, 1+int64(time.Since(begun)/again); asked > most {
		t.Errorf("the queue was offered %d more items of batches that are held, want at most %d", asked, most)
	}
	wait.Until(t, "all are held", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, b := range m.all {
			if why, _ := m.heldBack(b); why != engine.CodeTooManyWaiting {
				return false
			}
		}
		return true
	})
}
