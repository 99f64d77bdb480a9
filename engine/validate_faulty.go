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
	v.maybe, v.unsure = map[string]bool{}, e.has("/session")
	for _, n := range e.faulty {
		n.keeps(v.maybe)
	}
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

// keeps adds every key that a step may keep something under, wherever in it save or
// push stands.
func (n *node) keeps(keys map[string]bool) {
	for _, f := range n.fields {
		if (f.key == "save" || f.key == "push") && f.isString() {
			keys[f.str] = true
		}
		f.keeps(keys)
	}
	for _, e := range n.list {
		e.keeps(keys)
	}
}
