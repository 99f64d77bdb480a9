package actors_test

import (
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/testkit"
)

// TestAHeldQueueLeavesNothingWaiting: what the queue has given to a node, and no worker has
// yet, goes back when the queue is held. Else a drain of the node would wait for it, for as
// long as a session holds the worker.
func TestAHeldQueueLeavesNothingWaiting(t *testing.T) {
	testkit.Run(t, testkit.Options{Engine: takes(time.Second), Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		opens := k.Start(anna, testkit.Task(testkit.Preserve()), testkit.Script{Takes: time.Minute})
		k.AwaitIdle()
		x := enqueue(k, anna, `true`)
		k.AwaitIdle()
		if s := k.Node.Status(); s.Waiting != 1 || s.Queued != 0 {
			t.Fatalf("the task does not wait for the worker: %+v", s)
		}
		opens.Answer()
		k.Node.HoldQueue(true)
		for range 3 {
			k.AwaitIdle()
			if s := k.Node.Status(); s.Waiting != 0 || s.Queued != 1 || s.Reserved != 1 {
				t.Errorf("held: %+v", s)
			}
			time.Sleep(10 * time.Second)
		}
		k.Node.HoldQueue(false)
		time.Sleep(time.Hour) // the session ends
		k.WantPoll(anna, x.TaskID, 0, api.TaskComplete)
	})
}
