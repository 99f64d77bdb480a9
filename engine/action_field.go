package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"troupe/engine/lang"
)

// actionIn finds the one action in an object, its options, and the fields that it has
// beside its own. What else stands there is a fault: most often an option that was not put into options, or an
// action spelled as other services spell it, so that is what the fault tells.
func (d *decoder) actionIn(n *lang.Node) (action, options *lang.Node, beside []*lang.Node) {
	var named, known []*lang.Node
	for _, f := range n.Fields {
		switch {
		case f.Key == "options":
			options = f
			continue
		case registry[f.Key] != nil:
			known = append(known, f)
		}
		named = append(named, f)
	}
	if len(known) == 1 && len(named) > 1 && known[0].Key == "type" && registry[known[0].Text] != nil {
		known = nil // as others spell it: {"type": "click", "selector": …}
	}
	switch {
	case len(named) == 0:
		d.Fault(n, `want an action, an object such as {"click":"#buy"}, but there is no action's name in it`)
		return nil, nil, nil
	case len(known) > 1:
		d.Fault(n, "want one action in an object, but there are %d: %s", len(known), listed(known))
	case len(known) == 0 && len(named) > 1:
		if f := namesAction(named); f != nil {
			d.Fault(n, `want an action, an object such as {"click":"#buy"}: did you mean {%q: …} in the place of {%q: %q}?`, f.Text, f.Key, f.Text)
			return nil, nil, nil
		}
		d.Fault(n, `want one action in an object, such as {"click":"#buy"}, but there are %d fields: %s`, len(named), listed(named))
	}
	if len(known) == 0 {
		return named[0], options, nil
	}
	of := registry[known[0].Key]
	own, _ := of.options()
	for _, f := range named {
		if registry[f.Key] != nil {
			continue
		}
		if of.besides(f.Key) {
			beside = append(beside, f)
			continue
		}
		if _, ok := own[f.Key]; ok {
			d.Fault(f, `%[1]q is an option of %[2]s: want {%[2]q: …, "options": {%[1]q: …}}`, f.Key, known[0].Key)
		} else {
			d.Fault(f, `want nothing but %s beside %s, not %q%s`, quotedList(append(of.besideNames(), "options")), known[0].Key, f.Key, d.DidYouMean(f.Key, func() []string { return append(of.besideNames(), "options") }))
		}
	}
	return known[0], options, beside
}

// besides reports whether a field may stand beside the action's own.
func (a *definition) besides(name string) bool { return slices.Contains(a.besideNames(), name) }

func (a *definition) besideNames() (names []string) {
	for _, o := range a.beside {
		names = append(names, o.Name)
	}
	return names
}

// quotedList is some names, for people.
func quotedList(names []string) string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = strconv.Quote(n)
	}
	return strings.Join(all, " and ")
}

// namesAction finds the field whose value is the name of an action.
func namesAction(fields []*lang.Node) *lang.Node {
	for _, f := range fields {
		if registry[f.Text] != nil {
			return f
		}
	}
	return nil
}

// listed is the names of fields, for people.
func listed(fields []*lang.Node) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = fmt.Sprintf("%q", f.Key)
	}
	return strings.Join(names, ", ")
}
