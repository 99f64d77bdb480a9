package actors_test

import (
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/actors/view"
	"troupe/engine"
	"troupe/testkit"
)

// looksAt watches an object, and fails the test unless that is allowed.
func looksAt(k *testkit.Kit, a api.Account, object string) *view.Viewer {
	k.T.Helper()
	w, no := k.Node.OpenScreencast(&view.ScreencastRequest{Account: a, Object: object})
	if no != nil {
		k.T.Fatalf("%s may not watch %s: %v", a.ID, object, no)
	}
	return w
}

// seen is all that a watcher got until it was over, or for so long.
func seen(w *view.Viewer, most time.Duration) (all []string) {
	end := time.After(most)
	for {
		select {
		case p := <-w.Pictures():
			all = append(all, string(p))
		case <-w.Done():
			select {
			case p := <-w.Pictures():
				all = append(all, string(p))
			default:
			}
			return all
		case <-end:
			return all
		}
	}
}

// TestNobodySeesAnothersTask lets two accounts play in turn on one worker while
// both try to watch it all the time. The scripted browser shows its pictures
// whoever looks, also after it was made clean.
//
// Promise: Tasks of an account are invisible to others (docs/security.md).
func TestNobodySeesAnothersTask(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		anna, bert := testkit.Pro("anna"), testkit.Pro("bert")
		for _, s := range []struct {
			name  string
			reset testkit.Reset
		}{{"clean at once", testkit.Reset{}}, {"cleaning takes a while", testkit.Reset{Takes: time.Second}}, {"cleaning fails", testkit.Reset{Err: engine.ErrCancelled}}} {
			own := map[string]map[string]bool{"anna": {}, "bert": {}}
			got := map[string][]string{}
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				watchers := map[string]*view.Viewer{}
				for {
					for _, a := range []api.Account{anna, bert} {
						w := watchers[a.ID]
						if w == nil {
							if w, _ = k.Node.OpenScreencast(&view.ScreencastRequest{Account: a, Object: "w1"}); w == nil {
								continue
							}
							watchers[a.ID] = w
						}
						select {
						case p := <-w.Pictures():
							got[a.ID] = append(got[a.ID], string(p))
						case <-w.Done():
							delete(watchers, a.ID)
						default:
						}
					}
					select {
					case <-stop:
						for _, w := range watchers {
							w.Close()
						}
						return
					case <-time.After(7 * time.Millisecond):
					}
				}
			}()
			for i := range 6 {
				a := []api.Account{anna, bert}[i%2]
				k.Engine.OnReset("w1", s.reset)
				r := k.Start(a, testkit.Task(testkit.On("w1"), testkit.Waiting(time.Minute)), testkit.Script{Takes: 2 * time.Second})
				own[a.ID][r.ID] = true
				k.WantEnd(r, engine.EndCompleted)
			}
			close(stop)
			<-done
			for account, pictures := range got {
				named := 0
				for _, p := range pictures {
					for _, task := range strings.Fields(p) {
						if named++; !own[account][task] {
							t.Errorf("%s: %s saw %s", s.name, account, task)
						}
					}
				}
				if named < 10 {
					t.Errorf("%s: %s saw its own tasks %d times", s.name, account, named)
				}
			}
			k.Await(func() bool { return k.Engine.Viewers("w1") == 0 })
			if n := k.Engine.Viewers("w1"); n != 0 {
				t.Errorf("%s: %d look at the browser still", s.name, n)
			}
		}
	})
}

// TestWhatMayBeWatched: what has the worker now, by its names, for whose it is.
func TestWhatMayBeWatched(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		anna, bert := testkit.Pro("anna"), testkit.Pro("bert")
		refused := func(m *view.ScreencastRequest) {
			t.Helper()
			if w, no := k.Node.OpenScreencast(m); w != nil || no == nil || no.Code != engine.CodeNotFound {
				t.Errorf("%+v: %v %v", m, w, no)
			}
		}
		refused(&view.ScreencastRequest{Account: anna, Object: "w1"}) // nothing runs
		refused(&view.ScreencastRequest{Account: anna, All: true, Object: "w1"})
		r := k.Start(anna, testkit.Task(testkit.On("w1"), testkit.Preserve()), testkit.Script{Takes: 10 * time.Second})
		k.Until("w1", api.Busy)
		k.AwaitIdle()
		session := k.Worker("w1").Session
		for _, object := range []string{"w1", r.ID, session} {
			refused(&view.ScreencastRequest{Account: bert, Object: object})
		}
		refused(&view.ScreencastRequest{Account: anna, Object: ""})
		refused(&view.ScreencastRequest{Account: anna, Object: "w2"})
		operator, no := k.Node.OpenScreencast(&view.ScreencastRequest{Account: bert, All: true, Object: r.ID})
		if no != nil {
			t.Fatal(no)
		}
		task, worker, held := looksAt(k, anna, r.ID), looksAt(k, anna, "w1"), looksAt(k, anna, session)
		if task.Worker != "w1" || task.Task != r.ID || task.Session != session {
			t.Errorf("it is told of %+v", task)
		}
		if n := k.Engine.Viewers("w1"); n != 1 {
			t.Errorf("four watchers look %d times at the browser", n)
		}
		for _, w := range []*view.Viewer{operator, task, worker, held} {
			if got := seen(w, time.Second); len(got) < 5 || len(got) > 8 || got[0] != r.ID {
				t.Errorf("in a second they see %q", got)
			}
		}
		k.WantEnd(r, engine.EndCompleted)
		for _, w := range []*view.Viewer{operator, task} { // who looks at the task, and at nothing else
			if seen(w, time.Second); w.EndReason() != view.TaskEnded {
				t.Errorf("over because of %q", w.EndReason())
			}
		}
		// The session goes on, and who looks at it sees its next task, too.
		next := k.Start(anna, testkit.Task(testkit.Continue(session)), testkit.Script{Takes: time.Second})
		k.WantEnd(next, engine.EndCompleted)
		for _, w := range []*view.Viewer{worker, held} {
			if got := seen(w, time.Second); !strings.HasSuffix(got[len(got)-1], next.ID) {
				t.Errorf("the session's next task is not seen: %q", got)
			}
		}
		k.Engine.Kill("w1")
		for _, w := range []*view.Viewer{worker, held} {
			if seen(w, time.Second); w.EndReason() != view.BrowserGone {
				t.Errorf("over because of %q", w.EndReason())
			}
		}
		k.AwaitIdle()
		k.Until("w1", api.Reserved)
		held = looksAt(k, anna, session)
		k.Do(anna, testkit.Task(testkit.Close(session)), testkit.Script{})
		if seen(held, time.Second); held.EndReason() != view.SessionEnded {
			t.Errorf("over because of %q", held.EndReason())
		}
		held.Close()
	})
}

// TestSlowWatchersMissPictures: who takes none gets the newest in the end, and
// holds up nobody.
func TestSlowWatchersMissPictures(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		anna := testkit.Pro("anna")
		r := k.Start(anna, testkit.Task(testkit.Preserve()), testkit.Script{Takes: time.Second})
		k.Until("w1", api.Busy)
		slow, quick := looksAt(k, anna, "w1"), looksAt(k, anna, "w1")
		k.WantEnd(r, engine.EndCompleted)
		session := k.Worker("w1").Session
		next := k.Do(anna, testkit.Task(testkit.Continue(session)), testkit.Script{Takes: 3 * time.Second})
		if got := seen(quick, time.Second); len(got) < 5 {
			t.Errorf("beside a slow one, it sees %q", got)
		}
		if got := <-slow.Pictures(); !strings.HasSuffix(string(got), next.TaskID) {
			t.Errorf("the slow one sees %q at last", got)
		}
		slow.Close()
		slow.Close()
		quick.Close()
	})
}
