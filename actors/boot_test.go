package actors_test

import (
	"testing"
	"time"

	"troupe/engine"
	"troupe/testkit"
)

// TestRequestsAtTheVeryBeginning sends requests to workers before these can
// have said a word.
func TestRequestsAtTheVeryBeginning(t *testing.T) {
	for range 50 {
		testkit.Run(t, testkit.Options{Workers: 2, Cold: true, Engine: slowEngine(time.Second)}, func(_ *testing.T, k *testkit.Kit) {
			r := k.Start(anna, testkit.Task(testkit.On("w1")), quick)
			waits := k.Start(anna, testkit.Task(testkit.On("w2"), testkit.Waiting(time.Minute)), quick)
			k.WantRefused(r, engine.CodeWorkerOffline)
			k.WantEnd(waits, engine.EndCompleted)
			k.Crash()
			k.BootCold()
			k.Drain(time.Second)
		})
	}
}
