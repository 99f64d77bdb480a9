package engine

import "strings"

// Fault is one thing that is wrong with a request.
type Fault struct {
	Path    string `json:"path"` // JSON Pointer into the body
	Message string `json:"message"`
}

// Invalid is the error of [Parse]: every fault of the request.
type Invalid struct{ Faults []Fault }

func (e *Invalid) Error() string {
	all := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		all[i] = f.Path + ": " + f.Message
	}
	return strings.Join(all, "; ")
}

// Parse decodes a request. Its error is an [*Invalid] that names every fault.
func Parse(body []byte, files []Upload) (*Task, error) { panic("being written") }

// Step is one action of a task.
type Step struct{}
