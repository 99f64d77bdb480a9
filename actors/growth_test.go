package actors_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
	"troupe/testkit/need"
)

// TestNothingGrows plays requests of every kind and looks at what is left on
// the heap: a timer or a context that is not let go is seen nowhere else. None
// of the requests leaves anything in the store, which is in memory here.
func TestNothingGrows(t *testing.T) {
	need.Time(t)
	k := testkit.New(t, testkit.Options{Workers: 2, Config: func(c *actors.Config) { c.Engine = &testkit.Noop{} }})
	anna := testkit.Pro("anna")
	execute := func(task *engine.Task) *api.Executed {
		t.Helper()
		x, err := k.Node.Execute(context.Background(), &api.Execute{Account: anna, Task: task})
		if err != nil || x.Refusal != nil {
			t.Fatalf("%v, %+v", err, x)
		}
		return x
	}
	round := func(n int) {
		for i := range n {
			switch i % 4 {
			case 0, 1:
				execute(testkit.Task(testkit.Waiting(time.Minute)))
			case 2:
				id := execute(testkit.Task(testkit.Preserve(), testkit.Waiting(time.Minute))).SessionID
				execute(testkit.Task(testkit.Close(id), testkit.Empty()))
			case 3:
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				x, err := k.Node.Execute(ctx, &api.Execute{Account: anna, Task: testkit.Task(testkit.On("nobody"))})
				cancel()
				if err != nil || x.Refusal == nil {
					t.Fatalf("%v, %+v", err, x)
				}
			}
		}
	}
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	round(2000)
	const n = 4000
	var grown float64
	for range 3 { // once the tables of the runtime have their size, nothing does

		before := objects()
		round(n)
		grown = float64(objects()-before) / n
		t.Logf("%.3f objects more for each request", grown)
		if grown < 0.1 {
			return
		}
	}
	t.Errorf("the heap grows by %.2f objects with each request", grown)
}

// objects counts what is on the heap and was allocated since all of it is
// counted. The registry of the actors' library has tens of thousands of small
// tables, and each keeps the room that its first entry needed: that grows for
// long, and not without end.
func objects() (n int64) {
	runtime.GC()
	runtime.GC() // the profile is that of the last but one
	records := make([]runtime.MemProfileRecord, 10000)
	for {
		got, ok := runtime.MemProfile(records, false)
		if records = records[:min(got, len(records))]; ok {
			break
		}
		records = make([]runtime.MemProfileRecord, got+1000)
	}
	for _, r := range records {
		frames := runtime.CallersFrames(r.Stack())
		registry := false
		for more := true; more && !registry; {
			var f runtime.Frame
			f, more = frames.Next()
			registry = strings.HasPrefix(f.Function, "github.com/orcaman/concurrent-map.")
		}
		if !registry {
			n += r.InUseObjects()
		}
	}
	return n
}
