package outcome

import (
	"fmt"

	"troupe/actors/api"
	"troupe/engine"
)

// Example leaves of how a task has ended what an example of a failure shows: what went wrong
// where, and the pictures of it. Nil stays nil.
func Example(p *api.Polled) *api.Polled {
	if p == nil || p.Executed == nil || p.Executed.Outcome == nil {
		return p
	}
	o := p.Executed.Outcome
	short := &engine.Outcome{End: o.End, Failed: o.Failed, Pictures: o.Pictures, Evidence: o.Evidence}
	if n, large := TooLarge(o); large {
		short.End, short.Failed = engine.EndStopped, Code(o)
		short.Failures = []engine.Failure{{Code: Code(o), Text: TooLargeText(n)}}
	} else if f := Failure(o); f != nil {
		one := *f
		one.Action = nil
		short.Failures = []engine.Failure{one}
	}
	bare := *p
	bare.Executed = p.Executed.With(short)
	return &bare
}

// TooLargeText says that a result is larger than any answer may be.
func TooLargeText(bytes int) string {
	return fmt.Sprintf("The task's result has %d bytes, more than %d: return less, or use several tasks", bytes, MaxResult)
}
