package actors_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"troupe/engine"
	"troupe/testkit"
)

// TestTextIsParsedAtItsTurn: a large task waits for its worker as text, and is played whole.
// What is known of it before is right: how many actions it has, and how long it may take.
func TestTextIsParsedAtItsTurn(t *testing.T) {
	body := `{"queueTimeout":60000,"timeout":5000,"actions":[{"wait":1},{"set":{"n":[` + strings.Repeat("1,", 20_000) + `1]}}]}`
	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
		task, err := engine.Parse([]byte(body), nil)
		if err != nil {
			t.Fatal(err)
		}
		hold := k.Start(anna, testkit.Task(), second)
		k.AwaitIdle()
		steps, left := 0, time.Duration(0)
		r := k.Start(anna, task.AsText(), testkit.Script{Do: func(ctx context.Context, c testkit.Call) *engine.Outcome {
			steps = len(c.Task.Steps)
			if until, ok := ctx.Deadline(); ok {
				left = time.Until(until)
			}
			return &engine.Outcome{End: engine.EndCompleted}
		}})
		k.WantEnd(hold, engine.EndCompleted)
		k.WantEnd(r, engine.EndCompleted)
		if steps != 2 || left != 5*time.Second {
			t.Errorf("played with %d actions, in %s", steps, left)
		}
	})
}
