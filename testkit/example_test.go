package testkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// A session lasts as long as its timeout, which starts anew after each task.
// The test takes no time.
func TestExampleOfASession(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		anna := testkit.Pro("anna")
		first := k.Do(anna, testkit.Task(testkit.Preserve()), testkit.Script{})
		k.Until("w1", api.Reserved)
		time.Sleep(4 * time.Minute)
		next := k.Do(anna, testkit.Task(testkit.Continue(first.SessionID)), testkit.Script{Takes: time.Second})
		if r, err := testkit.ResultOf(next.Outcome); err != nil || len(r.Before) != 1 {
			t.Errorf("the second task sees %v (%v), want the traces of the first", r.Before, err)
		}
		time.Sleep(engine.DefaultSessionTimeout)
		k.WantState("w1", api.Online)
	})
}

// A browser that cannot be cleaned is replaced, and the next task sees nothing
// of the last.
func TestExampleOfAFault(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		k.Engine.OnReset("w1", testkit.Reset{Err: errors.New("no")})
		k.Do(testkit.Pro("anna"), testkit.Task(), testkit.Script{})
		x := k.Do(testkit.Pro("bert"), testkit.Task(), testkit.Script{})
		if r, err := testkit.ResultOf(x.Outcome); err != nil || len(r.Before) != 0 {
			t.Errorf("the second task sees %v (%v)", r.Before, err)
		}
		if n := k.Engine.Launches("w1"); n != 2 {
			t.Errorf("%d browsers were started, want 2", n)
		}
	})
}

// A node that dies leaves what is on disk, and nothing else. The next one goes on
// from there.
func TestExampleOfARestart(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		anna := testkit.Pro("anna")
		login := k.Do(anna, testkit.Task(testkit.Preserve()), testkit.Script{})
		long := k.StartAsync(anna, testkit.Task(), testkit.Script{Takes: time.Minute})
		if _, err := k.Store.Get(context.Background(), "task/"+long.TaskID); err != nil {
			t.Errorf("the task was acknowledged, and its record is not there: %v", err)
		}
		k.Crash()
		k.Boot()
		k.WantPoll(anna, long.TaskID, 0, api.TaskFailed)
		next := k.Do(anna, testkit.Task(testkit.Continue(login.SessionID)), testkit.Script{})
		if r, err := testkit.ResultOf(next.Outcome); err != nil || len(r.Before) != 1 || !next.Outcome.Restored {
			t.Errorf("the session goes on with %+v (%v)", next.Outcome, err)
		}
	})
}

// dozing is an engine of one's own: each of its tasks takes a second.
type dozing struct{}

type dozer struct {
	gone chan struct{}
	once sync.Once
}

func (dozing) Launch(context.Context, string) (engine.Instance, error) {
	return &dozer{gone: make(chan struct{})}, nil
}

func (*dozer) Play(ctx context.Context, _ *engine.Task, _ engine.TaskEnv) *engine.Outcome {
	select {
	case <-time.After(time.Second):
		return &engine.Outcome{End: engine.EndCompleted}
	case <-ctx.Done():
		return &engine.Outcome{End: engine.EndOf(ctx)}
	}
}

func (*dozer) Reset(context.Context) error                   { return nil }
func (*dozer) Warm()                                         {}
func (*dozer) Save(context.Context) (json.RawMessage, error) { return json.RawMessage("{}"), nil }
func (*dozer) SaveProfile(context.Context) (*engine.SavedProfile, error) {
	return &engine.SavedProfile{State: json.RawMessage("{}")}, nil
}

func (*dozer) Restore(context.Context, json.RawMessage, json.RawMessage) error { return nil }
func (*dozer) Check(context.Context) error                                     { return nil }
func (*dozer) Memory() int64                                                   { return 0 }
func (d *dozer) Gone() <-chan struct{}                                         { return d.gone }
func (d *dozer) Close()                                                        { d.once.Do(func() { close(d.gone) }) }

// The actors take any engine. What one has to promise is in testkit/enginetest.
func TestExampleOfAnEngineOfOnesOwn(t *testing.T) {
	own := testkit.Options{Workers: 1, Config: func(c *actors.Config) { c.Engine = dozing{} }}
	testkit.Run(t, own, func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		k.WantEnd(k.Start(testkit.Pro("anna"), testkit.Task(), testkit.Script{}), engine.EndCompleted)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// In real time a kit works too, with sleeps that are real.
func TestExampleInRealTime(t *testing.T) {
	k := testkit.New(t, testkit.Options{Workers: 2})
	k.WantEnd(k.Start(testkit.Pro("anna"), testkit.Task(), testkit.Script{Takes: time.Millisecond}), engine.EndCompleted)
}
