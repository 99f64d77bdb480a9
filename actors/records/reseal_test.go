package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/sealed"
)

// sealers write one record of each kind that is sealed, and return a read of it.
var sealers = map[string]func(ctx context.Context, r *Store, seal *persistence.Seal) (read func() error, err error){
	"seal/": func(ctx context.Context, r *Store, seal *persistence.Seal) (func() error, error) {
		closed, err := seal.Close("seal/check", []byte("troupe"))
		if err == nil {
			_, err = r.Store.Put(ctx, persistence.Write{Key: "seal/check", Value: closed})
		}
		return func() error {
			rec, err := r.Store.Get(ctx, "seal/check")
			if err == nil {
				_, err = seal.Open("seal/check", rec.Value)
			}
			return err
		}, err
	},
	"secret/": func(ctx context.Context, r *Store, seal *persistence.Seal) (func() error, error) {
		_, err := persistence.NewSecrets(r.Store, seal).Set(ctx, "ada", persistence.Secret{Name: "pass", Value: "v"})
		return func() error {
			all, err := persistence.NewSecrets(r.Store, seal).Of(ctx, "ada")
			if err == nil && (len(all) != 1 || all[0].Lost) {
				err = persistence.ErrSealed
			}
			return err
		}, err
	},
	"profile/": func(ctx context.Context, r *Store, seal *persistence.Seal) (func() error, error) {
		p := persistence.NewProfiles(r.Store, seal)
		w, err := p.Lock(ctx, "ada", "shop", "t")
		if err != nil {
			return nil, err
		}
		defer w.Close()
		_, err = w.Save(ctx, []byte(`{"a":1}`), persistence.ProfileVersion{})
		return func() error { _, err := p.Get(ctx, "ada", "shop"); return err }, err
	},
	"profile-part/": func(ctx context.Context, r *Store, seal *persistence.Seal) (func() error, error) {
		p := persistence.NewProfiles(r.Store, seal) // "profile/" has written it
		return func() error { _, _, err := p.State(ctx, "ada", "shop", 0); return err }, nil
	},
	StatePrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		s := Session{ID: "s1", State: 3}
		err := r.Sealed.Put(ctx, persistence.Item{Key: StateKey("s1", 3), Account: "ada", Value: []byte(`{}`), Expires: time.Now().Add(time.Hour), Durable: true})
		return func() error { _, err := r.ReadState(ctx, s); return err }, err
	},
	backlog.Prefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		err := r.Queue().Add(ctx, "ada", backlog.Prefix+"ada/1", []byte(`{"id":"t1"}`), persistence.Absent, true)
		return func() error { _, err := r.Queue().Read(ctx, backlog.Prefix+"ada/1"); return err }, err
	},
	DeadPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		err := r.Sealed.Put(ctx, persistence.Item{Key: DeadPrefix + "ada/1", Account: "ada", Value: []byte(`{}`)})
		return func() error { _, err := r.Sealed.Get(ctx, DeadPrefix+"ada/1"); return err }, err
	},
	BatchPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		_, err := r.Batches().Put(ctx, Batch{ID: "b1", Account: "ada"}, 0)
		return func() error { _, err := r.Batches().Read(ctx, "ada", "b1"); return err }, err
	},
	batchItemPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		err := r.Batches().PutItems(ctx, "ada", "b1", 0, []json.RawMessage{[]byte(`{"a":1}`)})
		return func() error { _, err := r.Batches().Item(ctx, "b1", 0); return err }, err
	},
	SchedulePrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		err := r.Schedules().Put(ctx, Schedule{ID: "s1", Account: "ada"})
		return func() error {
			_, err := r.Sealed.Get(ctx, ScheduleKey("ada", "s1"))
			return err
		}, err
	},
	NoticePrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		n := Notice{ID: "msg_00000000001_" + strings.Repeat("a", 24), Account: "ada", At: time.Now()}
		err := r.Notices().Put(ctx, []Notice{n})
		return func() error { _, err := r.Notices().Read(ctx, NoticeKey("ada", n.ID)); return err }, err
	},
	NoticeLogPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		n := Notice{ID: "msg_00000000002_" + strings.Repeat("b", 24), Account: "ada", Ended: time.Now()}
		err := r.Notices().End(ctx, n)
		return func() error { _, err := r.Notices().Read(ctx, NoticeLogKey("ada", n.ID)); return err }, err
	},
	NoticeResultPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		n := Notice{ID: "msg_00000000003_" + strings.Repeat("c", 24), Account: "ada", At: time.Now(), Task: &NoticeTask{ID: "t3", Result: &api.Executed{Outcome: &engine.Outcome{Data: []byte(`"` + strings.Repeat("x", 2*smallResult) + `"`)}}}}
		other := n
		other.ID = "msg_00000000003_" + strings.Repeat("d", 24)
		err := r.Notices().apart(ctx, []Notice{n, other}, true)
		return func() error { _, err := r.Sealed.Get(ctx, NoticeResultKey("ada", "t3")); return err }, err
	},
	EndpointPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		_, err := r.Notices().PutEndpoint(ctx, "ada", Endpoint{Notify: engine.Notify{URL: "https://a.example/"}}, 5)
		return func() error {
			_, err := r.Sealed.Get(ctx, EndpointPrefix+"ada/"+EndpointID("https://a.example/"))
			return err
		}, err
	},
	EndpointStatePrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		err := r.Notices().PutState(ctx, "ada", EndpointState{URL: "https://a.example/", Failing: time.Now()})
		return func() error {
			_, err := r.Notices().State(ctx, "ada", EndpointID("https://a.example/"))
			return err
		}, err
	},
	NoticeSecretPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		err := r.Notices().PutSecret(ctx, "ada", NoticeSecret{Current: "whsec_x"}, 0)
		return func() error {
			s, err := r.Notices().Secret(ctx, "ada")
			if err == nil && s.Current != "whsec_x" {
				err = errors.New("it is another secret")
			}
			return err
		}, err
	},
	KeyPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		err := r.EndCall(ctx, "ada", "k1", Key{Digest: []byte{1}, TaskID: "t1", Made: time.Now(), Call: true}, []byte(`{"status":201}`))
		return func() error {
			k, err := r.Key(ctx, "ada", "k1")
			var answer []byte
			if err == nil {
				answer, err = r.CallAnswer("ada", "k1", k)
			}
			if err == nil && string(answer) != `{"status":201}` {
				err = errors.New("it is another answer")
			}
			return err
		}, err
	},
	runs.Prefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		h := runs.New(runs.Config{Store: r.Store, Values: r.Sealed})
		err := h.Put(ctx, &runs.Run{ID: "t1", Account: "ada"})
		return func() error { _, err := h.Find(ctx, "ada", "t1"); return err }, err
	},
	runs.DayPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		h := runs.New(runs.Config{Store: r.Store, Values: r.Sealed})
		at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
		if err := h.Put(ctx, &runs.Run{ID: "t2", Account: "ada", State: api.TaskComplete, Ended: at}); err != nil {
			return nil, err
		}
		err := h.Delete(ctx, "ada", "t2") // its sums stay
		return func() error {
			u, err := h.Usage(ctx, "ada", at, at, runs.ByDay, 1)
			if err == nil && (u.Total.Runs != 1 || u.Unreadable != nil) {
				err = persistence.ErrSealed
			}
			return err
		}, err
	},
	runs.ResultPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		key := runs.ResultPrefix + "eve/ffffffff/t1"
		err := r.Sealed.Put(ctx, persistence.Item{Key: key, Account: "eve", Value: []byte(`"a result"`)})
		return func() error { _, err := r.Sealed.Get(ctx, key); return err }, err
	},
	runs.FreshPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		key := runs.FreshPrefix + "eve/2026-11-29/t1"
		err := r.Sealed.Put(ctx, persistence.Item{Key: key, Account: "eve", Value: []byte(`{}`)})
		return func() error { _, err := r.Sealed.Get(ctx, key); return err }, err
	},
	TaskPrefix: func(ctx context.Context, r *Store, _ *persistence.Seal) (func() error, error) {
		notify, err := r.SealNotify("t1", []engine.Notify{{URL: "https://a.example/"}})
		if err == nil {
			_, err = r.PutTask(ctx, Task{ID: "t1", Account: "ada", Status: api.TaskPending, Notify: notify}, nil)
		}
		return func() error {
			t, _, err := r.taskAt(ctx, "t1")
			var all []engine.Notify
			if err == nil {
				all, err = r.receivers(ctx, t, nil)
			}
			if err == nil && len(all) != 1 {
				err = errors.New("it has no receivers")
			}
			return err
		}, err
	},
}

// TestEverySealedRecordIsResealed: whatever is written sealed is opened by the new key
// alone after a change. One that has another kind of sealed records writes one here.
func TestEverySealedRecordIsResealed(t *testing.T) {
	ctx := t.Context()
	old, now := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	seal, err := persistence.NewSeal(old)
	if err != nil {
		t.Fatal(err)
	}
	store := persistence.NewMemory()
	r, err := Open(Config{Store: store, Files: persistence.NewMemoryFiles(), Seal: seal})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer store.Close()
	reads := map[string]func() error{}
	for _, k := range sealed.Kinds() {
		write := sealers[k.Prefix]
		if write == nil {
			t.Fatalf("nothing writes a record under %s here", k.Prefix)
		}
		if reads[k.Prefix], err = write(ctx, r, seal); err != nil {
			t.Fatalf("%s: %v", k.Prefix, err)
		}
	}
	if err := seal.Use(now, old); err != nil {
		t.Fatal(err)
	}
	all := persistence.SealedRecords{Store: store, Files: r.Files, Seal: seal}
	left, err := all.OnlyOld(ctx)
	if err != nil || len(left) != len(sealed.Kinds()) {
		t.Errorf("only the old key opens %+v, %v", left, err)
	}
	done, err := all.Reseal(ctx)
	if err != nil || done.Records != len(reads) || len(done.Lost) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if left, err := all.OnlyOld(ctx); err != nil || len(left) != 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
	if err := seal.Use(now); err != nil {
		t.Fatal(err)
	}
	for prefix, read := range reads {
		if err := read(); err != nil {
			t.Errorf("%s: %v", prefix, err)
		}
	}
	if err := seal.Use(bytes.Repeat([]byte{3}, 32)); err != nil { // each of these reads can fail
		t.Fatal(err)
	}
	for prefix, read := range reads {
		if err := read(); err == nil && prefix != EndpointPrefix {
			t.Errorf("%s is read with a key that has never sealed it", prefix)
		}
	}
}

// TestAllThatWasEverSealedIsRegistered: a store may have what an earlier release has sealed.
// So a prefix is never taken out of the list, and one that is added is added there, too.
func TestAllThatWasEverSealedIsRegistered(t *testing.T) {
	b, err := os.ReadFile("testdata/ever-sealed.txt")
	if err != nil {
		t.Fatal(err)
	}
	var now []string
	for _, k := range sealed.Kinds() {
		now = append(now, strings.Join([]string{k.Prefix, map[sealed.Form]string{sealed.Value: "value", sealed.Whole: "whole", sealed.Field: "field " + k.Field}[k.Form]}, " "))
	}
	if ever := strings.Split(strings.TrimSpace(string(b)), "\n"); !slices.Equal(ever, now) {
		t.Errorf("the list has\n%s\nand the register\n%s", strings.Join(ever, "\n"), strings.Join(now, "\n"))
	}
}

// TestAResealedTaskIsItsOwners: who has written a task's record may write its end after the
// record was sealed again, with its receivers, also when the old key is gone.
func TestAResealedTaskIsItsOwners(t *testing.T) {
	for what, end := range map[string]func(ctx context.Context, r *Store, task Task, over uint64) error{
		"a task": func(ctx context.Context, r *Store, task Task, over uint64) error {
			_, err := r.FinishTask(ctx, task, over, &engine.Outcome{End: engine.EndCompleted}, "", nil)
			return err
		},
		"a queued task": func(ctx context.Context, r *Store, task Task, over uint64) error {
			_, err := r.Queue().End(ctx, &Ending{Task: task, Queued: &Queued{ID: task.ID, Account: "ada"}, Outcome: &engine.Outcome{End: engine.EndCompleted}, Listed: 1})
			return err
		},
	} {
		ctx := t.Context()
		old, now := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
		seal, err := persistence.NewSeal(old)
		if err != nil {
			t.Fatal(err)
		}
		store := persistence.NewMemory()
		r, err := Open(Config{Store: store, Files: persistence.NewMemoryFiles(), Seal: seal, Node: "n1"})
		if err != nil {
			t.Fatal(err)
		}
		notify, err := r.SealNotify("t1", []engine.Notify{{URL: "https://a.example/", Events: []engine.NoticeEvent{engine.NoticeEnd}}})
		if err != nil {
			t.Fatal(err)
		}
		task := Task{ID: "t1", Account: "ada", Node: "n1", Status: api.TaskPending, Started: time.Now(), Notify: notify}
		if what == "a queued task" {
			task.Queue = &TaskQueue{Key: backlog.Prefix + "ada/1", Attempts: 1, Keep: time.Hour}
		}
		over, err := r.PutTask(ctx, task, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := seal.Use(now, old); err != nil {
			t.Fatal(err)
		}
		if done, err := (persistence.SealedRecords{Store: store, Files: r.Files, Seal: seal}).Reseal(ctx); err != nil || done.Records != 1 {
			t.Fatalf("%+v, %v", done, err)
		}
		if err := seal.Use(now); err != nil {
			t.Fatal(err)
		}
		task.Status, task.Ended = api.TaskComplete, time.Now()
		if err := end(ctx, r, task, over); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		list, _, _, err := r.Notices().List(ctx, NoticePrefix, "", 10)
		if err != nil || len(list) != 1 || list[0].URL != "https://a.example/" {
			t.Errorf("%s: the notices are %+v, %v", what, list, err)
		}
		if p, _, err := r.Poll(ctx, "t1", "ada"); err != nil || p.Status != api.TaskComplete {
			t.Errorf("%s: %+v, %v", what, p, err)
		}
		// Another write in between is a conflict as before.
		if _, err := r.PutTask(ctx, task, &over); !errors.Is(err, persistence.ErrConflict) {
			t.Errorf("%s: written over a revision that is gone: %v", what, err)
		}
		r.Close()
		store.Close()
	}
}
