package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// plays lets a task of an account begin, play so many steps, and end.
func (f *Feed) plays(id, account string, steps int, result []byte) {
	f.TaskStarted(&TaskProgress{ID: id, Account: account, Actions: 1, Began: time.Now()})
	for i := range steps {
		f.StepEnded(id, engine.StepReport{Path: fmt.Sprint(i), Action: "getText", Success: true, Result: result})
	}
	f.TaskOver(&api.Executed{TaskID: id, Outcome: &engine.Outcome{End: engine.EndCompleted, Data: make([]byte, 1<<20)}})
}

// TestRecentTasksHaveBounds: whatever accounts play, what is remembered of it
// stays within the bounds, and what is counted is what is there.
func TestRecentTasksHaveBounds(t *testing.T) {
	t.Parallel()
	var f Feed
	result := bytes.Repeat([]byte{'1'}, recentResult)
	check := func() {
		t.Helper()
		all := 0
		for account, a := range f.accounts {
			weight := 0
			for _, task := range a.tasks {
				n := taskWeight
				for _, s := range task.Steps {
					n += stepWeight + s.Bytes()
				}
				if n != task.weight || task.Outcome.Data != nil {
					t.Fatalf("%s weighs %d, and is said to weigh %d", task.ID, n, task.weight)
				}
				weight += n
			}
			if weight != a.weight || weight > recentBytes || len(a.tasks) > recentTasks {
				t.Fatalf("%s has %d tasks of %d bytes, and is said to have %d", account, len(a.tasks), weight, a.weight)
			}
			all += weight
		}
		if all != f.weight || all > recentAll || len(f.running) != 0 {
			t.Fatalf("all weigh %d, and are said to weigh %d", all, f.weight)
		}
	}
	for i := range 150 {
		f.plays(fmt.Sprint("task_a", i), "anna", 250, result)
	}
	check()
	tasks := f.tasks("anna", false, 1000)
	if len(tasks) != recentTasks || tasks[0].ID != "task_a149" || len(tasks[0].Steps) != recentSteps || tasks[0].Left != 50 || tasks[0].Steps[0].Path != "50" {
		t.Errorf("%d tasks, the newest with %d steps", len(tasks), len(tasks[0].Steps))
	}
	if old := tasks[recentTasks-1]; len(old.Steps) != 0 || old.Left != 250 || old.Played != 250 {
		t.Errorf("the oldest has %d steps, and %d left out", len(old.Steps), old.Left)
	}
	for i := range 50 {
		for j := range 9 {
			f.plays(fmt.Sprint("task_b", i, "_", j), fmt.Sprint("account", i), 200, result)
		}
	}
	check()
	if f.weight < recentAll/2 || len(f.tasks("anna", false, 1000)) != 0 || len(f.tasks("account49", false, 1000)) != 9 {
		t.Errorf("%d bytes are remembered, of them %d tasks of the oldest account", f.weight, len(f.tasks("anna", false, 1000)))
	}
	f.ForgetAccount("account49")
	if check(); f.accounts["account49"] != nil {
		t.Error("an account is remembered that was removed")
	}
	f.StepEnded("task_gone", engine.StepReport{}) // late, of one that was answered without it
	f.TaskOver(&api.Executed{TaskID: "task_gone"})
	check()

	large := make([]byte, 1<<20)
	f.TaskStarted(&TaskProgress{ID: "task_l", Account: "luis", Actions: 1})
	f.StepEnded("task_l", engine.StepReport{Success: true, Result: large})
	f.StepEnded("task_l", engine.StepReport{Success: true, Result: large[:10]})
	if got := f.running["task_l"].Steps; got[0].Result != nil || len(got[1].Result) != 10 || cap(got[1].Result) > 100 {
		t.Errorf("of a large result %d bytes are kept, of a part of one %d", len(got[0].Result), cap(got[1].Result))
	}
}

// TestReadersHaveTheWholePicture: what a reader has at first and what it hears
// after that is what there is, and what it has does not change under it.
func TestReadersHaveTheWholePicture(t *testing.T) {
	t.Parallel()
	var f Feed
	f.WorkerChanged(WorkerSnapshot{WorkerInfo: api.WorkerInfo{ID: "w1", State: api.Online}})
	f.TaskStarted(&TaskProgress{ID: "task_1", Account: "anna", Actions: 3, Began: time.Now()})
	f.StepEnded("task_1", engine.StepReport{Path: "0"})
	r := f.Subscribe("anna", false, 10)
	defer r.Close()
	f.StepEnded("task_1", engine.StepReport{Path: "1"})
	f.WorkerChanged(WorkerSnapshot{WorkerInfo: api.WorkerInfo{ID: "w1", State: api.Busy, TaskID: "task_1"}, User: "anna"})
	f.WorkerChanged(WorkerSnapshot{WorkerInfo: api.WorkerInfo{ID: "w2", Owner: "bert"}})
	f.WorkerChanged(WorkerSnapshot{WorkerInfo: api.WorkerInfo{ID: "w1", State: api.Busy, TaskID: "task_1"}, User: "anna"}) // no events
	f.WorkerChanged(WorkerSnapshot{WorkerInfo: api.WorkerInfo{ID: "w1", State: api.Busy, TaskID: "task_2", Session: "sess_2"}, User: "bert", Holder: "bert"})
	f.WorkerRemoved("w2")
	f.WorkerRemoved("w1")
	f.TaskOver(&api.Executed{TaskID: "task_1", Outcome: &engine.Outcome{End: engine.EndCompleted}})
	if len(r.Workers) != 1 || r.Workers[0].State != api.Online || len(r.Tasks) != 1 || len(r.Tasks[0].Steps) != 1 || r.Tasks[0].Outcome != nil {
		t.Errorf("it begins with %+v %+v", r.Workers, r.Tasks)
	}
	events, err := r.Next(context.Background())
	var told []string
	for i, n := range events {
		if i > 0 && n.Seq != events[i-1].Seq+1 {
			t.Errorf("%d follows on %d", n.Seq, events[i-1].Seq)
		}
		switch {
		case n.Worker != nil:
			told = append(told, fmt.Sprint(n.Worker.ID, " ", n.Worker.State, " ", n.Worker.TaskID, n.Worker.Session))
		case n.Step != nil:
			told = append(told, n.TaskID+" "+n.Step.Path)
		case n.Gone != "":
			told = append(told, "gone "+n.Gone)
		default:
			told = append(told, fmt.Sprint(n.Task.ID, " ", n.Task.Outcome.End, " ", len(n.Task.Steps)))
		}
	}
	if want := []string{"task_1 1", "w1 busy task_1", "w1 busy ", "gone w1", "task_1 completed 0"}; err != nil || !slices.Equal(told, want) {
		t.Errorf("it hears of %q (%v)", told, err)
	}
	brief, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if events, err := r.Next(brief); events != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without events: %v %v", events, err)
	}
	for i := range maxBacklog + 1 {
		f.WorkerChanged(WorkerSnapshot{WorkerInfo: api.WorkerInfo{ID: "w1", Since: time.Unix(int64(i), 0)}})
	}
	if events, err := r.Next(context.Background()); events != nil || !errors.Is(err, ErrBehind) {
		t.Errorf("far behind: %d %v", len(events), err)
	}
}

// BenchmarkFeed is what a task of two steps pays for being remembered while
// nobody reads.
func BenchmarkFeed(b *testing.B) {
	var f Feed
	out := &engine.Outcome{End: engine.EndCompleted}
	s := engine.StepReport{Path: "0", Action: "open", Success: true, Result: []byte(`{"success":true}`)}
	b.ReportAllocs()
	for b.Loop() {
		f.TaskStarted(&TaskProgress{ID: "task_1", Account: "anna", Actions: 2, Began: time.Now()})
		f.StepEnded("task_1", s)
		f.StepEnded("task_1", s)
		f.TaskOver(&api.Executed{TaskID: "task_1", Outcome: out})
	}
}
