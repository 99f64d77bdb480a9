package telemetry

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/http"
)

// maxSpans bounds the spans of one task: a loop may have a million steps.
const maxSpans = 1000

// Traces tells where the time of single tasks goes: request, queue, claim, each
// action. Spans are made when they have ended, and sent in batches from a
// goroutine of their own: no task waits for them, and what a collector does not
// take in time is dropped.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// OpenTraces sends spans to a collector that speaks OTLP over HTTP, such as
// http://127.0.0.1:4318. An empty address leaves all to the variables that
// OpenTelemetry defines.
func OpenTraces(ctx context.Context, address string) (*Traces, error) {
	var options []otlptracehttp.Option
	if address != "" {
		options = append(options, otlptracehttp.WithEndpointURL(address+"/v1/traces"))
	}
	to, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("open the traces: %w", err)
	}
	return NewTraces(ctx, to)
}

// NewTraces sends spans to an exporter.
func NewTraces(ctx context.Context, to sdk.SpanExporter) (*Traces, error) {
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", namespace)), resource.WithFromEnv()) // the last one wins
	if err != nil {
		return nil, fmt.Errorf("describe the service in traces: %w", err)
	}
	// The caller decides whether a trace is kept. Without its decision,
	// OTEL_TRACES_SAMPLER does; without that, every trace is kept.
	p := sdk.NewTracerProvider(sdk.WithBatcher(to), sdk.WithResource(about))
	return &Traces{provider: p, tracer: p.Tracer(namespace)}, nil
}

// Close sends what is left.
func (t *Traces) Close(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last spans: %w", err)
	}
	return nil
}

// under is where spans belong that have this parent, in the spelling of the W3C.
func under(parent string) context.Context {
	return propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
}

// StartTask begins the span of a request below that of its client. It returns the parent
// for spans below, and a function to call with the answer.
func (t *Traces) StartTask(a http.TaskRequest) (parent string, answered func(http.TaskResult)) {
	ctx, s := t.tracer.Start(under(a.Trace), "request", trace.WithTimestamp(a.At), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("troupe.task", a.Task), attribute.String("troupe.plan", string(a.Plan))))
	to := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, to)
	return to["traceparent"], func(told http.TaskResult) {
		s.SetAttributes(attribute.Int("http.response.status_code", told.Status), attribute.Bool("troupe.async", told.Async))
		if told.Code != "" {
			s.SetAttributes(attribute.String("troupe.code", string(told.Code)))
			s.SetStatus(codes.Error, string(told.Code))
		}
		s.End()
	}
}

// Engine stands before an engine and makes spans of what it plays.
func (t *Traces) Engine(e engine.Engine) engine.Engine { return &traced{e, t.tracer} }

type traced struct {
	engine.Engine
	tracer trace.Tracer
}

func (e *traced) Launch(ctx context.Context, worker string) (engine.Instance, error) {
	in, err := e.Engine.Launch(ctx, worker)
	if err != nil {
		return nil, err
	}
	return &tracedInstance{in, e.tracer, worker}, nil
}

type tracedInstance struct {
	engine.Instance
	tracer trace.Tracer
	worker string
}

// Unwrap lets what else the instance can do be found.
func (in *tracedInstance) Unwrap() engine.Instance { return in.Instance }

// Play makes the span of the wait in the queue, and that of the worker's claim
// with the actions in it.
func (in *tracedInstance) Play(ctx context.Context, task *engine.Task, st engine.TaskEnv) *engine.Outcome {
	began, above := time.Now(), under(st.Trace)
	if !st.Asked.IsZero() {
		_, waited := in.tracer.Start(above, "queue.wait", trace.WithTimestamp(st.Asked))
		waited.End(trace.WithTimestamp(began))
	}
	within, claim := in.tracer.Start(above, "worker.claim", trace.WithTimestamp(began),
		trace.WithAttributes(attribute.String("troupe.task", st.TaskID), attribute.String("troupe.worker", in.worker)))
	measure, steps := st.Measure, 0
	st.Measure = func(s engine.StepReport) {
		if measure != nil {
			measure(s)
		}
		if steps++; steps <= maxSpans {
			in.step(within, s)
		}
	}
	out := in.Instance.Play(ctx, task, st)
	if steps > maxSpans {
		claim.SetAttributes(attribute.Int("troupe.actions.untold", steps-maxSpans))
	}
	if out != nil {
		claim.SetAttributes(attribute.String("troupe.end", string(out.End)))
		switch code := outcome.Code(out); {
		case out.End != engine.EndCompleted:
			claim.SetStatus(codes.Error, string(out.End))
		case code != "":
			claim.SetStatus(codes.Error, string(code))
		}
	}
	claim.End()
	return out
}

// step makes the span of an action that has ended. It omits selectors, addresses and
// texts: they are the client's.
func (in *tracedInstance) step(within context.Context, r engine.StepReport) {
	ended := time.Now()
	_, s := in.tracer.Start(within, "action "+r.Action, trace.WithTimestamp(ended.Add(-time.Duration(r.Millis*float64(time.Millisecond)))),
		trace.WithAttributes(attribute.String("troupe.action", r.Action), attribute.String("troupe.action.path", r.Path)))
	if r.Iteration != nil {
		s.SetAttributes(attribute.Int("troupe.action.iteration", *r.Iteration))
	}
	if !r.Success {
		s.SetStatus(codes.Error, string(r.Code))
	}
	s.End(trace.WithTimestamp(ended))
}
