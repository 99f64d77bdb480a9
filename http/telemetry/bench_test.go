package telemetry_test

import (
	"context"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"troupe/engine"
	"troupe/http/telemetry"
	"troupe/testkit"
)

// BenchmarkPlay is what metrics and traces add to a task of two actions, on an
// engine that takes no time.
func BenchmarkPlay(b *testing.B) {
	traces, err := telemetry.NewTraces(context.Background(), nowhere{})
	if err != nil {
		b.Fatal(err)
	}
	defer traces.Close(context.Background())
	for name, wrap := range map[string]func(engine.Engine) engine.Engine{
		"bare":    func(e engine.Engine) engine.Engine { return e },
		"metrics": telemetry.NewMetrics().Engine,
		"both":    func(e engine.Engine) engine.Engine { return traces.Engine(telemetry.NewMetrics().Engine(e)) },
	} {
		b.Run(name, func(b *testing.B) {
			in, err := wrap(steps{testkit.NewEngine()}).Launch(context.Background(), "w1")
			if err != nil {
				b.Fatal(err)
			}
			defer in.Close()
			task := &engine.Task{}
			st := engine.TaskEnv{TaskID: "it", Plan: engine.Pro, Asked: time.Now()}
			b.ReportAllocs()
			for b.Loop() {
				in.Play(context.Background(), task, st)
			}
		})
	}
}

// nowhere drops what it gets.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                        { return nil }

// steps plays nothing, and says that two actions ended.
type steps struct{ engine.Engine }

func (e steps) Launch(ctx context.Context, worker string) (engine.Instance, error) {
	in, err := e.Engine.Launch(ctx, worker)
	return twoSteps{in}, err
}

type twoSteps struct{ engine.Instance }

func (twoSteps) Play(_ context.Context, _ *engine.Task, st engine.TaskEnv) *engine.Outcome {
	if st.Measure != nil {
		st.Measure(engine.StepReport{Path: "0", Action: "open", Success: true, Millis: 8})
		st.Measure(engine.StepReport{Path: "1", Action: "getText", Success: true, Millis: 1})
	}
	return &engine.Outcome{End: engine.EndCompleted}
}
