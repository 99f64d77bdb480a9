package telemetry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/http/telemetry"
	"troupe/testkit"
)

// tracing runs f with a kit whose tasks are traced, and returns the spans.
func tracing(t *testing.T, f func(*testing.T, *testkit.Kit, *telemetry.Traces)) (all tracetest.SpanStubs) {
	t.Helper()
	var traces *telemetry.Traces
	to := tracetest.NewInMemoryExporter()
	o := testkit.Options{Workers: 1, Config: func(c *actors.Config) {
		var err error
		if traces, err = telemetry.NewTraces(context.Background(), keeping{to}); err != nil {
			t.Fatal(err)
		}
		c.Engine = traces.Engine(c.Engine)
	}}
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		defer func() {
			if err := traces.Close(context.Background()); err != nil {
				t.Error(err)
			}
			all = to.GetSpans()
		}()
		f(t, k, traces)
	})
	return all
}

// keeping keeps the spans after the end.
type keeping struct{ *tracetest.InMemoryExporter }

func (keeping) Shutdown(context.Context) error { return nil }

func named(t *testing.T, all tracetest.SpanStubs, name string) tracetest.SpanStub {
	t.Helper()
	var found []tracetest.SpanStub
	for _, s := range all {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans are called %s, of %d", len(found), name, len(all))
	}
	return found[0]
}

func has(t *testing.T, s tracetest.SpanStub, want ...attribute.KeyValue) {
	t.Helper()
	for _, w := range want {
		found := false
		for _, a := range s.Attributes {
			found = found || a == w
		}
		if !found {
			t.Errorf("%s has %v, and not %v", s.Name, s.Attributes, w)
		}
	}
}

// TestATaskIsTraced: from the client's trace over the request, the queue and the
// claim down to each action, with their times.
func TestATaskIsTraced(t *testing.T) {
	const client, above = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	iteration := 3
	spans := tracing(t, func(t *testing.T, k *testkit.Kit, traces *telemetry.Traces) {
		first := k.Start(testkit.Pro("anna"), testkit.Task(), testkit.Script{Takes: 4 * time.Second})
		k.Until("w1", api.Busy)
		asked := time.Now()
		trace, answered := traces.StartTask(http.TaskRequest{Task: "it", Plan: engine.Pro, At: asked, Trace: "00-" + client + "-" + above + "-01"})
		if !strings.HasPrefix(trace, "00-"+client+"-") || strings.Contains(trace, above) {
			t.Errorf("the task is told of %s", trace)
		}
		k.Engine.Script("it", testkit.Script{Do: func(_ context.Context, c testkit.Call) *engine.Outcome {
			time.Sleep(time.Second)
			c.Env.Measure(engine.StepReport{Path: "0", Action: "open", Success: true, Millis: 1000})
			time.Sleep(time.Second)
			c.Env.Measure(engine.StepReport{Path: "1/loop/do/0", Iteration: &iteration, Action: "click", Millis: 250, Code: engine.CodeElementNotFound, Error: `"#secret" not found`})
			return &engine.Outcome{End: engine.EndStopped}
		}})
		x, err := k.Node.Execute(context.Background(), &api.Execute{
			TaskID: "it", Account: testkit.Pro("anna"), Task: testkit.Task(testkit.Waiting(time.Minute)), Asked: asked, Trace: trace,
		})
		if err != nil || x.Outcome == nil {
			t.Fatal(x, err)
		}
		answered(http.TaskResult{Status: 200, Code: engine.CodeElementNotFound, Worker: x.WorkerID})
		k.WantEnd(first, engine.EndCompleted)
	})
	request, queue := named(t, spans, "request"), named(t, spans, "queue.wait")
	var claim tracetest.SpanStub
	for _, s := range spans {
		if s.Name == "worker.claim" && s.SpanContext.TraceID().String() == client {
			claim = s
		}
	}
	open, click := named(t, spans, "action open"), named(t, spans, "action click")
	for _, s := range []tracetest.SpanStub{request, queue, claim, open, click} {
		if s.SpanContext.TraceID().String() != client {
			t.Errorf("%s is of the trace %s", s.Name, s.SpanContext.TraceID())
		}
	}
	for _, x := range []struct {
		s    tracetest.SpanStub
		in   string
		long time.Duration
	}{
		{request, above, 6 * time.Second},
		{queue, request.SpanContext.SpanID().String(), 4 * time.Second},
		{claim, request.SpanContext.SpanID().String(), 2 * time.Second},
		{open, claim.SpanContext.SpanID().String(), time.Second},
		{click, claim.SpanContext.SpanID().String(), 250 * time.Millisecond},
	} {
		if got := x.s.EndTime.Sub(x.s.StartTime); x.s.Parent.SpanID().String() != x.in || got != x.long {
			t.Errorf("%s is in %s and took %v, want %s and %v", x.s.Name, x.s.Parent.SpanID(), got, x.in, x.long)
		}
	}
	has(t, request, attribute.String("troupe.task", "it"), attribute.String("troupe.plan", "pro"), attribute.Int("http.response.status_code", 200), attribute.String("troupe.code", "element_not_found"))
	has(t, claim, attribute.String("troupe.task", "it"), attribute.String("troupe.worker", "w1"), attribute.String("troupe.end", "stopped"))
	has(t, click, attribute.String("troupe.action", "click"), attribute.String("troupe.action.path", "1/loop/do/0"), attribute.Int("troupe.action.iteration", 3))
	if open.Status.Code != codes.Unset || click.Status.Code != codes.Error || click.Status.Description != "element_not_found" || claim.Status.Code != codes.Error || request.Status.Code != codes.Error {
		t.Errorf("open is %v, click %v, claim %v, request %v", open.Status, click.Status, claim.Status, request.Status)
	}
	if text := fmt.Sprint(spans); strings.Contains(text, "#secret") || strings.Contains(text, "anna") {
		t.Error("a span says what was looked for, or who asked")
	}
}

// TestWhoCallsDecides: a client that does not keep its trace gets no spans; one
// that says nothing, or nonsense, gets a trace of its own.
func TestWhoCallsDecides(t *testing.T) {
	for trace, want := range map[string]int{
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00": 0,
		"":                        1,
		"00-nonsense":             1,
		strings.Repeat("0", 9000): 1,
	} {
		spans := tracing(t, func(t *testing.T, k *testkit.Kit, traces *telemetry.Traces) {
			own, answered := traces.StartTask(http.TaskRequest{Task: "it", Plan: engine.Pro, At: time.Now(), Trace: trace})
			if len(own) != 55 {
				t.Errorf("%.60s: the task is told of %q", trace, own)
			}
			answered(http.TaskResult{Status: 200})
		})
		if len(spans) != want {
			t.Errorf("%.60s: %d spans", trace, len(spans))
		}
	}
}

// TestLongTasksHaveFewSpans: the rest is counted.
func TestLongTasksHaveFewSpans(t *testing.T) {
	spans := tracing(t, func(t *testing.T, k *testkit.Kit, _ *telemetry.Traces) {
		k.WantEnd(k.Start(testkit.Pro("anna"), testkit.Task(), testkit.Script{Steps: 1500, Takes: time.Second}), engine.EndCompleted)
	})
	actions := 0
	for _, s := range spans {
		if s.Name == "action scripted" {
			actions++
		}
	}
	if actions != 1000 {
		t.Errorf("%d spans of actions", actions)
	}
	has(t, named(t, spans, "worker.claim"), attribute.Int("troupe.actions.untold", 500))
}
