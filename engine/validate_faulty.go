package engine

import (
	"strings"

	"troupe/engine/lang"
)

// Warnings are those of [Task.Review] for the readable part of the request. Steps
// with faults are skipped, and what they may save counts as saved, so that one
// fault does not cause warnings about all that depends on it.
func (e *Invalid) Warnings() []lang.Fault {
	if e.task == nil {
		return nil
	}
	v := e.reviewer()
	v.ofItem = map[string]string{}         // what reads an item where there is none has a fault
	if v.sites(); e.has("/config/sites") { // what was read of them is less than what was meant
		v.task.Config.Sites = nil
	}
	all := v.list(e.task.Steps)
	if !e.has("/timeout") {
		v.tooLong(all, e.task.Timeout)
	}
	return v.warnings
}

// reviewer looks at the readable part of the request.
func (e *Invalid) reviewer() *reviewer {
	v := newReviewer(e.task)
	v.maybe, v.unsure = map[string]bool{}, e.has("/session")
	for _, n := range e.faulty {
		addSavedKeys(n, v.maybe)
	}
	return v
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

// addSavedKeys adds every key that a step may keep something under, wherever in it
// save, push, as or set stands.
func addSavedKeys(n *lang.Node, keys map[string]bool) {
	for _, f := range n.Fields {
		if (f.Key == "save" || f.Key == "push" || f.Key == "as") && f.IsString() {
			keys[f.Text] = true
		}
		if f.Key == "set" {
			for _, set := range f.Fields {
				keys[set.Key] = true
			}
		}
		addSavedKeys(f, keys)
	}
	for _, e := range n.Elements {
		addSavedKeys(e, keys)
	}
}
