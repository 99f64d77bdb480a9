package actors_test

import (
	"context"

	"troupe/engine"
	"troupe/testkit"
)

// withCache is a script that shows the data cache it is given.
func withCache(f func(*engine.Cache)) func(context.Context, testkit.Call) *engine.Outcome {
	return func(_ context.Context, c testkit.Call) *engine.Outcome {
		f(c.Env.Cache)
		return &engine.Outcome{End: engine.EndCompleted}
	}
}
