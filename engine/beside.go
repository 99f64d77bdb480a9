package engine

import (
	"fmt"
	"strings"
)

// actionIn finds the one action in an object, and its options. What else stands
// there is a fault: most often an option that was not put into options, or an
// action spelled as other services spell it, so that is what the fault tells.
func (d *decoder) actionIn(n *node) (action, options *node) {
	var named, known []*node
	for _, f := range n.fields {
		switch {
		case f.key == "options":
			options = f
			continue
		case registry[f.key] != nil:
			known = append(known, f)
		}
		named = append(named, f)
	}
	switch {
	case len(named) == 0:
		d.fault(n, `want an action, an object such as {"click":"#buy"}, but there is no action's name in it`)
		return nil, nil
	case len(known) > 1:
		d.fault(n, "want one action in an object, but there are %d: %s", len(known), listed(known))
	case len(known) == 0 && len(named) > 1:
		if f := namesAction(named); f != nil {
			d.fault(n, `want an action, an object such as {"click":"#buy"}: did you mean {%q: …} in the place of {%q: %q}?`, f.str, f.key, f.str)
			return nil, nil
		}
		d.fault(n, `want one action in an object, such as {"click":"#buy"}, but there are %d fields: %s`, len(named), listed(named))
	}
	if len(known) == 0 {
		return named[0], options
	}
	own, _ := known[0].def().options()
	for _, f := range named {
		if f.def() != nil {
			continue
		}
		if _, ok := own[f.key]; ok {
			d.fault(f, `%[1]q is an option of %[2]s: want {%[2]q: …, "options": {%[1]q: …}}`, f.key, known[0].key)
		} else {
			d.fault(f, `want nothing but "options" beside %s, not %q%s`, known[0].key, f.key, d.didYouMean(f.key, func() []string { return []string{"options"} }))
		}
	}
	return known[0], options
}

// def is the action that a field is named after.
func (n *node) def() *definition { return registry[n.key] }

// namesAction finds the field whose value is the name of an action.
func namesAction(fields []*node) *node {
	for _, f := range fields {
		if registry[f.str] != nil {
			return f
		}
	}
	return nil
}

// listed is the names of fields, for people.
func listed(fields []*node) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = fmt.Sprintf("%q", f.key)
	}
	return strings.Join(names, ", ")
}
