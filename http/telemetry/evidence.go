package telemetry

import "troupe/engine"

// left counts what a task has left of how it went, and what it was to leave
// and could not: the page was gone, or there was no place for files.
func (m *Metrics) left(task *engine.Task, out *engine.Outcome) {
	if out == nil || out.End == engine.EndCancelled || out.End == engine.EndInterrupted { // nobody looks for it then
		return
	}
	count := func(kind string, wanted bool, address string) {
		switch {
		case address != "":
			m.evidence.WithLabelValues(kind, "kept").Inc()
		case wanted:
			m.evidence.WithLabelValues(kind, "missing").Inc()
		}
	}
	count("trace", task.Config.FullTrace, out.Trace)
	if e, want := out.Evidence, task.Config.OnFailure; e != nil { // else nothing has failed
		count("screenshot", want.Screenshot, e.Screenshot)
		count("html", want.HTML, e.HTML)
		count("console", want.Console, e.Console)
		count("network", want.Network, e.Network)
	}
}
