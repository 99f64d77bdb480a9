package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit/wait"
)

// noQueue takes everything, and runs nothing.
type noQueue struct{ n int }

func (q *noQueue) Name(x *api.Execute) *api.Execute {
	named := *x
	q.n++
	named.TaskID = fmt.Sprintf("task_%016x_1795449034_q51a2091a0be%03x", q.n, q.n)
	return &named
}

func (q *noQueue) Add(_ context.Context, x *api.Execute) (*api.Started, error) {
	return &api.Started{TaskID: x.TaskID}, nil
}

func (q *noQueue) Cancel(context.Context, *api.Cancel) error { return nil }

var ada = api.Account{ID: "ada~1", Plan: engine.Pro}

// open makes a batch of so many items whose tasks are all in the queue.
func open(t *testing.T, items int) (*Batches, string) {
	t.Helper()
	return openOver(t, records.Config{Log: zerolog.Nop()}, nil, items)
}

// openOver is open over a store, and among several nodes if serves is there.
func openOver(t *testing.T, over records.Config, serves func() bool, items int) (*Batches, string) {
	t.Helper()
	disk, err := records.Open(over)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disk.Close)
	var order atomic.Uint64
	m, err := Open(t.Context(), Config{
		Records: disk, Queue: &noQueue{}, Limits: engine.DefaultLimits, Log: zerolog.Nop(), NewID: func() string { return "batch_1" },
		Order: func() uint64 { return order.Add(1) }, Serves: serves,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Start()
	t.Cleanup(m.Stop)
	template, err := engine.ParseTemplate([]byte(`{"actions":[{"wait":1}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := m.Create(t.Context(), &api.CreateBatch{Account: ada, Task: template.Task})
	if err != nil || made.Refusal != nil {
		t.Fatal(made, err)
	}
	id := made.Batch.ID
	all := slices.Repeat([]json.RawMessage{json.RawMessage(`{}`)}, items)
	if x, err := m.Add(t.Context(), &api.AddBatchItems{Account: ada, ID: id, Items: all}); err != nil || x.Refusal != nil {
		t.Fatal(x, err)
	}
	if x, err := m.Change(t.Context(), &api.ChangeBatch{Account: ada, ID: id, Change: api.BatchReady, Items: items, Bytes: int64(2 * items)}); err != nil || x.Refusal != nil {
		t.Fatal(x, err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		m.mu.Lock()
		n := 0
		for _, it := range m.all[id].live {
			if it.queued {
				n++
			}
		}
		m.mu.Unlock()
		if n == items {
			return m, id
		}
		if time.Now().After(end) {
			t.Fatalf("%d items are in the queue", n)
		}
	}
}

// task is the task of an item.
func (m *Batches) task(id string, item int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[id].live[item].Task
}

func listed(t *testing.T, m *Batches, id, after string) (items []int, next string) {
	t.Helper()
	l, err := m.Items(t.Context(), &api.ListBatchItems{Account: ada, ID: id, Order: api.OrderEnded, After: after, Most: 10})
	if err != nil || l.Refusal != nil {
		t.Fatal(l, err)
	}
	for _, it := range l.Items {
		items = append(items, it.Index)
	}
	return items, l.Next
}

// TestNoEndIsMissed: an end that is written later than others behind it is not passed
// over by a reader who goes on from a cursor.
func TestNoEndIsMissed(t *testing.T) {
	m, id := open(t, 3)
	end := func(item int) (write func()) {
		of, task := &api.BatchRef{Batch: id, Item: item}, m.task(id, item)
		order, done, err := m.Ending(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			err := m.cfg.Records.Batches().End(t.Context(), *of, records.BatchEnd{Task: task, Status: api.TaskComplete, Ended: time.Now(), Order: order})
			if done("", false, err); err != nil {
				t.Fatal(err)
			}
		}
	}
	end(0)()
	slow, fast := end(1), end(2)
	fast()
	items, next := listed(t, m, id, "")
	if !slices.Equal(items, []int{0}) {
		t.Fatalf("while an end is written, %v are listed", items)
	}
	slow()
	if items, _ := listed(t, m, id, next); !slices.Equal(items, []int{1, 2}) {
		t.Errorf("then %v", items)
	}
	b, err := m.Get(t.Context(), &api.GetBatch{Account: ada, ID: id, Wait: time.Minute})
	if err != nil || b.Batch.State != api.BatchEnded || b.Batch.Done != 3 {
		t.Errorf("the end: %+v, %v", b.Batch, err)
	}
}

// lameStore removes no parts of batches while it is lame, as one without a majority.
type lameStore struct {
	persistence.Store
	lame  atomic.Bool
	tries atomic.Int64
}

func (s *lameStore) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	if s.lame.Load() && strings.HasPrefix(key, "batchpart/") {
		s.tries.Add(1)
		return persistence.ErrNoQuorum
	}
	return s.Store.Delete(ctx, key, revision, durable)
}

// TestOutageLosesNoEnd: items that end while the records of finished parts cannot be removed
// are looked up all the same, when that is possible again.
func TestOutageLosesNoEnd(t *testing.T) {
	for _, parts := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d parts", parts), func(t *testing.T) {
			t.Parallel()
			store := &lameStore{Store: persistence.NewMemory()}
			items := parts*partSize + 6
			m, id := openOver(t, records.Config{Store: store, Log: zerolog.Nop()}, func() bool { return true }, items)
			end := func(from, to int) {
				for item := from; item < to; item++ {
					of, task := api.BatchRef{Batch: id, Item: item}, m.task(id, item)
					e := records.BatchEnd{Task: task, Status: api.TaskComplete, Ended: time.Now(), Order: m.cfg.Order()}
					if err := m.cfg.Records.Batches().End(t.Context(), of, e); err != nil {
						t.Fatal(err)
					}
					m.Over(task)
				}
			}
			store.lame.Store(true)
			end(0, parts*partSize)
			wait.Until(t, "a part was tried to be removed", func() bool { return store.tries.Load() > 0 })
			end(parts*partSize, items)
			before := store.tries.Load()
			wait.Until(t, "it is tried again", func() bool { return store.tries.Load() > before })
			store.lame.Store(false)
			b, err := m.Get(t.Context(), &api.GetBatch{Account: ada, ID: id, Wait: wait.Hang})
			if err != nil || b.Batch.State != api.BatchEnded || b.Batch.Done != items {
				t.Fatalf("after the outage: %+v, %v", b.Batch, err)
			}
			if left, err := store.Keys(t.Context(), "batchpart/", "", 10); err != nil || len(left) > 0 {
				t.Errorf("parts are left: %v, %v", left, err)
			}
		})
	}
}

// TestAnEndIsWrittenOnce: a process that ends while it writes an end writes it again at
// its next start, at another place. What clients have read of it stays true.
func TestAnEndIsWrittenOnce(t *testing.T) {
	m, id := open(t, 1)
	of, task, disk := api.BatchRef{Batch: id, Item: 0}, m.task(id, 0), m.cfg.Records.Batches()
	first := records.BatchEnd{Task: task, Status: api.TaskFailed, Code: engine.CodeInterrupted, Ended: time.Now(), Order: 100}
	second := first
	second.Order, second.Code = 200, engine.CodeTimeout
	if err := errors.Join(disk.End(t.Context(), of, first), disk.End(t.Context(), of, second)); err != nil {
		t.Fatal(err)
	}
	if items, _ := listed(t, m, id, ""); !slices.Equal(items, []int{0}) {
		t.Errorf("%v are listed", items)
	}
	sum, err := disk.Sum(t.Context(), id, false)
	if err != nil || sum.Ended != 1 || len(sum.Failed) != 1 || sum.Failed[engine.CodeInterrupted].Count != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	retried := records.BatchEnd{Task: "another", Status: api.TaskComplete, Ended: time.Now(), Round: 1, Order: 300}
	if err := disk.End(t.Context(), api.BatchRef{Batch: id, Round: 1}, retried); err != nil {
		t.Fatal(err)
	}
	if sum, err = disk.Sum(t.Context(), id, true); err != nil || sum.Ended != 1 || len(sum.Failed) != 0 {
		t.Errorf("played again: %+v, %v", sum, err)
	}
	if items, next := listed(t, m, id, ""); !slices.Equal(items, []int{0}) || next != fmt.Sprintf("%014x/%010d", 300, 0) {
		t.Errorf("played again: %v are listed, up to %s", items, next)
	}
}

// fastQueue gives the first task back before it says that it has it.
type fastQueue struct {
	noQueue
	m    *Batches
	adds int
}

func (q *fastQueue) Add(ctx context.Context, x *api.Execute) (*api.Started, error) {
	if q.adds++; q.adds == 1 {
		q.m.Returned(x.Batch)
	}
	return q.noQueue.Add(ctx, x)
}

// TestGivenBackWhileAdded: an item that the queue gives back before its batch has heard that
// the queue has it is added again.
func TestGivenBackWhileAdded(t *testing.T) {
	disk, err := records.Open(records.Config{Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disk.Close)
	q := &fastQueue{}
	m, err := Open(t.Context(), Config{
		Records: disk, Queue: q, Limits: engine.DefaultLimits, Log: zerolog.Nop(), NewID: func() string { return "batch_1" }, Order: func() uint64 { return 1 },
	})
	if err != nil {
		t.Fatal(err)
	}
	q.m = m
	m.Start()
	t.Cleanup(m.Stop)
	template, err := engine.ParseTemplate([]byte(`{"actions":[{"wait":1}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []func() (*api.Batched, error){
		func() (*api.Batched, error) {
			return m.Create(t.Context(), &api.CreateBatch{Account: ada, Task: template.Task})
		},
		func() (*api.Batched, error) {
			return m.Add(t.Context(), &api.AddBatchItems{Account: ada, ID: "batch_1", Items: []json.RawMessage{[]byte(`{}`)}})
		},
		func() (*api.Batched, error) {
			return m.Change(t.Context(), &api.ChangeBatch{Account: ada, ID: "batch_1", Change: api.BatchReady})
		},
	} {
		if x, err := r(); err != nil || x.Refusal != nil {
			t.Fatal(x, err)
		}
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		m.mu.Lock()
		it := m.all["batch_1"].live[0]
		is := it != nil && it.queued
		m.mu.Unlock()
		if is {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the item is not in the queue")
		}
	}
	m.Stop()
	if q.adds != 2 {
		t.Errorf("the item was added %d times", q.adds)
	}
}

// TestStopWhileItStarts: a node may stop at the moment in which it takes the order of the
// queue. Its batches do nothing after the stop.
func TestStopWhileItStarts(t *testing.T) {
	disk, err := records.Open(records.Config{Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disk.Close)
	for range 300 {
		m, err := Open(t.Context(), Config{Records: disk, Queue: &noQueue{}, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(m.Start)
		both.Go(m.Stop)
		both.Wait()
	}
}
