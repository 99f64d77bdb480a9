package actors_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// opening is a task that opens a session with a profile.
func opening(t testing.TB, profile, session string) *engine.Task {
	t.Helper()
	task, err := engine.Parse(fmt.Appendf(nil, `{"actions":[{"wait":1}],"workerId":"w1","profile":%s,"session":%s}`, profile, session), nil)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// profileNow is the profile of the session on a worker, as its account sees it.
func profileNow(k *testkit.Kit) (p api.HeldProfile) {
	k.T.Helper()
	x, err := api.Ask(context.Background(), k.Node, &api.ListWorkers{Account: anna})
	if err != nil {
		k.T.Fatal(err)
	}
	for _, w := range x.Workers {
		if w.Held != nil {
			p = w.Held.Profile
		}
	}
	return p
}

func writerOf(k *testkit.Kit, all *persistence.Profiles, name string) string {
	k.T.Helper()
	writers, err := all.Writers(context.Background(), anna.ID)
	if err != nil {
		k.T.Fatal(err)
	}
	return writers[name]
}

func sealOfTests(t *testing.T) *persistence.Seal {
	t.Helper()
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return seal
}

func versionOf(k *testkit.Kit, all *persistence.Profiles, name string) persistence.ProfileVersion {
	p, _ := all.Get(context.Background(), anna.ID, name)
	return p.Newest()
}

// Promise: A session with a profile saves it at its end, when asked, and every few minutes
// while it changes (docs/profiles.md#in-a-session).
func TestSessionProfiles(t *testing.T) {
	for _, r := range []struct {
		name  string
		drive func(*testing.T, *testkit.Kit, *persistence.Profiles, string)
	}{
		{"saved while it changes, and not otherwise", func(t *testing.T, k *testkit.Kit, all *persistence.Profiles, id string) {
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id), testkit.Lasting(30*time.Minute)), quick), engine.EndCompleted)
			if v := versionOf(k, all, "p"); v.Version != 0 {
				t.Fatalf("saved at once: %+v", v)
			}
			time.Sleep(6 * time.Minute)
			if v := versionOf(k, all, "p"); v.Version != 1 || v.By != id || len(savedBy(t, all, anna.ID, "p", 0)) != 2 {
				t.Fatalf("after six minutes: %+v", v)
			}
			if p := profileNow(k); p.Version != 1 || p.Saved.IsZero() || p.Lost != "" {
				t.Errorf("shown as %+v", p)
			}
			time.Sleep(11 * time.Minute)
			if v := versionOf(k, all, "p"); v.Version != 1 {
				t.Fatalf("saved without a change: %+v", v)
			}
			k.StartAsync(anna, testkit.Task(testkit.Continue(id), testkit.Async(), testkit.Within(time.Hour)), lasting(7*time.Minute))
			time.Sleep(6*time.Minute + 30*time.Second)
			if v := versionOf(k, all, "p"); v.Version != 1 {
				t.Fatalf("saved under a task: %+v", v)
			}
			time.Sleep(time.Minute)
			if v := versionOf(k, all, "p"); v.Version != 2 {
				t.Fatalf("after a long task: %+v", v)
			}
		}},
		{"saved at the end of its time", func(t *testing.T, k *testkit.Kit, all *persistence.Profiles, id string) {
			time.Sleep(4*time.Minute + 59*time.Second)
			k.WantState("w1", api.Reserved)
			k.Until("w1", api.Online)
			k.AwaitIdle()
			time.Sleep(time.Second)
			if v := versionOf(k, all, "p"); v.Version != 1 || writerOf(k, all, "p") != "" {
				t.Fatalf("%+v, and its writer is %q", v, writerOf(k, all, "p"))
			}
		}},
		{"saved when it is closed, and free then", func(t *testing.T, k *testkit.Kit, all *persistence.Profiles, id string) {
			k.WantRefused(k.Start(anna, opening(t, `"p"`, `{"preserve":true}`), quick), engine.CodeWorkerReserved)
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Close(id)), quick), engine.EndCompleted)
			if v := versionOf(k, all, "p"); v.Version != 1 || writerOf(k, all, "p") != "" {
				t.Fatalf("%+v, and its writer is %q", v, writerOf(k, all, "p"))
			}
			x := k.WantEnd(k.Start(anna, opening(t, `"p"`, `{"preserve":true}`), quick), engine.EndCompleted)
			k.WantEnd(k.Start(anna, engine.SavingTask(x.SessionID), quick), engine.EndCompleted)
			if got := savedBy(t, all, anna.ID, "p", 0); len(got) != 3 { // what was there, and one more
				t.Errorf("the second session goes on with %v", got)
			}
		}},
		{"saved when asked, and by a task that asks", func(t *testing.T, k *testkit.Kit, all *persistence.Profiles, id string) {
			for range 2 {
				k.WantEnd(k.Start(anna, engine.SavingTask(id), quick), engine.EndCompleted)
				if v := versionOf(k, all, "p"); v.Version != 1 {
					t.Fatalf("%+v", v)
				}
			}
			saves := testkit.Task(testkit.Continue(id))
			saves.Session.Save = true
			k.WantEnd(k.Start(anna, saves, quick), engine.EndCompleted)
			if v := versionOf(k, all, "p"); v.Version != 2 {
				t.Fatalf("%+v", v)
			}
		}},
		{"saved before a stop, and held again after it", func(t *testing.T, k *testkit.Kit, all *persistence.Profiles, id string) {
			k.Restart()
			if v := versionOf(k, all, "p"); v.Version != 1 || writerOf(k, all, "p") != id {
				t.Fatalf("%+v, and its writer is %q", v, writerOf(k, all, "p"))
			}
			time.Sleep(time.Minute) // longer than a right lasts that nobody renews
			if p := profileNow(k); p.Lost != "" || p.Version != 1 || writerOf(k, all, "p") != id {
				t.Fatalf("%+v, and its writer is %q", p, writerOf(k, all, "p"))
			}
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted)
			k.WantEnd(k.Start(anna, engine.SavingTask(id), quick), engine.EndCompleted)
			if got := savedBy(t, all, anna.ID, "p", 0); versionOf(k, all, "p").Version != 2 || len(got) < 2 {
				t.Errorf("saved by %v", got)
			}
		}},
		{"after a crash its right is its own again", func(t *testing.T, k *testkit.Kit, all *persistence.Profiles, id string) {
			k.WantEnd(k.Start(anna, engine.SavingTask(id), quick), engine.EndCompleted)
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted)
			k.Crash()
			k.Boot()
			if v := versionOf(k, all, "p"); v.Version != 1 {
				t.Fatalf("a crash has saved %+v", v)
			}
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted)
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Close(id)), quick), engine.EndCompleted)
			if v := versionOf(k, all, "p"); v.Version != 2 || writerOf(k, all, "p") != "" {
				t.Fatalf("%+v, and its writer is %q", v, writerOf(k, all, "p"))
			}
		}},
		{"others who saved it while the service was away keep what they saved", func(t *testing.T, k *testkit.Kit, all *persistence.Profiles, id string) {
			k.Crash()
			time.Sleep(40 * time.Second)
			w, err := all.Lock(context.Background(), anna.ID, "p", "import")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Save(context.Background(), []byte(`{"cookies":[],"tasks":["import"]}`), persistence.ProfileVersion{}); err != nil {
				t.Fatal(err)
			}
			w.Close()
			k.Boot()
			x := k.Do(anna, engine.SavingTask(id), quick)
			if x.Outcome == nil || len(x.Outcome.Failures) != 1 || x.Outcome.Failures[0].Code != engine.CodeProfileBusy {
				t.Errorf("a save: %+v", x.Outcome)
			}
			if p := profileNow(k); p.Lost == "" {
				t.Errorf("shown as %+v", p)
			}
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Close(id)), quick), engine.EndCompleted)
			if got := savedBy(t, all, anna.ID, "p", 0); !slices.Equal(got, []string{"import"}) {
				t.Errorf("the profile is that of %v", got)
			}
		}},
		{"a session whose browser dies keeps it", func(t *testing.T, k *testkit.Kit, all *persistence.Profiles, id string) {
			k.WantEnd(k.Start(anna, engine.SavingTask(id), quick), engine.EndCompleted)
			k.Engine.Kill("w1")
			k.WantState("w1", api.Offline)
			k.Until("w1", api.Reserved)
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted)
			k.WantEnd(k.Start(anna, engine.SavingTask(id), quick), engine.EndCompleted)
			if got := savedBy(t, all, anna.ID, "p", 0); len(got) != 2 || profileNow(k).Version != 2 {
				t.Errorf("saved by %v", got)
			}
		}},
	} {
		t.Run(r.name, func(t *testing.T) {
			var own *persistence.Profiles // which ends with its node
			o := profileKit(2, nil, 0, &own)
			o.Engine = testkit.NewEngine()
			testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
				all := persistence.NewProfiles(k.Store, sealOfTests(t))
				x := k.WantEnd(k.Start(anna, opening(t, `"p"`, `{"preserve":true}`), quick), engine.EndCompleted)
				if writerOf(k, all, "p") != x.SessionID || profileNow(k).Name != "p" {
					t.Fatalf("the writer is %q, want %q: %+v", writerOf(k, all, "p"), x.SessionID, profileNow(k))
				}
				r.drive(t, k, all, x.SessionID)
			})
		})
	}
}

// TestUnloadedProfiles: what could not be put into the browser is not saved over what is
// there.
func TestUnloadedProfiles(t *testing.T) {
	var all *persistence.Profiles
	o := profileKit(1, nil, 0, &all)
	o.Engine = testkit.NewEngine()
	unloaded := testkit.Script{Do: func(_ context.Context, c testkit.Call) *engine.Outcome {
		c.Env.Profile.Loaded = false
		return &engine.Outcome{End: engine.EndCompleted, Data: []byte(`1`)}
	}}
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		x := k.Do(anna, opening(t, `"p"`, `{"preserve":true}`), unloaded)
		k.WantEnd(k.Start(anna, testkit.Task(testkit.Close(x.SessionID)), quick), engine.EndCompleted)
		if v := versionOf(k, all, "p"); v.Version != 0 {
			t.Errorf("saved as %+v", v)
		}
	})
}
