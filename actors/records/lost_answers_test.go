package records_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/storetest"
)

// TestLostAnswers: a write over a certain revision that was stored, and whose answer was
// lost, is its writer's. So it is where the writer comes again later.
func TestLostAnswers(t *testing.T) {
	ctx := context.Background()
	place := backlog.Place{Lane: backlog.Lane{Account: "ada~1"}, Order: 1 << 20}
	task := func(attempts int) records.Task {
		return records.Task{ID: "t1", Account: "ada~1", Node: "n1", Status: api.TaskPending, Started: time.Now(), Queue: &records.TaskQueue{Key: place.Key("t1"), Attempts: attempts, Boot: "b", Turn: 7}}
	}
	ended := func() records.Task {
		done := task(1)
		done.Status, done.Ended = api.TaskComplete, time.Now()
		return done
	}
	q := records.Queued{ID: "t1", Account: "ada~1", Task: json.RawMessage(`{"actions":[]}`)}
	add := func(r *records.Store) error {
		b, _, err := r.Queue().Encode(q)
		if err != nil {
			return err
		}
		return r.Queue().Add(ctx, "ada~1", place.Key("t1"), b, persistence.Unknown, true)
	}
	claim := func(r *records.Store) (uint64, error) {
		if err := add(r); err != nil {
			return 0, err
		}
		return r.Queue().Claim(ctx, task(1), 0)
	}
	is := func(what string, got, want any) error {
		if !reflect.DeepEqual(got, want) {
			return errors.New(what + " is not what was written")
		}
		return nil
	}
	status := func(r *records.Store, want api.TaskStatus) error {
		now, _, err := r.Queue().At(ctx, "t1")
		return errors.Join(err, is("the status", now.Status, want))
	}
	ref := api.BatchRef{Batch: "b1"}
	for _, c := range []struct {
		name, prefix string
		before       func(r *records.Store) error
		// write may be repeated where its writer comes again; then it says what is there.
		write   func(r *records.Store) error
		repeats bool
	}{
		{"which node orders the queue", records.HolderKey, nil, func(r *records.Store) error {
			h := records.Holder{Node: "n1", Boot: "b", Epoch: 3}
			err := r.Queue().Hold(ctx, h, 0)
			now, _, no := r.Queue().Holder(ctx)
			return errors.Join(err, no, is("the holder", now, h))
		}, false},
		{"a claim", records.TaskPrefix, add, func(r *records.Store) error {
			at, err := r.Queue().Claim(ctx, task(1), 0)
			_, now, no := r.Queue().At(ctx, "t1")
			return errors.Join(err, no, is("the revision", at, now))
		}, false},
		{"the undoing of a claim", records.TaskPrefix, func(r *records.Store) error { _, err := claim(r); return err }, func(r *records.Store) error {
			if err := r.Queue().Unclaim(ctx, task(1)); err != nil && !errors.Is(err, persistence.ErrNoQuorum) {
				return err
			}
			if _, _, err := r.Queue().At(ctx, "t1"); !errors.Is(err, persistence.ErrNotFound) {
				return errors.New("the claim is there")
			}
			return r.Queue().Unclaim(ctx, task(1))
		}, false},
		{"the undoing of a second claim", records.TaskPrefix, func(r *records.Store) error {
			err := add(r)
			if err == nil {
				_, err = r.Queue().Claim(ctx, task(2), 0)
			}
			return err
		}, func(r *records.Store) error {
			err := r.Queue().Unclaim(ctx, task(2))
			now, _, no := r.Queue().At(ctx, "t1")
			if no == nil && !now.Queue.Waiting {
				no = errors.New("it does not wait")
			}
			return errors.Join(err, no)
		}, true},
		{"an end", records.TaskPrefix, func(r *records.Store) error { _, err := claim(r); return err }, func(r *records.Store) error {
			_, err := r.Queue().End(ctx, &records.Ending{Task: ended(), Queued: &q, Outcome: &engine.Outcome{End: engine.EndCompleted}, Listed: 1})
			if _, _, _, no := r.Queue().Status(ctx, "ada~1", "t1"); no != nil {
				err = errors.Join(err, no)
			}
			if _, no := r.Queue().Read(ctx, place.Key("t1")); err == nil && !errors.Is(no, persistence.ErrNotFound) {
				err = errors.New("it is in the queue")
			}
			return errors.Join(err, status(r, api.TaskComplete))
		}, true},
		{"another attempt", records.TaskPrefix, func(r *records.Store) error { _, err := claim(r); return err }, func(r *records.Store) error {
			to := backlog.Place{Lane: place.Lane, Order: 2 << 20}.Key("t1")
			err := r.Queue().Again(ctx, task(1), q, to)
			if _, no := r.Queue().Read(ctx, to); no != nil {
				err = errors.Join(err, no)
			}
			return errors.Join(err, status(r, api.TaskPending))
		}, true},
		{"a cancellation", records.TaskPrefix, func(r *records.Store) error { _, err := claim(r); return err }, func(r *records.Store) error {
			now, err := r.Queue().Cancel(ctx, "ada~1", "t1", api.CauseClient)
			return errors.Join(err, is("the cause", now.Queue.Cancel, api.CauseClient))
		}, true},
		{"a task that is lost", records.TaskPrefix, func(r *records.Store) error {
			_, err := r.PutTask(ctx, records.Task{ID: "t1", Account: "ada~1", Node: "n2", Status: api.TaskPending}, nil)
			return err
		}, func(r *records.Store) error {
			p, err := r.GiveUpTask(ctx, "t1", "ada~1")
			if err == nil && p.Executed.Outcome.End != engine.EndLost {
				err = errors.New("it is not lost")
			}
			return errors.Join(err, status(r, api.TaskFailed))
		}, true},
		{"a key", records.KeyPrefix, nil, func(r *records.Store) error {
			return r.BeginKey(ctx, "ada~1", "k", records.Key{TaskID: "t1", Made: time.Now()})
		}, false},
		{"the answer to a key", records.KeyPrefix, func(r *records.Store) error {
			return r.BeginKey(ctx, "ada~1", "k", records.Key{TaskID: "t1", Made: time.Now(), Executed: &api.Executed{}})
		}, func(r *records.Store) error {
			k := records.Key{TaskID: "t1", Made: time.Now(), Executed: &api.Executed{Outcome: &engine.Outcome{End: engine.EndCompleted}}}
			found, err := r.EndKey(ctx, "ada~1", "k", k)
			if found != nil && found.Executed.Outcome.End != engine.EndCompleted {
				err = errors.New("another answer is there")
			}
			return err
		}, true},
		{"a key whose node is lost", records.KeyPrefix, func(r *records.Store) error {
			return r.BeginKey(ctx, "ada~1", "k", records.Key{TaskID: "t1", Made: time.Now(), Executed: &api.Executed{}})
		}, func(r *records.Store) error {
			k, _, err := r.GiveUpKey(ctx, "ada~1", "k", "n1")
			if err == nil && k.Executed.Outcome.End != engine.EndLost {
				err = errors.New("it is not lost")
			}
			return err
		}, true},
		{"how far a schedule is", records.ScheduleStatePrefix, nil, func(r *records.Store) error {
			st := records.ScheduleState{Account: "ada~1", ID: "s1", Paused: true}
			at, err := r.Schedules().PutState(ctx, st, 0)
			now, is, no := r.Schedules().State(ctx, "ada~1", "s1")
			if no == nil && (at != is || !now.Paused) {
				no = errors.New("another state is there")
			}
			return errors.Join(err, no)
		}, false},
		{"a run of a schedule", "schedulerun/", nil, func(r *records.Store) error {
			fresh, err := r.Schedules().PutRun(ctx, "s1", api.ScheduleRun{Planned: time.UnixMilli(1000), Task: "t1", Status: api.RunQueued})
			if !fresh {
				err = errors.Join(err, errors.New("it is taken for another one's"))
			}
			return err
		}, false},
		{"the end of a run", "schedulerun/", func(r *records.Store) error {
			_, err := r.Schedules().PutRun(ctx, "s1", api.ScheduleRun{Planned: time.UnixMilli(1000), Task: "t1", Status: api.RunQueued})
			return err
		}, func(r *records.Store) error {
			return r.Schedules().EndRun(ctx, &api.ScheduleRef{Schedule: "s1", Planned: time.UnixMilli(1000)}, time.UnixMilli(2000), api.RunComplete, "")
		}, true},
		{"a batch", records.BatchPrefix, nil, func(r *records.Store) error {
			at, err := r.Batches().Put(ctx, records.Batch{ID: "b1", Account: "ada~1", Items: 2}, 0)
			now, no := r.Batches().Read(ctx, "ada~1", "b1")
			if no == nil && now.Revision != at {
				no = errors.New("another batch is there")
			}
			return errors.Join(err, no)
		}, false},
		{"a part of a batch", "batchpart/", nil, func(r *records.Store) error {
			_, err := r.Batches().PutPart(ctx, "ada~1", "b1", records.BatchPart{Number: 0, After: records.BatchAt{Part: 1}}, 0)
			return err
		}, false},
		{"the end of an item", "batchend/", nil, func(r *records.Store) error {
			return r.Batches().End(ctx, ref, records.BatchEnd{Task: "t1", Status: api.TaskComplete, Order: 1})
		}, true},
		{"the secret of notices", records.NoticeSecretPrefix, nil, func(r *records.Store) error {
			err := r.Notices().PutSecret(ctx, "ada~1", records.NoticeSecret{Current: "a"}, 0)
			now, no := r.Notices().Secret(ctx, "ada~1")
			return errors.Join(err, no, is("the secret", now.Current, "a"))
		}, false},
		{"a session", records.SessionPrefix, nil, func(r *records.Store) error {
			rec := records.Session{ID: "s1", Account: "ada~1", Deadline: time.Now().Add(time.Hour)}
			took, at, err := r.TakeSession(ctx, rec, 0, "n1", "w1")
			now, is, no := r.SessionAt(ctx, "s1")
			if no == nil && (!now.SameOwner(took) || is != at) {
				no = errors.New("another owner is there")
			}
			return errors.Join(err, no)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cut := range []bool{false, true} {
				if cut && !c.repeats {
					continue
				}
				store := storetest.NewLossy(persistence.NewMemory())
				seal, err := persistence.NewSeal(make([]byte, 32))
				if err != nil {
					t.Fatal(err)
				}
				r, err := records.Open(records.Config{Store: store, Seal: seal, Node: "n1", Log: zerolog.Nop()})
				if err != nil {
					t.Fatal(err)
				}
				if c.before != nil {
					if err := c.before(r); err != nil {
						t.Fatal(err)
					}
				}
				store.Lose(c.prefix, 1)
				if cut { // the node is cut off behind the write, and its writer comes again
					store.Deaf(true)
					if err := c.write(r); err == nil {
						t.Error("without a store it succeeds")
					}
					store.Deaf(false)
				}
				if err := c.write(r); err != nil {
					t.Errorf("cut off: %v: %v", cut, err)
				}
				if store.Left() {
					t.Error("no answer was lost")
				}
				store.Close()
			}
		})
	}
}
