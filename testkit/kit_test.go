package testkit_test

import (
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

func TestKitPlaysATask(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(testkit.Pro("anna"), testkit.Task(), testkit.Script{Takes: 3 * time.Second})
		k.Until("w1", api.Busy)
		x := k.WantEnd(r, engine.EndCompleted)
		if got, err := testkit.ResultOf(x.Outcome); err != nil || got.Task != r.ID || len(got.Before) != 0 {
			t.Fatalf("result %+v, %v", got, err)
		}
		k.Until("w1", api.Online)
	})
}
