package cluster_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// origin is where the tests' secrets may be put.
const origin = "https://shop.example"

// offlineData is what a service of one node leaves: two accounts of which ada uses
// it, and what is known of them.
type offlineData struct {
	actors.OfflineData
	ada, bob      persistence.Account
	token, bobs   string
	task, session string
	picture       persistence.Blob
}

func newOfflineData(t *testing.T) *offlineData {
	t.Helper()
	dir := t.TempDir()
	store, err := persistence.OpenBadger(filepath.Join(dir, "store"), persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := persistence.OpenFolder(filepath.Join(dir, "files"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	seal, err := persistence.OpenSeal(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	e := &offlineData{OfflineData: actors.OfflineData{Store: store, Files: folder, Seal: seal}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	accounts := persistence.NewAccounts(store)
	e.ada, err = accounts.Create(ctx, "ada", "pro")
	must(err)
	e.bob, err = accounts.Create(ctx, "bob", "pro")
	must(err)
	e.token, _, err = accounts.CreateToken(ctx, e.ada.ID, persistence.Issuer{})
	must(err)
	e.bobs, _, err = accounts.CreateToken(ctx, e.bob.ID, persistence.Issuer{})
	must(err)
	_, err = persistence.NewSecrets(store, seal).Set(ctx, e.ada.ID, persistence.Secret{Name: "pass", Value: "open sesame", Origins: []string{origin}})
	must(err)
	_, err = persistence.NewFlows(store).Put(ctx, e.ada.ID, persistence.Flow{Name: "sign-in", Source: []byte(`{"actions":[{"wait":1}]}`)})
	must(err)

	k := testkit.New(t, testkit.Options{Workers: 2, Store: store, Files: folder, Config: func(c *actors.Config) { c.Seal = seal }})
	who := testkit.Account(e.ada.ID, engine.Pro)
	e.task = k.StartAsync(who, testkit.Task(), testkit.Script{Outcome: &engine.Outcome{
		End: engine.EndCompleted, Data: []byte(`"` + strings.Repeat("large ", 100_000) + `"`),
	}}).TaskID
	k.WantPoll(who, e.task, time.Minute, api.TaskComplete)
	x := k.WantEnd(k.Start(who, testkit.Task(testkit.On("w2"), testkit.Preserve()), testkit.Script{}), engine.EndCompleted)
	e.session = x.SessionID
	k.Until("w2", api.Reserved)
	m := &api.Execute{Account: who, Task: testkit.Task(), Idempotency: api.Idempotency{Key: "order 7", Digest: []byte("same")}}
	k.WantEnd(k.Send(m, testkit.Script{}), engine.EndCompleted)
	_, err = api.Ask(ctx, k.Node, &api.AddWorker{Name: "extra", Owner: e.ada.ID})
	must(err)
	_, _, err = store.Add(ctx, "usage/"+e.ada.ID+"/"+time.Now().UTC().Format(time.DateOnly), 41, 0, time.Now().Add(time.Hour))
	must(err)
	e.picture, err = folder.Put(ctx, persistence.Blob{ContentType: "image/png", Account: e.ada.ID, Expires: time.Now().Add(time.Hour)}, strings.NewReader("picture"))
	must(err)
	k.Node.Stop()
	return e
}

// A service of one node becomes one of three with its data.
func TestOneNodeBecomesThree(t *testing.T) {
	t.Parallel()
	old := newOfflineData(t)
	all := shared(t)
	emptied(t, all[0])
	s := openStore(t, all[0])
	files := openedFiles(t, s)
	keys, err := all[0].Keys("seal")
	if err != nil {
		t.Fatal(err)
	}
	seal, err := persistence.NewSeal(keys[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := persistence.NewAccounts(s).Create(ctx, "bob", "free"); err != nil { // another bob
		t.Fatal(err)
	}

	to := actors.Config{Store: s, Files: files, Seal: seal, Node: "n1"}
	start := time.Now()
	first, err := actors.Import(ctx, old.OfflineData, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v in %v", first, time.Since(start).Round(time.Millisecond))
	if first.Accounts != 1 || first.Tokens != 1 || first.Secrets != 1 || first.Flows != 1 || first.Counts != 1 || first.Tasks != 1 || first.Answers != 1 ||
		first.Sessions != 1 || first.Workers != 1 || first.Files != 2 || first.Present != 0 || len(first.Left) != 1 || !strings.Contains(first.Left[0], `"bob"`) {
		t.Errorf("brought: %+v", first)
	}
	second, err := actors.Import(ctx, old.OfflineData, to)
	if err != nil || second.Accounts+second.Tokens+second.Secrets+second.Flows+second.Counts+second.Tasks+second.Answers+second.Sessions+second.Workers+second.Files != 0 || second.Present != 11 {
		t.Errorf("brought the second time: %+v, %v", second, err)
	}

	there := openStore(t, all[2])
	accounts := persistence.NewAccounts(there)
	if a, err := accounts.Lookup(ctx, old.token); err != nil || a.ID != old.ada.ID || a.Plan != "pro" {
		t.Errorf("the token is %+v's, %v", a, err)
	}
	if a, err := accounts.Lookup(ctx, old.bobs); err == nil {
		t.Errorf("the token of the bob who stayed behind is %+v's", a)
	}
	if all, err := persistence.NewSecrets(there, seal).Of(ctx, old.ada.ID); err != nil || len(all) != 1 || all[0].Value != "open sesame" || all[0].Origins[0] != origin {
		t.Errorf("the secrets are %+v, %v", all, err)
	}
	if r, err := there.Get(ctx, "secret/"+old.ada.ID+"/pass"); err != nil || strings.Contains(string(r.Value), "sesame") {
		t.Errorf("the secret is stored as %q, %v", r.Value, err)
	}
	if n, err := persistence.NewUsage(there).Read(ctx, old.ada.ID, time.Now()); err != nil || n < 41 {
		t.Errorf("the day's count is %d, %v", n, err)
	}
	kept := openedFiles(t, there)
	b, r, err := kept.Open(ctx, old.picture.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); err != nil || string(text) != "picture" || !b.Expires.Equal(old.picture.Expires) {
		t.Errorf("the picture is %q until %v, %v", text, b.Expires, err)
	}

	// The node that took it over knows the task, goes on with the session and
	// gives the answer to the key; its next start has the worker.
	k := testkit.New(t, testkit.Options{Workers: 2, Store: there, Files: kept, Config: func(c *actors.Config) { c.Seal, c.Node, c.Session.Lease = seal, "n1", 10*time.Minute }})
	who := testkit.Account(old.ada.ID, engine.Pro)
	if p := k.WantPoll(who, old.task, 0, api.TaskComplete); len(p.Executed.Outcome.Data) < 600_000 {
		t.Errorf("the result has %d bytes", len(p.Executed.Outcome.Data))
	}
	for _, lost := range []string{"", "(imported)"} { // as the company asks, at any node
		within, cancel := context.WithTimeout(ctx, hang) // the lease is longer
		at, err := api.Ask(within, k.Node, &api.Restore{Session: old.session, Account: who, Lost: lost})
		cancel()
		if err != nil || at.Refusal != nil || at.Node != map[string]string{"": "(imported)", "(imported)": "n1"}[lost] {
			t.Fatalf("restored: %+v, %v", at, err)
		}
	}
	x := k.WantEnd(k.Send(&api.Execute{Account: who, Task: testkit.Task(testkit.Continue(old.session), testkit.Waiting(time.Minute)), SessionMoved: true}, testkit.Script{}), engine.EndCompleted)
	if got, err := testkit.ResultOf(x.Outcome); err != nil || len(got.Before) != 1 || !x.Outcome.Restored {
		t.Errorf("the session goes on as %+v, %v", got, err)
	}
	plays := len(k.Engine.Plays())
	m := &api.Execute{Account: who, Task: testkit.Task(), Idempotency: api.Idempotency{Key: "order 7", Digest: []byte("same")}}
	if k.WantEnd(k.Send(m, testkit.Script{}), engine.EndCompleted); len(k.Engine.Plays()) != plays {
		t.Error("a request that was answered before the import is played again")
	}
	if w, err := api.Ask(ctx, k.Node, &api.SurveyWorkers{}); err != nil || len(w.Workers) != 3 || w.Workers[2].Name != "extra" || w.Workers[2].Owner != old.ada.ID {
		t.Errorf("the workers are %+v, %v", w, err)
	}
}
