package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// TestOfflineNode changes the data of a node that does not run.
func TestOfflineNode(t *testing.T) {
	ctx := context.Background()
	testkit.Run(t, testkit.Options{Workers: 3}, func(t *testing.T, k *testkit.Kit) {
		old := k.AddWorker("old", "bert")
		mine := reserve(k, anna, testkit.On("w1"))
		berts := reserve(k, bert, testkit.On(old.ID))
		s := k.StartAsync(anna, testkit.Task(), quick)
		k.WantPoll(anna, s.TaskID, time.Second, api.TaskComplete)
		k.Node.Stop()

		d, err := actors.NewOfflineNode(actors.Config{Store: k.Store, Files: k.Files})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		added, err := api.Ask(ctx, d, &api.AddWorker{Name: "new"})
		if err != nil || added.Worker.State != api.Offline || !added.Worker.Added {
			t.Fatalf("%+v, %v", added, err)
		}
		annas, err := api.Ask(ctx, d, &api.AddWorker{Name: "annas", Owner: "anna"})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"new": "already", old.ID: "already", "worker-3": "come with the service", "a/b": "1 to 64"} {
			if _, err := api.Ask(ctx, d, &api.AddWorker{Name: name}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", name, err)
			}
		}
		all, err := api.Ask(ctx, d, &api.SurveyWorkers{})
		if err != nil || len(all.Workers) != 3 || all.Workers[0].Name != "old" || all.Workers[0].Owner != "bert" || all.Workers[0].State != api.Offline {
			t.Errorf("%+v, %v", all, err)
		}
		for what, err := range map[string]error{
			"drain":  errOf(api.Ask(ctx, d, &api.DrainWorker{Worker: "old"})),
			"resume": errOf(api.Ask(ctx, d, &api.ResumeWorker{Worker: "old"})),
		} {
			if !errors.Is(err, actors.ErrOffline) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := api.Ask(ctx, d, &api.RemoveWorker{Worker: "worker-1"}); err == nil || !strings.Contains(err.Error(), `no worker "worker-1" among those`) {
			t.Error(err)
		}
		if w, err := api.Ask(ctx, d, &api.RemoveWorker{Worker: "old"}); err != nil || w.Worker.ID != old.ID {
			t.Errorf("%+v, %v", w, err)
		}
		wantKept(k, mine) // bert's ended with the worker
		if r, err := api.Ask(ctx, d, &api.RemoveAccount{Account: "anna"}); err != nil || *r != (api.AccountRemoved{Sessions: 1, Workers: 1}) {
			t.Errorf("%+v, %v", r, err)
		}
		nothingOf(k, anna)

		k.Boot()
		k.Until(added.Worker.ID, api.Online)
		k.WantState("w1", api.Online)
		if by := workers(k); len(by) != 4 || by["new"].ID != added.Worker.ID {
			t.Errorf("%+v", by)
		}
		k.WantRefused(k.Start(bert, testkit.Task(testkit.Continue(berts)), quick), engine.CodeSessionMismatch)
		k.WantRefused(k.Start(bert, testkit.Task(testkit.On(annas.Worker.ID)), quick), engine.CodeForeignWorker)
		on(k, added.Worker.ID, k.Start(bert, testkit.Task(testkit.On(added.Worker.ID)), quick))
	})
	if _, err := actors.NewOfflineNode(actors.Config{}); err == nil {
		t.Error("a dormant node without a store")
	}
}
