package records_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/persistence"
)

// endBed is a store with a task of the queue that a node has.
type endBed struct {
	r     *records.Store
	store persistence.Store
	task  records.Task
	q     *records.Queued
}

func newEndBed(t *testing.T) *endBed {
	t.Helper()
	ctx := t.Context()
	b := &endBed{store: persistence.NewMemory()}
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err == nil {
		b.r, err = records.Open(records.Config{Store: b.store, Seal: seal, History: &runs.StandardBounds, Log: zerolog.Nop()})
	}
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)
	key := backlog.Place{Lane: backlog.Lane{Account: "ada~1"}, Order: 1 << 20}.Key("t1")
	b.task = records.Task{ID: "t1", Account: "ada~1", Status: api.TaskPending, Started: at, Queue: &records.TaskQueue{Key: key, Attempts: 1, Keep: time.Hour}}
	raw, _, err := b.r.Queue().Encode(records.Queued{ID: "t1", Account: "ada~1", Task: json.RawMessage(`{"actions":[]}`)})
	if err == nil {
		err = b.r.Queue().Add(ctx, "ada~1", key, raw, persistence.Unknown, true)
	}
	if err == nil {
		b.q, err = b.r.Queue().Read(ctx, key)
	}
	if err == nil {
		b.r.WriteEach(ctx, []*records.Writes{b.r.Queue().PrepareClaim(b.task, persistence.Absent, false)}, func(_ int, e error) { err = e })
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *endBed) ending(end engine.End) *records.Ending {
	done, code := b.task, engine.Code("")
	if done.Status = api.TaskComplete; end != engine.EndCompleted {
		done.Status, code = api.TaskFailed, engine.CodeTimeout
	}
	done.Ended = done.Started.Add(time.Minute)
	return &records.Ending{Task: done, Queued: b.q, Outcome: &engine.Outcome{End: end}, Code: code, Listed: 7, First: true}
}

// prepared writes an end with those of others; false: it is not for that.
func (b *endBed) prepared(ctx context.Context, e *records.Ending) (ok bool, err error) {
	w := b.r.Queue().PrepareEnd(ctx, e)
	if w == nil {
		return false, nil
	}
	b.r.WriteEach(ctx, []*records.Writes{w}, func(_ int, e error) { err = e })
	return true, err
}

// all is what the store has, as text.
func (b *endBed) all(t *testing.T) map[string]string {
	t.Helper()
	list, err := b.store.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, rec := range list {
		if all[rec.Key] = fmt.Sprintf("until %s: %s", rec.Expires, rec.Value); rec.Key[:5] == "dead/" || rec.Key[:3] == runs.Prefix[:3] { // sealed: it is another text each time
			all[rec.Key] = fmt.Sprint(rec.Expires)
		}
	}
	return all
}

// TestEndsAreTheSame: an end that is written with those of others leaves what one leaves that
// is written alone, and so does one of which only the beginning was written.
func TestEndsAreTheSame(t *testing.T) {
	ctx := context.Background()
	for _, end := range []engine.End{engine.EndCompleted, engine.EndStopped} {
		t.Run(string(end), func(t *testing.T) {
			alone, together := newEndBed(t), newEndBed(t)
			if found, err := alone.r.Queue().End(ctx, alone.ending(end)); err != nil || found != nil {
				t.Fatal(found, err)
			}
			if ok, err := together.prepared(ctx, together.ending(end)); !ok || err != nil {
				t.Fatal(ok, err)
			}
			want, got := alone.all(t), together.all(t)
			if !reflect.DeepEqual(want, got) {
				t.Errorf("alone it leaves\n%v\ntogether\n%v", want, got)
			}
			if len(want) < 3 {
				t.Errorf("an end leaves %v", want)
			}
			for _, again := range []*endBed{alone, together} { // whose answer was lost
				e := again.ending(end)
				e.First = false
				if found, err := again.r.Queue().End(ctx, e); err != nil || found == nil {
					t.Errorf("written again: %v, %v", found, err)
				}
				if got := again.all(t); !reflect.DeepEqual(want, got) {
					t.Errorf("written again, it leaves\n%v\nwant\n%v", got, want)
				}
			}
		})
	}
}

// TestEndsObeyCancellations: a task that was cancelled after its end was prepared has not ended
// otherwise, whichever way the end is written.
func TestEndsObeyCancellations(t *testing.T) {
	ctx := context.Background()
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late: ", late), func(t *testing.T) {
			b := newEndBed(t)
			e := b.ending(engine.EndCompleted)
			w := b.r.Queue().PrepareEnd(ctx, e)
			if _, err := b.r.Queue().Cancel(ctx, "ada~1", "t1", api.CauseAsked); err != nil {
				t.Fatal(err)
			}
			if late {
				var err error
				b.r.WriteEach(ctx, []*records.Writes{w}, func(_ int, e error) { err = e })
				if !errors.Is(err, persistence.ErrConflict) {
					t.Fatalf("written over the cancellation: %v", err)
				}
			} else if ok, _ := b.prepared(ctx, e); ok {
				t.Fatal("prepared over a cancellation")
			}
			found, err := b.r.Queue().End(ctx, e)
			if err != nil || found == nil || found.Executed.Outcome.End != engine.EndCancelled {
				t.Fatalf("its end: %+v, %v", found, err)
			}
			if now, _, err := b.r.Queue().At(ctx, "t1"); err != nil || !now.Cancelled() || now.Status != api.TaskFailed {
				t.Errorf("its record: %+v, %v", now, err)
			}
			if err := b.r.Queue().Again(ctx, b.task, *b.q, backlog.Place{Lane: backlog.Lane{Account: "ada~1"}, Order: 2 << 20}.Key("t1")); !errors.Is(err, persistence.ErrConflict) {
				t.Errorf("it begins again: %v", err)
			}
		})
	}
}

// TestRunIsWrittenWithItsEnd: whether an end is written alone or with others, its run is there.
func TestRunIsWrittenWithItsEnd(t *testing.T) {
	for _, together := range []bool{true, false} {
		b := newEndBed(t)
		e := b.ending(engine.EndTimeout)
		if together {
			if ok, err := b.prepared(t.Context(), e); !ok || err != nil {
				t.Fatal(ok, err)
			}
		} else if _, err := b.r.Queue().End(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		r, err := b.r.Runs.Get(t.Context(), "ada~1", "t1")
		if err != nil || r.State != api.TaskFailed || r.Code != engine.CodeTaskTimeout || r.Attempts != 1 || !r.Async {
			t.Errorf("together %v: %+v, %v", together, r, err)
		}
	}
}
