package testkit_test

import (
	"errors"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/testkit"
)

// A session lasts as long as its timeout, which starts anew after each task.
// The test takes no time.
func TestExampleOfASession(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		anna := testkit.Pro("anna")
		first := k.Do(anna, testkit.Task(testkit.Preserve()), testkit.Script{})
		k.Until("w1", actors.Reserved)
		time.Sleep(4 * time.Minute)
		next := k.Do(anna, testkit.Task(testkit.Continue(first.SessionID)), testkit.Script{Takes: time.Second})
		if r, err := testkit.ResultOf(next.Outcome); err != nil || len(r.Before) != 1 {
			t.Errorf("the second task sees %v (%v), want the traces of the first", r.Before, err)
		}
		time.Sleep(engine.DefaultSessionTimeout)
		k.WantState("w1", actors.Online)
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

// In real time a kit works too, with sleeps that are real.
func TestExampleInRealTime(t *testing.T) {
	k := testkit.New(t, testkit.Options{Workers: 2})
	k.WantEnd(k.Start(testkit.Pro("anna"), testkit.Task(), testkit.Script{Takes: time.Millisecond}), engine.EndCompleted)
}
