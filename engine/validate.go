package engine

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"troupe/engine/lang"
)

// Review is what can be known of a valid task without running it.
type Review struct {
	Actions int // nested ones included
	// Longest is the most that the actions can take if there were no time for
	// the whole list, in milliseconds: days times iterations do not fit into a
	// [time.Duration].
	Longest int64
	// Warnings are about what is allowed but probably a mistake. Each path is a
	// JSON Pointer into the request, like those of faults.
	Warnings []lang.Fault
}

// Review looks at the task as it would be played with so much time in all.
func (t *Task) Review(timeout time.Duration) Review {
	v := newReviewer(t)
	v.sites()
	all := v.whole(t.Steps)
	v.tooLong(all, timeout)
	return Review{Actions: v.actions, Longest: all.most, Warnings: v.warnings}
}

// whole is for a list with the responses that it waits for.
func (v *reviewer) whole(steps []Step) span {
	captures := v.captures
	v.captures = nil
	all := v.list(steps)
	end := all.most
	for _, c := range v.captures {
		all.most = max(all.most, c.until-v.before)
		if c.until == 0 { // it has the action timeout from the list's end on
			all.most = max(all.most, add(end, ceilMillis(v.task.Config.ActionTimeout+grace)))
		}
	}
	v.captures = captures
	return all
}

// tooLong warns of waits that are longer than the task's time.
func (v *reviewer) tooLong(all span, timeout time.Duration) {
	if limit := Millis(timeout); all.least > limit {
		v.warn("/actions", "the waits alone take %d ms, more than the task's time of %d ms: it cannot finish", all.least, limit)
	}
}

// reviewer goes through a task in the order in which it would be played.
type reviewer struct {
	task     *Task
	actions  int
	warnings []lang.Fault
	captures []captured
	later    map[string]string // where a key is saved first, by key; $key for an element
	lost     map[string]string // where a value was forgotten again, by key
	known    known
	allowed  siteReview      // where the task may go
	each     bool            // in a loop over elements
	unsure   bool            // whether an earlier request may have saved something
	maybe    map[string]bool // keys that a step with faults may keep something under
	before   int64
	// ofItem has what is read of the item of a batch, and the first action that does;
	// nil: the task is not that of a batch.
	ofItem map[string]string
	inside int // how many flows are around: warnings about them were given when they were stored
}

func newReviewer(t *Task) *reviewer {
	v := &reviewer{
		task: t, warnings: slices.Clone(t.warnings), later: map[string]string{},
		lost:  map[string]string{},
		known: known{values: map[string]bool{}, elements: map[string]bool{}},
	}
	if t.items {
		v.ofItem = map[string]string{}
	}
	v.saves(t.Steps)
	return v
}

// known is what may have been saved by now.
type known struct{ values, elements map[string]bool }

func (k known) copy() known { return known{maps.Clone(k.values), maps.Clone(k.elements)} }

// or is what was saved on one way or the other.
func (k known) or(other known) known {
	both := k.copy()
	maps.Copy(both.values, other.values)
	maps.Copy(both.elements, other.elements)
	return both
}

// span is how long something takes at least and at most, in milliseconds.
type span struct{ least, most int64 }

// captured is a waitForResponse: when it gives up at the latest. Zero: some
// time after the list's end.
type captured struct{ until int64 }

func (v *reviewer) warn(path, format string, args ...any) {
	if v.inside == 0 && lang.MoreFaults(v.warnings) {
		v.warnings = append(v.warnings, lang.NewFault(path, format, args...))
	}
}

func ceilMillis(d time.Duration) int64 {
	return int64(math.Ceil(float64(d) / float64(time.Millisecond)))
}

// timeOf is how long one step may take by itself. The page has the step's time,
// and we wait a moment longer for what it says.
func (v *reviewer) timeOf(s *Step) int64 {
	limit := v.task.Config.ActionTimeout
	if s.Options.Timeout > 0 {
		limit = s.Options.Timeout
	}
	return ceilMillis(limit + grace)
}

// saves notes where each key is saved first.
func (v *reviewer) saves(steps []Step) {
	for i := range steps {
		s := &steps[i]
		for _, key := range []string{saved(s), s.Options.Push} {
			if _, ok := v.later[key]; key != "" && !ok {
				v.later[key] = stepPointer(s)
			}
		}
		for _, key := range s.writes() {
			if _, ok := v.later[key]; !ok {
				v.later[key] = stepPointer(s)
			}
		}
		for _, list := range s.lists() {
			v.saves(list)
		}
	}
}

// saved is what the step's save keeps: key, or $key for an element.
func saved(s *Step) string {
	if s.Options.Save != "" && s.def.finds {
		return "$" + s.Options.Save
	}
	return s.Options.Save
}

func stepPointer(s *Step) string { return "/actions/" + s.Path }

func (v *reviewer) list(steps []Step) (all span) {
	before, left := v.before, false
	for i := range steps {
		one := v.step(&steps[i])
		if !left { // the rest may not run
			all.least = add(all.least, one.least)
		}
		left = left || steps[i].mayLeave()
		all.most = add(all.most, one.most)
		v.before = add(v.before, one.most)
	}
	v.before = before // the list that this one is part of counts it
	return all
}

func (v *reviewer) step(s *Step) (took span) {
	v.actions++
	if !s.faulty {
		v.reads(s)
	}
	switch b := s.value.(type) {
	case repetition:
		took = v.loop(s, b)
	case branch:
		took = v.branch(s, b)
	case conditional:
		took = v.conditional(s, b)
	case iteration:
		took = v.iteration(s, b)
	case attempts:
		took = v.attempts(b)
	case trial:
		took = v.trial(b)
	case flowCall:
		took = v.flowCall(s, b)
	default:
		took = v.single(s)
	}
	for _, key := range s.writes() {
		v.known.values[key] = true
	}
	if s.def.name == "waitForResponse" && own(s, "until", "") == "end" {
		return took // the bodies are saved when the list is over
	}
	if s.Options.Save != "" {
		if s.def.finds {
			v.known.elements[s.Options.Save] = true
		} else {
			v.known.values[s.Options.Save] = true
		}
	}
	if s.Options.Push != "" {
		v.known.values[s.Options.Push] = true
	}
	return took
}

// single is for a step without lists in it.
func (v *reviewer) single(s *Step) span {
	if a, ok := s.value.(interface{ asks() bool }); s.def.instant || ok && !a.asks() {
		return span{}
	}
	switch s.def.name {
	case "open", "openNewTab":
		v.goes(s)
	case "wait":
		ms := ceilMillis(s.value.(time.Duration))
		return span{ms, ms}
	case "waitForResponse":
		c := captured{}
		if s.Options.Timeout > 0 {
			c.until = v.before + v.timeOf(s)
		}
		v.captures = append(v.captures, c)
		return span{}
	case "clearSavedData":
		if s.faulty {
			return span{}
		}
		for key := range v.known.values {
			v.lost[key] = stepPointer(s)
		}
		clear(v.known.values)
	}
	return span{0, v.timeOf(s)}
}

func (v *reviewer) loop(s *Step, l repetition) (took span) {
	times := int64(l.repeat)
	if l.each != nil {
		times = int64(l.max)
		took.most = v.timeOf(s)
	}
	was, none := v.each, v.known.copy()
	v.each = l.each != nil || l.repeat == 0 // with neither it is not known which was meant
	once := v.turns(l.do, times, 0)
	v.each = was
	took.most = add(took.most, once.most)
	if l.each == nil {
		took.least = once.least
	} else {
		v.known = v.known.or(none) // there may be no element
	}
	return took
}

func (v *reviewer) branch(s *Step, b branch) span {
	start := v.known
	v.known = start.copy()
	yes := v.list(b.then)
	after := v.known
	v.known = start.copy()
	no := v.list(b.other)
	v.known = v.known.or(after)
	took := span{min(yes.least, no.least), max(yes.most, no.most)}
	if b.cond.Looks() {
		took.most += v.timeOf(s)
	}
	return took
}

// reads warns of what the step reads and nothing before it can have kept.
func (v *reviewer) reads(s *Step) {
	keys := map[string]bool{}
	if s.def.name != "evaluate" { // what has no value stays as it is in a script
		s.keys(keys)
	}
	optional := map[string]string{} // what may be missing, and what it is then
	switch b := s.value.(type) {
	case interface{ condition() *lang.Condition }:
		may := map[string]bool{}
		b.condition().Optional(may)
		for key := range may {
			delete(keys, key)
			optional[key] = "the condition finds it missing"
		}
	case []string:
		for _, key := range b {
			optional[key] = "its value is null"
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if lang.IsReference(key) {
			continue // an earlier request may have given it
		}
		v.read(s, key)
	}
	for _, key := range slices.Sorted(maps.Keys(optional)) {
		// It may well be saved later, in the next turn of a loop.
		if !lang.Root(key, v.everSaved) && !v.goesOn() {
			v.warn(stepPointer(s), "nothing saves %q: %s%s", key, optional[key], v.near(key))
		}
	}
}

// everSaved reports whether anything in the task may save a key.
func (v *reviewer) everSaved(key string) bool {
	_, ever := v.later[key]
	return ever || v.maybe[key]
}

// goesOn reports whether the data cache may hold what earlier requests saved.
func (v *reviewer) goesOn() bool {
	return v.unsure || v.task.Session != nil && v.task.Session.ID != ""
}

func (v *reviewer) read(s *Step, key string) {
	path, element := stepPointer(s), key[0] == '$'
	name := key
	if element {
		name = key[1:]
	}
	if !element && v.inside == 0 && v.ofItem != nil && !v.everSaved(itemKey) && (name == itemKey || strings.HasPrefix(name, itemInner)) {
		if _, known := v.ofItem[name]; !known && name != itemKey {
			v.ofItem[name] = path
		}
		return
	}
	switch {
	case v.maybe[name]:
	case !element && lang.Root(name, func(key string) bool { return v.known.values[key] || v.maybe[key] }):
	case key == "$this":
		if !v.each {
			v.warn(path, "$this is the current element of a loop with each, but no such loop is around this action")
		}
	case element && v.known.elements[name], !element && v.known.values[name], !element && v.goesOn():
	case element && v.known.values[name]:
		v.warn(path, "$%s is a saved element, but %q was saved as a value: ${%s} reads it", name, name, name)
	case !element && v.known.elements[name]:
		v.warn(path, "${%s} reads a value, but %q was saved as an element: $%s uses it", name, name, name)
	default:
		shown := "${" + name + "}"
		if element {
			shown = key
		}
		if at, ok := v.lost[key]; ok {
			v.warn(path, "%s is used after %s has cleared it", shown, at)
			return
		}
		if at, ok := v.later[key]; ok {
			v.warn(path, "%s is used before it is saved, by %s", shown, at)
			return
		}
		v.warn(path, "%s is used, but nothing saves it%s", shown, v.near(name))
	}
}

// near suggests a key that is saved.
func (v *reviewer) near(name string) string {
	if !lang.MoreFaults(v.warnings) { // no answer has it
		return ""
	}
	var names []string
	for _, key := range slices.Sorted(maps.Keys(v.later)) {
		if key[0] == '$' {
			key = key[1:]
		}
		names = append(names, key)
	}
	return lang.DidYouMean(name, names)
}
