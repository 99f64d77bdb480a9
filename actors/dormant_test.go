package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/testkit"
)

// TestDormant changes what a node has left while it does not run.
func TestDormant(t *testing.T) {
	ctx := context.Background()
	testkit.Run(t, testkit.Options{Workers: 3}, func(t *testing.T, k *testkit.Kit) {
		old := k.AddWorker("old", "bert")
		mine := reserve(k, anna, testkit.On("w1"))
		berts := reserve(k, bert, testkit.On(old.ID))
		s := k.StartAsync(anna, testkit.Task(), quick)
		k.WantPoll(anna, s.TaskID, time.Second, actors.TaskComplete)
		k.Node.Stop()

		d, err := actors.NewDormant(actors.Config{Store: k.Store, Files: k.Files})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		added, err := d.AddWorker(ctx, &actors.AddWorker{Name: "new"})
		if err != nil || added.State != actors.Offline || !added.Added {
			t.Fatalf("%+v, %v", added, err)
		}
		annas, err := d.AddWorker(ctx, &actors.AddWorker{Name: "annas", Owner: "anna"})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"new": "already", old.ID: "already", "worker-3": "come with the service", "a/b": "1 to 64"} {
			if _, err := d.AddWorker(ctx, &actors.AddWorker{Name: name}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", name, err)
			}
		}
		all, err := d.Survey(ctx, &actors.SurveyWorkers{})
		if err != nil || len(all.Workers) != 3 || all.Workers[0].Name != "old" || all.Workers[0].Owner != "bert" || all.Workers[0].State != actors.Offline {
			t.Errorf("%+v, %v", all, err)
		}
		for what, err := range map[string]error{
			"drain":  errOf(d.DrainWorker(ctx, &actors.DrainWorker{Worker: "old"})),
			"resume": errOf(d.ResumeWorker(ctx, &actors.ResumeWorker{Worker: "old"})),
		} {
			if !errors.Is(err, actors.ErrDormant) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := d.RemoveWorker(ctx, &actors.RemoveWorker{Worker: "worker-1"}); err == nil || !strings.Contains(err.Error(), `no worker "worker-1" among those`) {
			t.Error(err)
		}
		if w, err := d.RemoveWorker(ctx, &actors.RemoveWorker{Worker: "old"}); err != nil || w.ID != old.ID {
			t.Errorf("%+v, %v", w, err)
		}
		wantKept(k, mine) // bert's ended with the worker
		if r, err := d.RemoveAccount(ctx, &actors.RemoveAccount{Account: "anna"}); err != nil || *r != (actors.AccountRemoved{Sessions: 1, Workers: 1}) {
			t.Errorf("%+v, %v", r, err)
		}
		nothingOf(k, anna)

		k.Boot()
		k.Until(added.ID, actors.Online)
		k.WantState("w1", actors.Online)
		if by := workers(k); len(by) != 4 || by["new"].ID != added.ID {
			t.Errorf("%+v", by)
		}
		k.WantRefused(k.Start(bert, testkit.Task(testkit.Continue(berts)), quick), engine.CodeSessionMismatch)
		k.WantRefused(k.Start(bert, testkit.Task(testkit.On(annas.ID)), quick), engine.CodeForeignWorker)
		on(k, added.ID, k.Start(bert, testkit.Task(testkit.On(added.ID)), quick))
	})
	if _, err := actors.NewDormant(actors.Config{}); err == nil {
		t.Error("a dormant node without a store")
	}
}
