package actors_test

import (
	"testing"
	"time"

	"troupe/actors/api"
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

// TestOperatorAtTheVeryBeginning does the same with what the operator asks.
func TestOperatorAtTheVeryBeginning(t *testing.T) {
	for i := range 60 {
		testkit.Run(t, testkit.Options{Workers: 2, Engine: slowEngine(time.Second)}, func(t *testing.T, k *testkit.Kit) {
			w := k.AddWorker("extra", "")
			reserve(k, anna, testkit.On("w1"))
			k.Crash()
			k.BootCold()
			began := time.Now()
			switch i % 3 {
			case 0:
				testkit.Ask(k, &api.RemoveAccount{Account: anna.ID})
				nothingOf(k, anna)
			case 1:
				testkit.Ask(k, &api.RemoveWorker{Worker: w.ID, Grace: time.Minute})
			case 2:
				testkit.Ask(k, &api.DrainWorker{Worker: "w2"})
				testkit.Ask(k, &api.ResumeWorker{Worker: "w2"})
				testkit.Ask(k, &api.DrainWorker{Worker: "w2"})
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("it took %v", took)
			}
			time.Sleep(3 * time.Second) // one browser first, then the others beside each other
			if n, want := k.OpenBrowsers(), 3-min(1, i%3); n != want {
				t.Errorf("%d browsers, want %d", n, want)
			}
		})
	}
}
