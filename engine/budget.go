package engine

import (
	"bytes"
	"encoding/json"

	"troupe/engine/lang"
)

// A task has one budget for all that it gathers, in bytes. It has three shares, so
// that a long trace never costs a task its result.
const (
	// MaxGathered is the budget of a task.
	MaxGathered = maxSaved + MaxResult + maxReported

	// MaxResult bounds one value: the result of an action, all captured responses
	// together, and a text once its values are filled in.
	MaxResult = lang.MaxText

	// maxSaved bounds the data cache, with what earlier tasks of the session have
	// put into it.
	maxSaved = 64 << 20

	// maxReported bounds steps, errors and warnings together.
	maxReported = 16 << 20
)

const (
	keptForLines  = 4 << 20 // of maxReported, the results of steps leave so much to everything else
	keptForErrors = 2 << 20 // and steps so much to errors and warnings

	maxWarnings   = 1000
	maxErrorText  = 16 << 10
	maxWarning    = 4 << 10
	maxRepeated   = 4 << 10 // of an action that has failed before
	repeatedTexts = 100     // of each string in it
	lineSize      = 250     // what a step or an error takes besides its texts
)

// Truncated counts what a response leaves out for lack of room.
type Truncated struct {
	Steps    int `json:"steps,omitempty"`    // that are not listed
	Results  int `json:"results,omitempty"`  // of steps that are listed without theirs
	Errors   int `json:"errors,omitempty"`   // that are not listed
	Warnings int `json:"warnings,omitempty"` // that are not listed

	Dialogs   int `json:"dialogs,omitempty"`   // that are not listed
	Downloads int `json:"downloads,omitempty"` // that are not listed, nor kept
}

// reports are what a task tells beside its result: steps, failures and warnings,
// within their share of the budget.
type reports struct {
	steps    []StepReport
	failures []Failure
	warnings []Warning

	size  int
	left  Truncated
	last  *Failure // nil unless there was no room for the failure that came last
	first Code     // of the first failure that was not tolerated
	brief map[string]json.RawMessage
}

// take takes so many bytes, if others keep so many.
func (p *reports) take(n, keep int) bool {
	if p.size+n > maxReported-keep {
		return false
	}
	p.size += n
	return true
}

func (p *reports) step(s StepReport) {
	n := lineSize + len(s.Path) + len(s.Action) + len(s.Error) + 8*len(s.Iterations)
	for _, note := range s.Notes {
		n += len(note)
	}
	if !p.take(n, keptForErrors) {
		p.left.Steps++
		return
	}
	if !p.take(len(s.Result), keptForLines) {
		s.Result, s.ResultBytes = nil, len(s.Result)
		p.left.Results++
	}
	p.steps = append(p.steps, s)
}

// failed adds a failure. An action that fails again and again is reported in full
// once; one that ends the list is, too.
func (p *reports) failed(f Failure, ends bool) {
	f.Text = lang.Short(f.Text, maxErrorText)
	if p.first == "" && !f.Tolerated {
		p.first = f.Code
	}
	_, again := p.brief[f.Path]
	if !again {
		if p.brief == nil {
			p.brief = map[string]json.RawMessage{}
		}
		p.brief[f.Path] = abridge(f.Action)
	}
	if again && !ends {
		f.Action = p.brief[f.Path]
	}
	p.last = nil
	n := lineSize + len(f.Text) + len(f.Path) + 8*len(f.Iterations)
	switch {
	case p.take(n+len(f.Action), 0):
	case p.take(n+len(p.brief[f.Path]), 0):
		f.Action = p.brief[f.Path]
	default:
		p.left.Errors++
		p.last = &f
		return
	}
	p.failures = append(p.failures, f)
}

func (p *reports) warn(w Warning) {
	w.Message = lang.Short(w.Message, maxWarning)
	if len(p.warnings) >= maxWarnings || !p.take(lineSize/4+len(w.Path)+len(w.Message), 0) {
		p.left.Warnings++
		return
	}
	p.warnings = append(p.warnings, w)
}

// latest is the failure that came last, nil where there is none.
func (p *reports) latest() *Failure {
	if p.last != nil {
		return p.last
	}
	if n := len(p.failures); n > 0 {
		return &p.failures[n-1]
	}
	return nil
}

// errors are the failures in the order they happened: the first ones, and the
// last, which may be why the task ended.
func (p *reports) errors() []Failure {
	if p.last != nil {
		p.failures, p.last = append(p.failures, *p.last), nil
		p.left.Errors--
	}
	return p.failures
}

// truncated is what was left out, nil where nothing was.
func (p *reports) truncated() *Truncated {
	if p.left == (Truncated{}) {
		return nil
	}
	left := p.left
	return &left
}

// abridge cuts the strings of an action, and an action that is long all the same
// to its name.
func abridge(action json.RawMessage) json.RawMessage {
	b := cutStrings(action, repeatedTexts)
	if len(b) <= maxRepeated {
		return b
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	name, err := dec.Token()
	if _, ok := name.(string); err != nil || !ok {
		return nil
	}
	b, err = json.Marshal(map[string]string{name.(string): "…"})
	if err != nil {
		return nil
	}
	return b
}

// cutStrings cuts the strings in JSON to about so many bytes each.
func cutStrings(b []byte, most int) []byte {
	if len(b) <= most {
		return b
	}
	out := make([]byte, 0, min(len(b), maxRepeated))
	for i := 0; i < len(b); {
		if b[i] != '"' {
			out = append(out, b[i])
			i++
			continue
		}
		end := i + 1
		for end < len(b) && b[end] != '"' {
			if b[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(b))
		out = append(out, cutString(b[i:end], most)...)
		i = end
	}
	return out
}

func cutString(b []byte, most int) []byte {
	var s string
	if len(b) <= most || json.Unmarshal(b, &s) != nil {
		return b
	}
	cut, err := json.Marshal(lang.Short(s, most))
	if err != nil {
		return b
	}
	return cut
}

// size of the JSON that join and a loop's result have.
func joined(l []json.RawMessage) int {
	n := 2
	for _, v := range l {
		n += len(v) + 1
	}
	return n
}
