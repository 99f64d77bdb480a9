package actors_test

import (
	"fmt"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/testkit"
)

// TestAttackRepeatsOfARunningKey: one account repeats the requests that it has under
// way a bounded number of times, whichever keys and however they begin; all that are
// taken get the first one's answer, and then there is room again.
func TestAttackRepeatsOfARunningKey(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		for round := range 2 {
			keys := []string{fmt.Sprint("a", round), fmt.Sprint("b", round)}
			var firsts []*testkit.Request
			for _, key := range keys {
				firsts = append(firsts, k.Send(with(key, "d", anna), lasting(time.Second)))
			}
			k.AwaitIdle()
			var again [2][]*testkit.Request
			for i := range actors.AgainMost {
				again[i%2] = append(again[i%2], k.Send(with(keys[i%2], "d", anna), quick))
			}
			k.AwaitIdle()
			for _, key := range keys {
				k.WantRefused(k.Send(with(key, "d", anna), quick), engine.CodeTooManyWaiting)
				k.WantRefused(k.Send(with(key, "other", anna), quick), engine.CodeIdempotencyMismatch)
			}
			other := k.Send(with("c", "d", bert, testkit.Waiting(time.Minute)), quick)
			otherAgain := k.Send(with("c", "d", bert, testkit.Waiting(time.Minute)), quick)
			for i, first := range firsts {
				x := k.WantEnd(first, engine.EndCompleted)
				for _, r := range again[i] {
					same(k, r, x)
				}
			}
			same(k, otherAgain, k.WantEnd(other, engine.EndCompleted))
		}
		played(k, 5) // the second round has the other account's answer already
	})
}
