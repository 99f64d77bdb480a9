package actors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// asyncRow is one way of an asynchronous task.
type asyncRow struct {
	name  string
	drive func(t *testing.T, k *testkit.Kit)
}

func TestAsync(t *testing.T) {
	for _, r := range asyncRows {
		t.Run(r.name, func(t *testing.T) { testkit.Run(t, testkit.Options{Workers: 2}, r.drive) })
	}
}

// notFound fails the test unless the account has no such task.
func notFound(k *testkit.Kit, a api.Account, id string) {
	k.T.Helper()
	if p := k.Poll(a, id, time.Minute); p.Refusal == nil || p.Refusal.Code != engine.CodeTaskNotFound {
		k.T.Fatalf("%s: %+v", id, p)
	}
	if f := k.Follow(a, id, 0, time.Minute); f.Refusal == nil || f.Refusal.Code != engine.CodeTaskNotFound {
		k.T.Fatalf("%s: %+v", id, f)
	}
}

var asyncRows = []asyncRow{
	{"it is pending, then complete, for an hour", func(t *testing.T, k *testkit.Kit) {
		s := k.StartAsync(anna, testkit.Task(), lasting(3*time.Second))
		p := k.WantPoll(anna, s.TaskID, 0, api.TaskPending)
		if s.WorkerID == "" || s.WorkerName == "" || p.Executed.WorkerID != s.WorkerID || p.Executed.Outcome != nil {
			t.Fatalf("started %+v, polled %+v", s, p.Executed)
		}
		time.Sleep(3 * time.Second)
		k.AwaitIdle()
		ended := time.Now()
		for range 2 { // from the actor, from the disk
			p = k.WantPoll(anna, s.TaskID, 0, api.TaskComplete)
			if r, err := testkit.ResultOf(p.Executed.Outcome); err != nil || r.Task != s.TaskID || p.Executed.WorkerName != s.WorkerName {
				t.Fatalf("%+v, %v", p.Executed, err)
			}
			time.Sleep(time.Until(ended.Add(time.Hour - time.Second)))
		}
		k.WantPoll(anna, s.TaskID, 0, api.TaskComplete)
		time.Sleep(time.Second)
		notFound(k, anna, s.TaskID)
		left, err := k.Store.List(context.Background(), "")
		if err != nil || slices.ContainsFunc(left, func(r persistence.Record) bool { return bytes.Contains([]byte(r.Key), []byte(s.TaskID)) }) {
			t.Fatalf("left: %+v, %v", left, err)
		}
	}},
	{"a poll that waits is answered at the end, or when the wait is over", func(t *testing.T, k *testkit.Kit) {
		s := k.StartAsync(anna, testkit.Task(), lasting(10*time.Second))
		began := time.Now()
		k.WantPoll(anna, s.TaskID, 4*time.Second, api.TaskPending)
		if took := time.Since(began); took != 4*time.Second {
			t.Fatalf("pending after %v", took)
		}
		k.WantPoll(anna, s.TaskID, time.Minute, api.TaskComplete)
		if took := time.Since(began); took != 10*time.Second {
			t.Fatalf("complete after %v", took)
		}
	}},
	{"another account's task is not found, and neither is none", func(_ *testing.T, k *testkit.Kit) {
		s := k.StartAsync(anna, testkit.Task(), second)
		notFound(k, bert, s.TaskID)
		notFound(k, anna, "task_0")
		notFound(k, anna, string(bytes.Repeat([]byte{'x'}, 2000)))
		time.Sleep(10 * time.Minute)
		notFound(k, bert, s.TaskID)
		k.WantPoll(anna, s.TaskID, 0, api.TaskComplete)
	}},
	{"it is refused as any task is", func(t *testing.T, k *testkit.Kit) {
		refused := func(a api.Account, code engine.Code, opts ...testkit.Option) {
			t.Helper()
			x := k.SendAsync(&api.Execute{Account: a, Task: testkit.Task(opts...)}, quick)
			if x.Refusal == nil || x.Refusal.Code != code {
				t.Fatalf("%+v, want %s", x, code)
			}
			notFound(k, a, x.TaskID)
		}
		refused(testkit.Account("carl", engine.Basic), engine.CodePlanRequired)
		refused(anna, engine.CodeForeignWorker, testkit.On("nobody"))
		refused(anna, engine.CodeSessionMismatch, testkit.Continue("sess_0"))
		k.StartAsync(anna, testkit.Task(), second)
		k.StartAsync(anna, testkit.Task(), second)
		refused(bert, engine.CodeNoWorkerAvailable)
		k.StartAsync(bert, testkit.Task(testkit.Waiting(time.Minute)), second)
		k.Drain(time.Minute)
		refused(bert, engine.CodeDraining)
	}},
	{"its time is that of asynchronous tasks", func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		s := k.StartAsync(anna, testkit.Task(testkit.Within(2*time.Hour)), lasting(3*time.Hour))
		p := k.WantPoll(anna, s.TaskID, 3*time.Hour, api.TaskFailed)
		if took := time.Since(began); took != time.Hour || s.Timeout != time.Hour || p.Executed.Outcome.End != engine.EndTimeout {
			t.Fatalf("%s after %v", p.Executed.Outcome.End, took)
		}
	}},
	{"it fails when its browser dies", func(t *testing.T, k *testkit.Kit) {
		s := k.StartAsync(anna, testkit.Task(), lasting(time.Minute))
		k.Engine.Kill(s.WorkerID)
		p := k.WantPoll(anna, s.TaskID, time.Second, api.TaskFailed)
		if p.Executed.Outcome.End != engine.EndCrashed {
			t.Fatalf("%+v", p.Executed.Outcome)
		}
	}},
	{"it is cancelled when somebody asks for it, and runs on when its client is gone", func(t *testing.T, k *testkit.Kit) {
		s := k.StartAsync(anna, testkit.Task(), lasting(time.Minute))
		c, err := api.Ask(context.Background(), k.Node, &api.Cancel{TaskID: s.TaskID, Account: bert, Cause: api.CauseAsked})
		if err != nil || c.Found {
			t.Fatalf("another account cancels: %+v, %v", c, err)
		}
		c, err = api.Ask(context.Background(), k.Node, &api.Cancel{TaskID: s.TaskID, Account: anna, Cause: api.CauseAsked})
		if err != nil || !c.Found {
			t.Fatalf("%+v, %v", c, err)
		}
		if p := k.WantPoll(anna, s.TaskID, time.Second, api.TaskFailed); p.Executed.Outcome.End != engine.EndCancelled {
			t.Fatalf("%+v", p.Executed.Outcome)
		}
		time.Sleep(2 * time.Minute)
		k.WantPoll(anna, s.TaskID, 0, api.TaskFailed)
	}},
	{"one whose client leaves while it waits for a worker never begins", func(t *testing.T, k *testkit.Kit) {
		k.StartAsync(anna, testkit.Task(), lasting(time.Minute))
		k.StartAsync(anna, testkit.Task(), lasting(time.Minute))
		k.AwaitIdle()
		ctx, leave := context.WithTimeout(context.Background(), time.Second)
		defer leave()
		task := testkit.Task(testkit.Async(), testkit.Waiting(2*time.Minute))
		s, err := k.Node.Start(ctx, &api.Execute{TaskID: "task_gone", Account: bert, Task: task}, nil)
		if err != nil || s.Refusal == nil || s.Refusal.Code != engine.CodeCancelled {
			t.Fatalf("%+v, %v", s, err)
		}
		time.Sleep(2 * time.Minute)
		if n := len(k.Engine.Plays()); n != 2 {
			t.Fatalf("%d tasks were played", n)
		}
	}},
	{"its session is there from the claim on", func(t *testing.T, k *testkit.Kit) {
		s := k.StartAsync(anna, testkit.Task(testkit.Preserve(), testkit.Within(30*time.Minute)), lasting(20*time.Minute))
		p := k.WantPoll(anna, s.TaskID, 0, api.TaskPending)
		if s.SessionID == "" || p.Executed.SessionID != s.SessionID {
			t.Fatalf("sessions %q and %q", s.SessionID, p.Executed.SessionID)
		}
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(s.SessionID)), quick), engine.CodeWorkerBusy)
		k.WantPoll(anna, s.TaskID, time.Hour, api.TaskComplete)
		k.WantState(s.WorkerID, api.Reserved)
		next := k.StartAsync(anna, testkit.Task(testkit.Continue(s.SessionID)), second)
		if p := k.WantPoll(anna, next.TaskID, time.Minute, api.TaskComplete); p.Executed.SessionID != s.SessionID {
			t.Fatalf("%+v", p.Executed)
		}
		last := k.StartAsync(anna, testkit.Task(testkit.Close(s.SessionID)), second)
		if p := k.WantPoll(anna, last.TaskID, time.Minute, api.TaskComplete); last.SessionID != "" || p.Executed.SessionID != "" {
			t.Fatalf("started %+v, ended %+v", last, p.Executed)
		}
	}},
	{"a large result is found again", func(t *testing.T, k *testkit.Kit) {
		data, _ := json.Marshal(string(bytes.Repeat([]byte{'x'}, 2<<20)))
		s := k.StartAsync(anna, testkit.Task(), testkit.Script{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: data}})
		k.WantPoll(anna, s.TaskID, time.Second, api.TaskComplete)
		k.Restart()
		if p := k.WantPoll(anna, s.TaskID, 0, api.TaskComplete); !bytes.Equal(p.Executed.Outcome.Data, data) {
			t.Fatalf("%d bytes", len(p.Executed.Outcome.Data))
		}
	}},
	{"its steps are told as they end, and again to those who come late", func(t *testing.T, k *testkit.Kit) {
		s := k.StartAsync(anna, testkit.Task(), testkit.Script{Takes: 4 * time.Second, Steps: 3})
		began := time.Now()
		for i := range 3 {
			f := k.Follow(anna, s.TaskID, i, time.Minute)
			if len(f.Steps) != 1 || f.Steps[0].Seq != i+1 || f.Status != api.TaskPending || time.Since(began) != time.Duration(i+1)*time.Second {
				t.Fatalf("step %d after %v: %+v", i, time.Since(began), f)
			}
		}
		f := k.Follow(anna, s.TaskID, 3, time.Minute)
		if len(f.Steps) != 0 || f.Status != api.TaskComplete || time.Since(began) != 4*time.Second {
			t.Fatalf("after %v: %+v", time.Since(began), f)
		}
		if f := k.Follow(anna, s.TaskID, 1, 0); len(f.Steps) != 2 || f.Steps[0].Seq != 2 {
			t.Fatalf("late: %+v", f)
		}
		time.Sleep(10 * time.Minute)
		if f := k.Follow(anna, s.TaskID, 1, time.Minute); f.Refusal != nil || f.Status != api.TaskComplete {
			t.Fatalf("later: %+v", f)
		}
	}},
	{"a drain waits for it, interrupts it when the grace is over, and its end is on disk", func(t *testing.T, k *testkit.Kit) {
		short := k.StartAsync(anna, testkit.Task(), lasting(5*time.Second))
		long := k.StartAsync(anna, testkit.Task(), lasting(time.Hour))
		if d := k.Drain(10 * time.Second); d.Interrupted != 1 {
			t.Fatalf("%+v", d)
		}
		k.Crash()
		k.Boot()
		k.WantPoll(anna, short.TaskID, 0, api.TaskComplete)
		if p := k.WantPoll(anna, long.TaskID, 0, api.TaskFailed); p.Executed.Outcome.End != engine.EndInterrupted {
			t.Fatalf("%+v", p.Executed.Outcome)
		}
	}},
	{"one that ran when its node died is interrupted, and stays so for an hour", func(t *testing.T, k *testkit.Kit) {
		s := k.StartAsync(anna, testkit.Task(), lasting(time.Minute))
		k.Crash()
		time.Sleep(72 * time.Hour)
		for range 2 {
			k.Boot()
			p := k.WantPoll(anna, s.TaskID, time.Minute, api.TaskFailed)
			if out := p.Executed.Outcome; out.End != engine.EndInterrupted || p.Executed.WorkerID != s.WorkerID {
				t.Fatalf("%+v", out)
			}
			notFound(k, bert, s.TaskID)
			k.Crash()
			time.Sleep(50 * time.Minute)
		}
		k.Boot()
		notFound(k, anna, s.TaskID)
	}},
	{"what has ended is answered again without reading, for as long as it is kept", func(t *testing.T, k *testkit.Kit) {
		s := k.StartAsync(anna, testkit.Task(), second)
		want := k.WantPoll(anna, s.TaskID, time.Minute, api.TaskComplete)
		same := func() {
			t.Helper()
			p := k.WantPoll(anna, s.TaskID, 0, api.TaskComplete)
			if string(p.Executed.Outcome.Data) != string(want.Executed.Outcome.Data) || p.Executed.WorkerID != s.WorkerID {
				t.Fatalf("%+v", p.Executed)
			}
			notFound(k, bert, s.TaskID)
		}
		time.Sleep(10 * time.Minute) // its actor is gone
		same()
		k.Restart()
		same()
		if err := k.Store.Delete(context.Background(), "task/"+s.TaskID, nil, false); err != nil {
			t.Fatal(err)
		}
		same()
		time.Sleep(50 * time.Minute)
		notFound(k, anna, s.TaskID)
	}},
}
