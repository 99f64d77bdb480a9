package view

import "troupe/engine"

// Weigh is about how many bytes the texts of a step take.
func Weigh(s engine.StepReport) int {
	n := len(s.Path) + len(s.Action) + len(s.Result) + len(s.Error)
	for _, note := range s.Notes {
		n += len(note)
	}
	return n
}
