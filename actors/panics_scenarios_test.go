package actors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

var scenarios = []scenario{
	{"requests", nil, (*testClient).requests},
	{"renewed browsers", func(c *actors.Config) { c.Browser.RenewAge = 10 * time.Minute }, (*testClient).requests},
	{"sessions", nil, (*testClient).sessions},
	{"asynchronous tasks", nil, (*testClient).tasks},
	{"keys", nil, (*testClient).keys},
	{"staff", nil, (*testClient).staff},
	{"the queue", nil, (*testClient).queues},
	{"the queue of nodes", func(c *actors.Config) { c.Node, c.Session.Lease, c.Peers = "n1", 10*time.Second, nobody{} }, (*testClient).sharedQueue},
	{"the queue and a profile", func(c *actors.Config) { c.Profiles = persistence.NewProfiles(c.Store, c.Seal) }, (*testClient).profiles},
	{"a session and its profile", func(c *actors.Config) { c.Profiles = persistence.NewProfiles(c.Store, c.Seal) }, (*testClient).sessionProfile},
	{"drain", nil, (*testClient).drains},
	{"leases", func(c *actors.Config) { c.Node, c.Session.Lease = "n1", 10*time.Second }, (*testClient).leases},
}

func (v *testClient) requests() {
	bert := testkit.Account("bert", engine.Standard)
	blocks := v.Start(anna, testkit.Task(testkit.On("w1")), lasting(20*time.Second))
	hangs := v.Start(bert, testkit.Task(testkit.On("w2"), testkit.Within(5*time.Second)), testkit.Script{Hang: true})
	v.AwaitIdle()
	impatient := v.Start(anna, testkit.Task(testkit.Waiting(time.Second)), quick)
	patient := v.Start(anna, testkit.Task(testkit.On("w1"), testkit.Waiting(time.Minute)), second)
	leaves := v.Start(anna, testkit.Task(testkit.On("w1"), testkit.Waiting(time.Minute)), second)
	time.Sleep(5 * time.Second)
	leaves.Leave()
	for _, r := range []*testkit.Request{impatient, leaves, blocks, hangs, patient} {
		v.answer(r)
	}
	runs := v.Start(anna, testkit.Task(testkit.On("w1")), lasting(20*time.Second))
	v.AwaitIdle()
	v.asks("a cancellation", func(ctx context.Context) error {
		_, err := api.Ask(ctx, v.Node, &api.Cancel{TaskID: runs.ID, Account: anna, Cause: api.CauseAsked})
		return err
	})
	v.answer(runs)
	v.asks("a list", func(ctx context.Context) error {
		_, err := api.Ask(ctx, v.Node, &api.ListWorkers{Account: anna})
		return err
	})
	v.asks("a survey", func(ctx context.Context) error {
		_, err := api.Ask(ctx, v.Node, &api.SurveyWorkers{})
		return err
	})
	v.answer(v.Start(anna, testkit.Task(), testkit.Script{Crash: true}))
	v.Engine.Kill("w2")
	declined := v.Start(anna, testkit.Task(testkit.On("w2"), testkit.Waiting(time.Minute)), quick)
	v.answer(declined)
	v.Engine.Kill("w1")
	v.Node.TellAgain("w1")
	time.Sleep(20 * time.Minute)
	v.Node.PanicWorker("w1")
	v.Node.PeerReports(&api.PeerCapacity{Node: "n2", Free: 1})
	v.Node.PeerFreed("n2")
	v.Node.PeerReports(&api.PeerCapacity{Node: "n2"})
	gone := testkit.Pro("gone")
	runs = v.Start(gone, testkit.Task(), lasting(20*time.Second))
	v.AwaitIdle()
	v.asks("the removal of an account", func(ctx context.Context) error {
		_, err := api.Ask(ctx, v.Node, &api.RemoveAccount{Account: gone.ID})
		return err
	})
	v.answer(runs)
}

func (v *testClient) sessions() {
	id := v.opens(anna, testkit.On("w1"), testkit.Lasting(10*time.Minute))
	v.does(anna, testkit.Continue(id))
	v.Engine.Kill("w1")
	time.Sleep(5 * time.Second)
	v.does(anna, testkit.Continue(id))
	v.does(anna, testkit.Override(), testkit.On("w1"))
	v.Node.PanicWorker("w1")
	time.Sleep(5 * time.Second)
	v.does(anna, testkit.Override(), testkit.On("w1"))
	time.Sleep(30 * time.Minute)
	id = v.opens(anna, testkit.On("w1"))
	v.does(anna, testkit.Close(id))
	v.opens(anna, testkit.On("w2"))
	v.asks("a drain", func(ctx context.Context) error {
		_, err := api.Ask(ctx, v.Node, &api.DrainWorker{Worker: "w2"})
		return err
	})
	time.Sleep(5 * time.Second)
	v.resumes("w2")
	v.resumes("w2") // the first may have failed
	time.Sleep(time.Minute)
	v.async(anna, testkit.Task(testkit.Preserve()), quick)
	v.asks("the removal of an account", func(ctx context.Context) error {
		_, err := api.Ask(ctx, v.Node, &api.RemoveAccount{Account: anna.ID})
		return err
	})
}

func (v *testClient) resumes(worker string) {
	v.asks("a resumption", func(ctx context.Context) error {
		_, err := api.Ask(ctx, v.Node, &api.ResumeWorker{Worker: worker})
		return err
	})
}

func (v *testClient) tasks() {
	s := v.starts(&api.Execute{Account: anna, Task: testkit.Task()}, testkit.Script{Takes: 10 * time.Second, Steps: 2})
	if s != nil && s.Refusal == nil {
		v.follows(anna, s.TaskID, 0, time.Minute)
		v.polls(anna, s.TaskID, time.Second)
		v.follows(anna, s.TaskID, 0, 0)
		v.polls(anna, s.TaskID, time.Minute)
		time.Sleep(2 * time.Minute)
		if p := v.polls(anna, s.TaskID, 0); p != nil && p.Refusal == nil && p.Status == api.TaskPending {
			v.t.Errorf("the task has not ended: %+v", p)
		}
		v.polls(testkit.Pro("bert"), s.TaskID, 0)
	}
	v.starts(&api.Execute{Account: anna, Task: testkit.Task(testkit.Continue("none"))}, quick) // refused
	s = v.starts(&api.Execute{Account: anna, Task: testkit.Task()}, lasting(10*time.Second))
	v.store.fail("task/", "outcome/")
	if s != nil && s.Refusal == nil {
		v.polls(anna, s.TaskID, time.Minute)
	}
	v.starts(&api.Execute{Account: anna, Task: testkit.Task()}, quick)
	v.store.fail()
	time.Sleep(time.Minute)
	if s != nil && s.Refusal == nil {
		if p := v.polls(anna, s.TaskID, 0); p != nil && p.Refusal == nil && p.Status == api.TaskPending {
			v.t.Errorf("the task has not ended: %+v", p)
		}
	}
	v.starts(&api.Execute{Account: anna, Task: testkit.Task()}, lasting(10*time.Second))
	v.asks("the removal of an account", func(ctx context.Context) error {
		_, err := api.Ask(ctx, v.Node, &api.RemoveAccount{Account: anna.ID})
		return err
	})
}

func (v *testClient) keys() {
	for range 2 {
		v.answer(v.Send(with("k1", "d", anna), second))
	}
	two := []*testkit.Request{v.Send(with("k2", "d", anna), second), v.Send(with("k2", "d", anna), second)}
	for _, r := range two {
		v.answer(r)
	}
	for range 2 {
		v.starts(with("k3", "d", anna), second)
	}
	v.calls()
	v.store.fail("key/")
	v.answer(v.Send(with("k4", "d", anna), second))
	v.store.fail()
}

func (v *testClient) staff() {
	id := ""
	v.asks("an addition", func(ctx context.Context) error {
		w, err := api.Ask(ctx, v.Node, &api.AddWorker{Name: "new"})
		if err == nil {
			id = w.Worker.ID
		}
		return err
	})
	time.Sleep(2 * time.Minute)
	runs := []*testkit.Request{v.Start(anna, testkit.Task(testkit.On("w1")), lasting(30*time.Second))}
	if id != "" {
		runs = append(runs, v.Start(anna, testkit.Task(testkit.On(id)), lasting(30*time.Second)))
	}
	time.Sleep(time.Second)
	for range 20 { // the removal may have to be asked for again
		v.asks("a removal", func(ctx context.Context) error {
			_, err := api.Ask(ctx, v.Node, &api.RemoveWorker{Worker: "new", Grace: time.Second})
			return err
		})
		time.Sleep(10 * time.Second)
	}
	for _, r := range runs {
		v.answer(r)
	}
	v.asks("a drain", func(ctx context.Context) error {
		_, err := api.Ask(ctx, v.Node, &api.DrainWorker{Worker: "w1"})
		return err
	})
	v.does(anna, testkit.On("w1"))
	v.resumes("w1")
	v.resumes("w1")
}

func (v *testClient) drains() {
	runs := v.Start(anna, testkit.Task(), lasting(30*time.Second))
	waits := v.Start(anna, testkit.Task(testkit.On("w1"), testkit.Waiting(time.Minute)), lasting(30*time.Second))
	v.starts(&api.Execute{Account: anna, Task: testkit.Task()}, lasting(30*time.Second))
	v.asks("a drain", func(ctx context.Context) error {
		_, err := v.Node.Drain(ctx, 5*time.Second)
		return err
	})
	v.answer(runs)
	v.answer(waits)
}

func (v *testClient) leases() {
	id := v.opens(anna, testkit.On("w1"))
	runs := v.Start(anna, testkit.Task(testkit.Continue(id)), lasting(50*time.Second))
	time.Sleep(time.Second)
	v.store.fail("lease/")
	time.Sleep(20 * time.Second)
	// Another node has ended the lease.
	v.rewrite("lease/n1", func(r map[string]any) { r["over"] = true })
	v.store.fail()
	time.Sleep(20 * time.Second)
	v.answer(runs)
	v.does(anna, testkit.Continue(id))
	v.rewrite("session/"+id, func(r map[string]any) { r["node"], r["epoch"] = "n2", 7 })
	v.does(anna, testkit.Continue(id))
	time.Sleep(time.Second)
	for range 2 {
		v.restores(id, "n2")
	}
	v.does(anna, testkit.Continue(id))
	v.does(anna, testkit.Close(id))
}

// restores goes on with a session of another node.
func (v *testClient) restores(id, lost string) {
	v.asks("a restoring", func(ctx context.Context) error {
		_, err := api.Ask(ctx, v.Node, &api.Restore{Session: id, Account: anna, Lost: lost})
		return err
	})
	time.Sleep(time.Minute)
}

// rewrite changes a record as another node would.
func (v *testClient) rewrite(key string, change func(map[string]any)) {
	found, err := v.store.Get(context.Background(), key)
	if err != nil { // a panic has kept it from being there
		return
	}
	var r map[string]any
	if err := json.Unmarshal(found.Value, &r); err != nil {
		v.t.Fatal(err)
	}
	change(r)
	if found.Value, err = json.Marshal(r); err != nil {
		v.t.Fatal(err)
	}
	_, err = v.store.Store.Put(context.Background(), persistence.Write{Key: key, Value: found.Value, Expires: found.Expires, Durable: true})
	if err != nil {
		v.t.Fatal(err)
	}
}

// nobody is the other nodes of one that is alone.
type nobody struct{}

func (nobody) Ask(context.Context, string, any) (any, error) {
	return nil, errors.New("nobody is there")
}

func (nobody) AskQueue(context.Context, any) (any, error) {
	return nil, errors.New("there are no other nodes")
}

func (nobody) StartQueued(context.Context, *api.Execute) (*api.Started, error) {
	return nil, errors.New("there are no other nodes")
}

func (nobody) CancelQueued(context.Context, *api.Cancel) error {
	return errors.New("there are no other nodes")
}

func (nobody) Keepers() []string { return nil }
func (nobody) Up(string) bool    { return false }
func (nobody) Place(context.Context, *api.Execute) (string, *api.Refusal, error) {
	return "n1", nil, nil
}

// sharedQueue uses the queue of several nodes, and lets the lease of the one that orders it
// lapse meanwhile.
func (v *testClient) sharedQueue() {
	v.queues()
	v.starts(&api.Execute{Account: anna, Task: queued(v.t, `{"priority":9,"attempts":2,"backoff":1000}`)}, testkit.Script{})
	time.Sleep(5 * time.Second)
	v.store.fail("lease/")
	time.Sleep(30 * time.Second)
	v.store.fail()
	time.Sleep(time.Minute)
	if s := v.starts(&api.Execute{Account: anna, Task: queued(v.t, `true`)}, testkit.Script{}); s != nil && s.Refusal == nil {
		if p := v.polls(anna, s.TaskID, time.Minute); p != nil && p.Refusal == nil && p.Status == api.TaskPending {
			v.t.Errorf("the task has not ended: %+v", p)
		}
	}
}

// batches pauses a batch while the queue has its tasks, and lets it go on.
func (v *testClient) batches() {
	template, err := engine.ParseTemplate([]byte(`{"actions":[{"wait":1}]}`), nil)
	if err != nil {
		v.t.Fatal(err)
	}
	id := ""
	do := func(what string, m api.Request[api.Batched]) {
		v.asks(what, func(ctx context.Context) error {
			x, err := api.Ask(ctx, v.Node, m)
			if err == nil && x.Batch != nil {
				id = x.Batch.ID
			}
			return err
		})
	}
	change := func(to api.BatchChange) {
		do("a change of a batch", &api.ChangeBatch{Account: anna, ID: id, Change: to})
	}
	v.Node.HoldQueue(true)
	do("a batch", &api.CreateBatch{Account: anna, Task: template.Task})
	do("items", &api.AddBatchItems{Account: anna, ID: id, Items: []json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`{}`)}})
	change(api.BatchReady)
	time.Sleep(5 * time.Second)
	change(api.BatchPause)
	v.Node.HoldQueue(false)
	time.Sleep(10 * time.Second)
	change(api.BatchResume)
	time.Sleep(30 * time.Second)
	do("a question about a batch", &api.GetBatch{Account: anna, ID: id})
}

func (v *testClient) queues() {
	send := func(options string) *api.Started {
		return v.starts(&api.Execute{Account: anna, Task: queued(v.t, options)}, testkit.Script{})
	}
	cancels := func(s *api.Started) {
		if s != nil && s.Refusal == nil {
			v.asks("a cancellation", func(ctx context.Context) error {
				_, err := api.Ask(ctx, v.Node, &api.Cancel{TaskID: s.TaskID, Account: anna, Cause: api.CauseAsked})
				return err
			})
		}
	}
	v.Engine.Default = func(c testkit.Call) testkit.Script {
		if bytes.Contains(c.Task.Source(), []byte(`"priority":9`)) {
			return lasting(time.Minute)
		}
		return testkit.Script{}
	}
	v.Node.HoldQueue(true)
	for range 50 { // more than are in memory
		send(`true`)
	}
	v.Node.HoldQueue(false)
	time.Sleep(10 * time.Second)
	blocks := []*testkit.Request{
		v.Start(anna, testkit.Task(testkit.On("w1")), lasting(20*time.Second)), v.Start(anna, testkit.Task(testkit.On("w2")), lasting(20*time.Second)),
	}
	time.Sleep(time.Second)
	waits, later := send(`{"attempts":2,"backoff":1000}`), send(`{"startAfter":5000}`)
	cancels(waits)
	cancels(send(`{"startAfter":600000}`))
	expires := send(`{"startAfter":3000,"expiresAfter":1000}`)
	for _, s := range []*api.Started{waits, later, expires} {
		if s != nil && s.Refusal == nil {
			v.polls(anna, s.TaskID, 0)
			v.polls(anna, s.TaskID, 500*time.Millisecond)
			v.follows(anna, s.TaskID, 0, 500*time.Millisecond)
		}
	}
	for _, r := range blocks {
		v.answer(r)
	}
	v.batches()
	runs := send(`{"priority":9,"attempts":2,"retryOn":["browser_crashed"]}`)
	time.Sleep(time.Second)
	v.Engine.Kill("w1")
	v.Engine.Kill("w2")
	time.Sleep(10 * time.Second)
	cancels(runs)
	time.Sleep(2 * time.Minute)
	for _, s := range []*api.Started{waits, later, expires, runs} {
		if s != nil && s.Refusal == nil {
			if p := v.polls(anna, s.TaskID, time.Minute); p != nil && p.Refusal == nil && p.Status == api.TaskPending {
				v.t.Errorf("the task has not ended: %+v", p)
			}
		}
	}
}
