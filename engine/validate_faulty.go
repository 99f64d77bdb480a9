package engine

import "strings"

// Warnings are those of [Task.Review] about what could be read of the request. A
// step with a fault is not looked at; what it may keep counts as kept, so that one
// fault does not lead to warnings about all that depends on it.
func (e *Invalid) Warnings() []Fault {
	if e.task == nil {
		return nil
	}
	v := newReviewer(e.task)
	v.maybe, v.unsure = e.mayKeep, e.has("/session")
	all := v.list(e.task.Steps)
	if !e.has("/timeout") {
		v.tooLong(all, e.task.Timeout)
	}
	return v.warnings
}

// has reports whether a fault lies at or below a place.
func (e *Invalid) has(path string) bool {
	for _, f := range e.Faults {
		if f.Path == path || strings.HasPrefix(f.Path, path+"/") {
			return true
		}
	}
	return false
}

// noteKeys notes every key that a step with faults may keep something under,
// wherever in it save or push stands.
func (d *decoder) noteKeys(n *node) {
	for _, f := range n.fields {
		if (f.key == "save" || f.key == "push") && f.isString() {
			if d.mayKeep == nil {
				d.mayKeep = map[string]bool{}
			}
			d.mayKeep[f.str] = true
		}
		d.noteKeys(f)
	}
	for _, e := range n.list {
		d.noteKeys(e)
	}
}
