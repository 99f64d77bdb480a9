package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/admin"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/wait"
)

func TestTokenCommands(t *testing.T) {
	path, _, accounts := answering(t, testkit.Options{Workers: 1})
	ctx := context.Background()
	for _, step := range []struct{ account, plan, fault string }{
		{"ada", "", `no account "ada"`},
		{"ada", "gold", `plan "gold" is unknown`},
		{"ada", "basic", ""},
		{"ada", "basic", ""},
		{"ada", "", ""},
		{"ada", "pro", `"ada" has the plan basic, not pro`},
		{"a b", "pro", `"a b"`},
		{"bob", "free", ""},
	} {
		made := wants(t, path, step.fault, admin.CreateToken{Account: step.account, Plan: step.plan})
		if step.fault != "" {
			continue
		}
		if a, err := accounts.Lookup(ctx, made.Token); err != nil || a.Name != step.account || made.Account != step.account {
			t.Errorf("%+v: the token is of %+v, %v", step, a, err)
		}
	}
	all := wants(t, path, "", admin.ListTokens{})
	if len(all) != 4 || all[0].Account != "ada" || all[3].Account != "bob" || all[0].Created.After(all[1].Created) {
		t.Errorf("%+v", all)
	}
	if b, _ := json.Marshal(all); strings.Contains(string(b), "troupe_") {
		t.Errorf("a secret is shown: %s", b)
	}
	if bobs := wants(t, path, "", admin.ListTokens{Account: "bob"}); len(bobs) != 1 || !reflect.DeepEqual(bobs[0], all[3]) {
		t.Errorf("%+v", bobs)
	}
	wants(t, path, `no account "eve"`, admin.ListTokens{Account: "eve"})

	made := wants(t, path, "", admin.CreateToken{Account: "bob"})
	if r := wants(t, path, "", admin.RevokeToken{ID: made.ID}); r.Account != "bob" || r.ID != made.ID {
		t.Errorf("%+v", r)
	}
	if _, err := accounts.Lookup(ctx, made.Token); !errors.Is(err, persistence.ErrNotFound) {
		t.Errorf("a revoked token: %v", err)
	}
	for _, id := range []string{made.ID, "", "tok_", "bob"} {
		wants(t, path, fmt.Sprintf("no token %q", id), admin.RevokeToken{ID: id})
	}
}

// TestTokensOfSites: a token names the sites of its tasks for as long as it lives, and
// nothing but another token has others.
func TestTokensOfSites(t *testing.T) {
	path, _, accounts := answering(t, testkit.Options{Workers: 1})
	for sites, fault := range map[string]string{
		"shop.test/path": `the token's sites: "shop.test/path" is not a site`,
		"*.com":          `"*.com" is not a site`,
		strings.Repeat("shop.test ", lang.MaxSites+1): "want at most 100",
	} {
		wants(t, path, fault, admin.CreateToken{Account: "ada", Plan: "pro", Sites: strings.Fields(sites)})
	}
	wants(t, path, "no account", admin.ListTokens{Account: "ada"}) // a refused command has made none
	sites := []string{"shop.test", "*.example.org"}
	bounded := wants(t, path, "", admin.CreateToken{Account: "ada", Plan: "pro", Sites: sites})
	free := wants(t, path, "", admin.CreateToken{Account: "ada"})
	for range 2 { // the second time from memory
		for _, want := range []struct {
			token string
			sites []string
		}{{bounded.Token, sites}, {free.Token, nil}} {
			if a, err := accounts.Lookup(t.Context(), want.token); err != nil || !slices.Equal(a.Sites, want.sites) {
				t.Errorf("the sites are %v, want %v: %v", a.Sites, want.sites, err)
			}
		}
	}
	for _, one := range wants(t, path, "", admin.ListTokens{}) {
		if want := map[string][]string{bounded.ID: sites}[one.ID]; !slices.Equal(one.Sites, want) {
			t.Errorf("the list has the sites %v, want %v", one.Sites, want)
		}
	}
	if _, err := accounts.CreateOperator(t.Context(), "ops", "pro"); err != nil {
		t.Fatal(err)
	}
	wants(t, path, `"ops" is the operator's: its tokens cannot be bounded`, admin.CreateToken{Account: "ops", Sites: sites})
}

func TestAccountCommands(t *testing.T) {
	scripted := testkit.NewEngine()
	scripted.Default = func(c testkit.Call) testkit.Script {
		if c.Task.Timeout == time.Minute {
			return testkit.Script{Takes: time.Minute}
		}
		return testkit.Script{}
	}
	path, k, accounts := answering(t, testkit.Options{Workers: 2, Engine: scripted})
	e := serve(t, k.Node, accounts)
	ada := wants(t, path, "", admin.CreateAccount{Name: "ada", Plan: "free"})
	wants(t, path, "already, with the plan free", admin.CreateAccount{Name: "ada", Plan: "pro"})
	wants(t, path, `plan "gold" is unknown`, admin.CreateAccount{Name: "bob", Plan: "gold"})
	wants(t, path, "1 to 64", admin.CreateAccount{Name: "a b", Plan: "pro"})
	token := wants(t, path, "", admin.CreateToken{Account: "ada"}).Token
	if all := wants(t, path, "", admin.ListAccounts{}); len(all) != 1 || all[0].Name != "ada" || all[0].Plan != "free" || all[0].Tokens != 1 || all[0].ID != ada.ID {
		t.Errorf("%+v", all)
	}

	// A plan holds from the next request on.
	session := `{"actions":[{"wait":1}],"session":{"preserve":true}}`
	if status, body := e.play(t, token, session); status != 403 || !strings.Contains(body, "plan_required") {
		t.Errorf("%d %s", status, body)
	}
	if a := wants(t, path, "", admin.SetPlan{Account: "ada", Plan: "pro"}); a.Plan != "pro" || a.Tokens != 1 {
		t.Errorf("%+v", a)
	}
	status, body := e.play(t, token, session)
	if status != 200 || !strings.Contains(body, `"sessionId"`) {
		t.Errorf("%d %s", status, body)
	}
	wants(t, path, `plan "gold" is unknown`, admin.SetPlan{Account: "ada", Plan: "gold"})
	wants(t, path, `no account "eve"`, admin.SetPlan{Account: "eve", Plan: "pro"})

	// Everything that it has ends with it.
	wants(t, path, "", admin.AddWorker{Name: "adas", Account: "ada"})
	wait.Until(t, "ada's worker is up", func() bool { return k.Node.Status().Online == 2 })
	type answer struct {
		status int
		body   string
	}
	running := make(chan answer, 1)
	go func() {
		status, body := e.play(t, token, `{"actions":[{"wait":1}],"timeout":60000}`)
		running <- answer{status, body}
	}()
	wait.Until(t, "the task runs", func() bool { return k.Node.Status().Busy == 1 })
	if d := wants(t, path, "", admin.DeleteAccount{Account: "ada"}); d != (admin.AccountDeleted{Account: "ada", Tasks: 1, Sessions: 1, Workers: 1}) {
		t.Errorf("%+v", d)
	}
	if a := <-running; a.status != 200 || !strings.Contains(a.body, `"code":"cancelled"`) {
		t.Errorf("the running task: %d %s", a.status, a.body)
	}
	if status, body := e.play(t, token, session); status != 401 {
		t.Errorf("its token: %d %s", status, body)
	}
	wants(t, path, `no account "ada"`, admin.DeleteAccount{Account: "ada"})
	wants(t, path, `no account "ada"`, admin.AddWorker{Name: "late", Account: "ada"})
	again := wants(t, path, "", admin.CreateAccount{Name: "ada", Plan: "free"})
	wants(t, path, fmt.Sprintf("no account %q", ada.ID), admin.DeleteAccount{Account: ada.ID})
	wants(t, path, "", admin.DeleteAccount{Account: again.ID})
	left, err := k.Store.List(context.Background(), "")
	if err != nil || len(left) != 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
}

// failing is a store that deletes nothing.
type failing struct {
	persistence.Store
	fails bool
}

func (s *failing) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	if s.fails {
		return errors.New("the disk is full")
	}
	return s.Store.Delete(ctx, key, revision, durable)
}

// TestRemovalIsFinished: what could not be removed with an account is, by the same
// command or at the next start.
func TestRemovalIsFinished(t *testing.T) {
	for _, how := range []string{"the same command", "the next start"} {
		store := &failing{Store: persistence.NewMemory()}
		defer store.Close()
		accounts := persistence.NewAccounts(store)
		staff, err := actors.NewOfflineNode(actors.Config{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		o := &admin.Admin{Accounts: accounts, Actors: staff}
		ctx := context.Background()
		made, err := admin.CreateToken{Account: "ada", Plan: "pro"}.Do(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (admin.AddWorker{Name: "adas", Account: "ada"}).Do(ctx, o); err != nil {
			t.Fatal(err)
		}
		store.fails = true
		if _, err := (admin.DeleteAccount{Account: "ada"}).Do(ctx, o); err == nil || !strings.Contains(err.Error(), "can do nothing any more") {
			t.Error(err)
		}
		if _, err := accounts.Lookup(ctx, made.Token); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("the token: %v", err)
		}
		if err := o.FinishRemovals(ctx); err == nil || !strings.Contains(err.Error(), `"ada"`) {
			t.Error(err)
		}
		store.fails = false
		if how == "the same command" {
			_, err = admin.DeleteAccount{Account: "ada"}.Do(ctx, o)
		} else {
			err = o.FinishRemovals(ctx)
		}
		left, e := store.List(ctx, "")
		if err != nil || e != nil || len(left) != 0 {
			t.Errorf("by %s: %v, %v, left: %+v", how, err, e, left)
		}
	}
}

func TestWorkerCommands(t *testing.T) {
	path, k, accounts := answering(t, testkit.Options{Workers: 1})
	e := serve(t, k.Node, accounts)
	ada := wants(t, path, "", admin.CreateToken{Account: "ada", Plan: "pro"}).Token
	bob := wants(t, path, "", admin.CreateToken{Account: "bob", Plan: "pro"}).Token
	w := wants(t, path, "", admin.AddWorker{Name: "adas", Account: "ada"})
	if w.Name != "adas" || w.Account != "ada" || !w.Added || w.ID == "" {
		t.Errorf("%+v", w)
	}
	wants(t, path, "already", admin.AddWorker{Name: "adas"})
	wants(t, path, "come with the service", admin.AddWorker{Name: "worker-2"})
	wants(t, path, `no account "eve"`, admin.AddWorker{Name: "eves", Account: "eve"})
	wait.Until(t, "both are up", func() bool { return k.Node.Status().Online == 2 })

	on := func(token, worker string) (int, string) {
		return e.play(t, token, fmt.Sprintf(`{"actions":[{"wait":1}],"workerId":%q}`, worker))
	}
	if status, body := on(ada, w.ID); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if status, body := on(bob, w.ID); status != 403 || !strings.Contains(body, "foreign_worker") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := e.call(t, "GET", "/v1/workers", bob, ""); status != 200 || strings.Contains(body, "adas") || strings.Contains(body, "draining") {
		t.Errorf("%d %s", status, body)
	}
	account, err := accounts.ByName(context.Background(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	k.StartAsync(api.Account{ID: account.ID, Plan: engine.Pro}, testkit.Task(testkit.On(w.ID)), testkit.Script{Takes: time.Minute})
	find := func(name string) admin.Worker {
		t.Helper()
		for _, w := range wants(t, path, "", admin.ListWorkers{}) {
			if w.Name == name {
				return w
			}
		}
		return admin.Worker{}
	}
	if w := find("adas"); w.State != api.Busy || w.For != "ada" || w.Task == "" || w.Draining {
		t.Errorf("%+v", w)
	}
	if w := wants(t, path, "", admin.DrainWorker{Worker: "adas"}); !w.Draining || w.State != api.Busy {
		t.Errorf("%+v", w)
	}
	if status, body := e.call(t, "GET", "/v1/workers", ada, ""); status != 200 || !strings.Contains(body, `"draining":true`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := on(ada, w.ID); status != 409 || !strings.Contains(body, "worker_busy") {
		t.Errorf("%d %s", status, body)
	}
	wants(t, path, "", admin.DrainWorker{Worker: "worker-1"})
	wait.Until(t, "worker-1 is drained", func() bool { return find("worker-1").State == api.Offline })
	if status, body := on(bob, "w1"); status != 409 || !strings.Contains(body, "worker_offline") || !strings.Contains(body, "take no more tasks") {
		t.Errorf("%d %s", status, body)
	}
	if w := wants(t, path, "", admin.ResumeWorker{Worker: "w1"}); w.Draining {
		t.Errorf("%+v", w)
	}
	wait.Until(t, "worker-1 is up", func() bool { return find("worker-1").State == api.Online })
	wants(t, path, "drain it, or start the service with fewer", admin.RemoveWorker{Worker: "worker-1"})
	for _, grace := range []int64{-1, 1 << 62} {
		wants(t, path, "want 0 to", admin.RemoveWorker{Worker: "adas", Grace: grace})
	}
	wants(t, path, "", admin.RemoveWorker{Worker: "adas", Grace: 1})
	for _, o := range []admin.Command[admin.Worker]{admin.DrainWorker{Worker: "adas"}, admin.ResumeWorker{Worker: "adas"}, admin.RemoveWorker{Worker: "adas"}} {
		wants(t, path, `no worker "adas"`, o)
	}
	if status, body := on(ada, w.ID); status != 403 {
		t.Errorf("%d %s", status, body)
	}
}

// TestSecretCommands: a value goes in and never comes out.
func TestSecretCommands(t *testing.T) {
	path, _, _ := answering(t, testkit.Options{Workers: 1})
	wants(t, path, "", admin.CreateToken{Account: "ada", Plan: "pro"})
	wants(t, path, "", admin.CreateToken{Account: "bob", Plan: "pro"})
	const value = "correct horse"
	set := admin.SetSecret{Account: "ada", Name: "pass", Value: value, Origins: []string{"HTTPS://Shop.example:443/"}}
	made := wants(t, path, "", set)
	if made.Name != "pass" || made.Account != "ada" || len(made.Origins) != 1 || made.Origins[0] != "https://shop.example" || time.Since(made.Changed) > time.Minute {
		t.Errorf("%+v", made)
	}
	for text, change := range map[string]func(*admin.SetSecret){
		"no account": func(s *admin.SetSecret) { s.Account = "eve" }, "is no origin": func(s *admin.SetSecret) { s.Origins = []string{"shop.example"} },
		"not 1 to 64": func(s *admin.SetSecret) { s.Name = "a b" }, "has 3 bytes": func(s *admin.SetSecret) { s.Value = "abc" }, "needs the origin": func(s *admin.SetSecret) { s.Origins = nil },
	} {
		bad := set
		change(&bad)
		wants(t, path, text, bad)
	}
	all := wants(t, path, "", admin.ListSecrets{Account: "ada"})
	if b, _ := json.Marshal(all); len(all) != 1 || !strings.Contains(string(b), `"name":"pass"`) || strings.Contains(string(b), value) {
		t.Errorf("the list is %s", b)
	}
	if of := wants(t, path, "", admin.ListSecrets{Account: "bob"}); len(of) != 0 {
		t.Errorf("somebody else has %+v", of)
	}
	wants(t, path, `"bob" has no secret "pass"`, admin.RemoveSecret{Account: "bob", Name: "pass"})
	wants(t, path, "", admin.RemoveSecret{Account: "ada", Name: "pass"})
	wants(t, path, `"ada" has no secret "pass"`, admin.RemoveSecret{Account: "ada", Name: "pass"})
	wants(t, path, "no account", admin.ListSecrets{Account: "eve"})
}
