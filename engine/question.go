package engine

import (
	"maps"
	"time"

	"troupe/engine/browser"
)

// question is a call of the page script, for the frame that its place leads to.
type question struct {
	arg   map[string]any
	until time.Time // zero: it takes no time of its own
	once  bool      // it is answered at once, whatever is missing
	hurry bool
	next  func() []browser.Part // the frames of the steps that come after it
}

// atOnce are the functions of the page script that look once and wait for nothing.
var atOnce = map[string]bool{"exists": true, "property": true, "drag": true, "filled": true, "settled": true}

func newQuestion(fn string, arg map[string]any) question {
	q := question{arg: arg, once: atOnce[fn], hurry: arg["settle"] == settleSoon && aims[fn]}
	if ms, ok := first(arg)["ms"].(int64); ok {
		q.until = time.Now().Add(time.Duration(ms) * time.Millisecond)
	}
	return q
}

// first is the argument that says where to ask and for how long: of several questions
// in one call, that of the first.
func first(arg map[string]any) map[string]any {
	if ops, ok := arg["ops"].([]operation); ok && len(ops) > 0 && arg["t"] == nil {
		return ops[0][1].(map[string]any)
	}
	return arg
}

// Arg makes the question a [browser.Question], as Place, Ways, Below, Hurry and Next do.
func (q question) Arg() (map[string]any, time.Duration) {
	left := max(0, time.Until(q.until))
	if !q.until.IsZero() {
		first(q.arg)["ms"] = Millis(left)
	}
	if q.once {
		left = 0
	}
	return q.arg, left
}

func (q question) Place() []browser.Part { return placeIn(first(q.arg)) }

func (q question) Ways() [][]browser.Part { return waysOf(q.arg) }

// waysOf are those that the parts of an argument lead to. Of questions in one call many
// have the same.
func waysOf(arg map[string]any) (all [][]browser.Part) {
	add := func(way []browser.Part) {
		if n := len(all); len(way) > 0 && (n == 0 || !sameWay(all[n-1], way)) {
			all = append(all, way)
		}
	}
	add(placeIn(first(arg)))
	if ops, ok := arg["ops"].([]operation); ok {
		for _, op := range ops {
			add(placeIn(op[1].(map[string]any)))
		}
	}
	if e, ok := first(arg)["each"].(*elements); ok {
		add(e.In)
	}
	return all
}

func sameWay(a, b []browser.Part) bool {
	_, is := placeBelow(a, b)
	return is && len(a) == len(b)
}

func (q question) Hurry() bool { return q.hurry }

// maxNext bounds how many frames are made ready ahead.
const maxNext = 20

func (q question) Next() []browser.Part {
	ops, ok := q.arg["ops"].([]operation)
	if !ok && q.next != nil {
		return q.next()
	}
	var next []browser.Part
	for _, op := range ops[min(1, len(ops)):] {
		if place := placeIn(op[1].(map[string]any)); len(place) > 0 && place[0].ByURL && len(next) < maxNext {
			next = append(next, place[0])
		}
	}
	return next
}

func (q question) Below(parts int) browser.Question {
	used := q.Place()[:parts]
	q.arg, _ = argumentBelow(q.arg, used)
	delete(q.arg, "alone")
	if ops, ok := q.arg["ops"].([]operation); ok && q.arg["t"] == nil {
		below, whole := operationsBelow(ops, used)
		q.arg["ops"] = below
		if !whole {
			q.arg["total"] = min(q.arg["total"].(int), len(below))
		}
	} else if ahead, ok := q.arg["ahead"].(map[string]any); ok {
		ahead = maps.Clone(ahead)
		below, whole := operationsBelow(ahead["ops"].([]operation), used)
		if ahead["ops"] = below; whole {
			q.arg["ahead"] = ahead
		} else {
			delete(q.arg, "ahead")
		}
	}
	return q
}

func placeIn(arg map[string]any) []browser.Part {
	place, _ := arg["in"].([]browser.Part)
	return place
}

// argumentBelow is an argument for the document that the first parts of its place lead
// to, and whether its place begins with them.
func argumentBelow(arg map[string]any, used []browser.Part) (below map[string]any, is bool) {
	below = maps.Clone(arg)
	if place := placeIn(arg); place != nil || len(used) == 0 {
		rest, is := placeBelow(place, used)
		if !is {
			return nil, false
		}
		if below["in"] = rest; len(rest) == 0 {
			delete(below, "in")
		}
	} else if arg["ops"] == nil {
		return nil, false
	}
	if e, ok := arg["each"].(*elements); ok {
		if rest, is := placeBelow(e.In, used); is {
			in := *e
			in.In = rest
			below["each"] = &in
		} else { // the loop is in another frame
			delete(below, "each")
			delete(below, "i")
		}
	}
	return below, true
}

func placeBelow(place, used []browser.Part) (rest []browser.Part, is bool) {
	if len(place) < len(used) {
		return nil, false
	}
	for i, p := range used {
		if p.As != place[i].As || p.Ref != place[i].Ref || p.ByURL != place[i].ByURL {
			return nil, false
		}
	}
	return place[len(used):], true
}

// operationsBelow is argumentBelow for the first of several questions, and whether
// those are all.
func operationsBelow(ops []operation, used []browser.Part) (below []operation, whole bool) {
	for _, op := range ops {
		arg, is := argumentBelow(op[1].(map[string]any), used)
		if !is {
			return below, false
		}
		below = append(below, operation{op[0], arg})
	}
	return below, true
}
