package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/actors/view"
	"troupe/engine"
	"troupe/testkit"
)

// shows waits until a picture of a viewer names a task.
func shows(t *testing.T, w *view.Viewer, task string) {
	t.Helper()
	for end := time.After(hang); ; {
		select {
		case p := <-w.Pictures():
			if strings.Contains(string(p), task) {
				return
			}
		case <-w.Done():
			t.Fatalf("it is over without a picture of %s: %s", task, w.EndReason())
		case <-end:
			t.Fatalf("there is no picture of %s", task)
		}
	}
}

// over waits until a viewer has ended, and says why.
func over(t *testing.T, w *view.Viewer) string {
	t.Helper()
	select {
	case <-w.Done():
		return w.EndReason()
	case <-time.After(hang):
		t.Fatal("the watching does not end")
		return ""
	}
}

// TestBrowsersAreSeenFromAnyNode: by their account, by the operator and by nobody
// else, until what they show is over or their node is down.
func TestBrowsersAreSeenFromAnyNode(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	at := func(name string) string {
		return fmt.Sprintf(`{"workerId":%q,"actions":[{"wait":1}]}`, actors.WorkerID(name, 1))
	}
	g := to.send(n1, anna, at("n2"), testkit.Script{Takes: time.Minute})
	to.runs(n2, g)
	for _, h := range to.nodes {
		for _, object := range []string{g.id, actors.WorkerID("n2", 1)} {
			w, no := h.Router.OpenScreencast(&view.ScreencastRequest{Account: anna, Object: object})
			if no != nil || w.Worker != actors.WorkerID("n2", 1) || w.Task != g.id {
				t.Fatalf("%s lets anna watch %s: %+v, %v", h.name, object, w, no)
			}
			shows(t, w, g.id)
			w.Close()
		}
		if w, no := h.Router.OpenScreencast(&view.ScreencastRequest{Account: bert, Object: g.id}); no == nil || no.Code != engine.CodeNotFound {
			t.Errorf("%s lets bert watch: %+v, %v", h.name, w, no)
		}
	}
	w, no := n3.Router.OpenScreencast(&view.ScreencastRequest{Account: bert, All: true, Object: g.id})
	if no != nil {
		t.Fatal(no)
	}
	shows(t, w, g.id)
	g.leave()
	to.answer(g)
	if why := over(t, w); why != view.TaskEnded {
		t.Errorf("it has ended because of %q", why)
	}
	w.Close()

	g = to.send(n1, anna, at("n3"), testkit.Script{Takes: time.Minute})
	to.runs(n3, g)
	if w, no = n1.Router.OpenScreencast(&view.ScreencastRequest{Account: anna, Object: g.id}); no != nil {
		t.Fatal(no)
	}
	defer w.Close()
	shows(t, w, g.id)
	n3.conn.Close()
	if why := over(t, w); why != view.BrowserGone {
		t.Errorf("the node was lost, and it has ended because of %q", why)
	}
	to.answer(g)
}

// TestNewsOfAllNodes: whoever reads an account's news at any node has the same
// picture at first and hears the same afterwards; where a node is lost it begins
// anew.
func TestNewsOfAllNodes(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1, 1)
	n2, n3 := to.nodes[1], to.nodes[2]
	at := func(name string) string {
		return fmt.Sprintf(`{"workerId":%q,"actions":[{"wait":1}]}`, actors.WorkerID(name, 1))
	}
	var ids []string // the newest first
	for _, name := range []string{"n2", "n3", "n2"} {
		g := to.send(to.nodes[0], anna, at(name), testkit.Script{Steps: 2})
		to.played(g)
		ids = append([]string{g.id}, ids...)
	}
	running := to.send(n2, anna, at("n3"), testkit.Script{Takes: time.Minute})
	to.runs(n3, running)
	ids = append([]string{running.id}, ids...)
	to.until("n3 tells of it", func() bool { // a moment after its worker is busy
		_, ok := n3.Router.RecentTask(anna.ID, false, running.id)
		return ok
	})

	names := func(all []view.TaskProgress) (s []string) {
		for _, t := range all {
			s = append(s, t.ID)
		}
		return s
	}
	want := fmt.Sprint(ids)
	var readers []view.Subscription
	for _, h := range to.nodes {
		if got := fmt.Sprint(names(h.Router.Recent(anna.ID, false, 20))); got != want {
			t.Errorf("%s lists %s, want %s", h.name, got, want)
		}
		if got := fmt.Sprint(names(h.Router.Recent(anna.ID, false, 2))); got != fmt.Sprint(ids[:2]) {
			t.Errorf("%s lists of two %s", h.name, got)
		}
		if got := h.Router.Recent(bert.ID, false, 20); len(got) != 0 {
			t.Errorf("%s tells bert of %v", h.name, names(got))
		}
		if got := fmt.Sprint(names(h.Router.Recent(bert.ID, true, 20))); got != want {
			t.Errorf("%s lists for the operator %s", h.name, got)
		}
		if one, ok := h.Router.RecentTask(anna.ID, false, ids[2]); !ok || one.Played != 2 || one.Outcome == nil || one.Outcome.End != engine.EndCompleted {
			t.Errorf("%s tells of %s: %+v, %v", h.name, ids[2], one, ok)
		}
		if _, ok := h.Router.RecentTask(bert.ID, false, ids[2]); ok {
			t.Errorf("%s tells bert of anna's task", h.name)
		}
		r := h.Router.Subscribe(anna.ID, false, 20)
		defer r.Close()
		_, workers, tasks := r.Snapshot()
		if got := fmt.Sprint(names(tasks)); got != want || len(workers) != 2 || workers[0].ID != actors.WorkerID("n2", 1) || workers[1].State != api.Busy || workers[1].TaskID != running.id {
			t.Errorf("%s begins with %s and %+v", h.name, got, workers)
		}
		readers = append(readers, r)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	g := to.send(n2, anna, at("n2"), testkit.Script{Steps: 1})
	to.played(g)
	for i, r := range readers {
		steps, seq := 0, uint64(0)
		for done := false; !done; {
			all, err := r.Next(ctx)
			if err != nil {
				t.Fatalf("%s: %v", to.nodes[i].name, err)
			}
			for _, n := range all {
				if n.Seq <= seq {
					t.Errorf("%s: %d comes after %d", to.nodes[i].name, n.Seq, seq)
				}
				seq = n.Seq
				switch {
				case n.Step != nil && n.TaskID == g.id:
					steps++
				case n.Task != nil && n.Task.ID == g.id && n.Task.Outcome != nil:
					done = true
				}
			}
		}
		if steps != 1 {
			t.Errorf("%s tells of %d steps", to.nodes[i].name, steps)
		}
	}

	n3.conn.Close()
	for _, i := range []int{0, 1} {
		for err := error(nil); err == nil; {
			if _, err = readers[i].Next(ctx); err != nil && err != view.ErrBehind {
				t.Fatalf("%s: %v", to.nodes[i].name, err)
			}
		}
		r := to.nodes[i].Router.Subscribe(anna.ID, false, 20)
		defer r.Close()
		if _, workers, _ := r.Snapshot(); len(workers) != 2 || workers[1].State != api.Offline {
			t.Errorf("%s begins anew with %+v", to.nodes[i].name, workers)
		}
	}
}

// TestVerbsReachTheirNodes: workers are added, drained, taken back and removed
// from anywhere, and nodes drained.
func TestVerbsReachTheirNodes(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1, 0)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	w, err := api.Ask(ctx, n1.Router, &api.AddWorker{Name: "extra", Owner: anna.ID, Node: "n3"})
	if err != nil || w.Worker.Node != "n3" {
		t.Fatalf("added: %+v, %v", w, err)
	}
	n3.Until(w.Worker.ID, api.Online)
	for node, text := range map[string]string{"n2": "already, at n3", "n9": `worker "extra" already`} {
		if _, err := api.Ask(ctx, n2.Router, &api.AddWorker{Name: "extra", Node: node}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("added again to %s: %v", node, err)
		}
	}
	if _, err := api.Ask(ctx, n2.Router, &api.AddWorker{Name: "more", Node: "n9"}); err == nil || !strings.Contains(err.Error(), `"n9" does not answer, or there is none`) {
		t.Errorf("added to a node that there is not: %v", err)
	}
	for _, h := range to.nodes {
		all, err := api.Ask(ctx, h.Router, &api.SurveyWorkers{})
		if err != nil || len(all.Workers) != 2 || all.Workers[0].Node != "n2" || all.Workers[1].Node != "n3" || all.Workers[1].Owner != anna.ID {
			t.Errorf("%s lists %+v, %v", h.name, all, err)
		}
	}
	if w, err = api.Ask(ctx, n2.Router, &api.DrainWorker{Worker: "extra"}); err != nil || !w.Worker.Draining || w.Worker.Node != "n3" {
		t.Errorf("drained: %+v, %v", w, err)
	}
	n3.Until(w.Worker.ID, api.Offline)
	if w, err = api.Ask(ctx, n1.Router, &api.ResumeWorker{Worker: w.Worker.ID}); err != nil || w.Worker.Draining {
		t.Errorf("taken back: %+v, %v", w, err)
	}
	n3.Until(w.Worker.ID, api.Online)
	if _, err = api.Ask(ctx, n1.Router, &api.RemoveWorker{Worker: actors.WorkerID("n2", 1)}); err == nil {
		t.Error("a worker of the configuration was removed")
	}
	if w, err = api.Ask(ctx, n1.Router, &api.RemoveWorker{Worker: "extra", Grace: time.Second}); err != nil {
		t.Errorf("removed: %+v, %v", w, err)
	}
	if _, err = api.Ask(ctx, n1.Router, &api.RemoveWorker{Worker: "extra"}); err == nil || !strings.Contains(err.Error(), "no worker") {
		t.Errorf("removed twice: %v", err)
	}
	if all, err := api.Ask(ctx, n3.Node, &api.SurveyWorkers{}); err != nil || len(all.Workers) != 0 {
		t.Errorf("n3 has %+v, %v", all, err)
	}

	on, off := true, false
	if s, err := n1.Router.Pause(ctx, "n2", &on); err != nil || !s.Draining || !n2.paused.Load() {
		t.Errorf("n2 is paused: %+v, %v", s, err)
	}
	if s, err := n1.Router.Pause(ctx, "n2", nil); err != nil || !s.Draining || s.Online != 1 {
		t.Errorf("n2 is counted: %+v, %v", s, err)
	}
	if s, err := n3.Router.Pause(ctx, "n2", &off); err != nil || s.Draining || n2.paused.Load() {
		t.Errorf("n2 goes on: %+v, %v", s, err)
	}
	if got := n1.Router.LinkViewers(ctx, anna.ID); len(got) != 2 || got["lnk_n2"] != 1 || got["lnk_n3"] != 1 {
		t.Errorf("elsewhere there look %v", got)
	}
}
