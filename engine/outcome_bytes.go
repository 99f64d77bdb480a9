package engine

// Bytes is about how many bytes an outcome takes.
func (o *Outcome) Bytes() int {
	n := len(o.Data) + len(o.Last) + len(o.HAR)
	for _, f := range o.Failures {
		n += 256 + len(f.Text) + len(f.Action)
	}
	for i := range o.Steps {
		n += 256 + o.Steps[i].Bytes()
	}
	for _, d := range o.Dialogs {
		n += 64 + len(d.Text) + len(d.Answer)
	}
	if c := o.Collected; c != nil {
		n += c.Bytes()
	}
	n += 512 * (len(o.Downloads) + len(o.Pictures))
	for _, w := range o.Warnings {
		n += 64 + len(w.Message)
	}
	return n
}

// Bytes is about how many bytes the texts of a step take.
func (s *StepReport) Bytes() int {
	n := len(s.Path) + len(s.Action) + len(s.Result) + len(s.Error)
	for _, note := range s.Notes {
		n += len(note)
	}
	return n
}
