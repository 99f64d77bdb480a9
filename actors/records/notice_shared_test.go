package records_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// TestTellOfNode: a node that ended between the end of a task and its notices has these
// made up for, once: also for endpoints that were named before the end, and no later. What
// it still ran is given up where somebody is to be told of it.
func TestTellOfNode(t *testing.T) {
	ctx, store := context.Background(), persistence.NewMemory()
	defer store.Close()
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	r, err := records.Open(records.Config{Store: store, Seal: seal, Node: "n2", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	point := func(account, url string, at time.Time) {
		t.Helper()
		p := records.Endpoint{Notify: engine.Notify{URL: url, Events: []engine.NoticeEvent{engine.NoticeEnd}}, Created: at}
		if full, err := r.Notices().PutEndpoint(ctx, account, p, 20); full || err != nil {
			t.Fatal(full, err)
		}
	}
	point("ada~1", "https://before.example/", ended.Add(-time.Minute))
	point("ada~1", "https://after.example/", ended.Add(time.Minute))
	put := func(id, account, node string, status api.TaskStatus, to ...string) {
		t.Helper()
		var all []engine.Notify
		for _, url := range to {
			all = append(all, engine.Notify{URL: url, Events: []engine.NoticeEvent{engine.NoticeEnd}})
		}
		sealed, err := r.SealNotify(id, all)
		if err != nil {
			t.Fatal(err)
		}
		task := records.Task{ID: id, Account: account, Node: node, Status: status, Started: ended.Add(-time.Second), Notify: sealed}
		if status != api.TaskPending {
			task.Ended = ended
		}
		if _, err := r.PutTask(ctx, task, nil); err != nil {
			t.Fatal(err)
		}
	}
	put("t1", "ada~1", "n1", api.TaskFailed, "https://own.example/")
	put("t2", "bob~1", "n1", api.TaskPending, "https://own.example/")
	put("t3", "bob~1", "n1", api.TaskPending)
	put("t4", "bob~1", "n3", api.TaskPending, "https://own.example/")
	waiting := func() (all []string) {
		t.Helper()
		list, _, _, err := r.Notices().List(ctx, records.NoticePrefix, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range list {
			all = append(all, n.Task.ID+" "+string(n.Task.Code)+" "+n.URL)
		}
		slices.Sort(all)
		return all
	}
	tell := func(lost bool) {
		t.Helper()
		if err := r.TellOfNode(ctx, "n1", lost); err != nil {
			t.Fatal(err)
		}
	}
	tell(false)
	if all := waiting(); !slices.Equal(all, []string{"t1 worker_lost https://before.example/", "t1 worker_lost https://own.example/"}) {
		t.Errorf("%q", all)
	}
	list, _, _, err := r.Notices().List(ctx, records.NoticePrefix, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	done := list[0]
	done.Status, done.Ended = api.NoticeDelivered, time.Now()
	if err := r.Notices().End(ctx, done); err != nil {
		t.Fatal(err)
	}
	tell(true)
	tell(true)
	all := waiting()
	if len(all) != 2 || !slices.Contains(all, "t2 worker_lost https://own.example/") {
		t.Errorf("%q", all)
	}
	for id, want := range map[string]api.TaskStatus{"t2": api.TaskFailed, "t3": api.TaskPending, "t4": api.TaskPending} {
		if now, _, err := r.Queue().At(ctx, id); err != nil || now.Status != want {
			t.Errorf("%s is %s, %v", id, now.Status, err)
		}
	}
}
