package engine

import (
	"context"
	"encoding/json"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Place says where an action must not stand.
type Place int

// Places that an action can exclude.
const (
	NotInLoop   Place = 1 << iota // in the body of a loop, an if in it included
	NotInBranch                   // in then or else of an if
)

// Action is everything about one action: how it is spelled, where it may stand,
// what it does and how it is explained. It stands in a file of its own and
// registers itself with define; nothing else has to know of it.
type Action[V any] struct {
	Name  string
	Group string // heading in the reference
	Doc   string
	Value Shape[V]
	Opts  []Opt // beside the options that every action has
	Not   Place
	// Unbounded actions are bounded by the task's time alone: every action in
	// them has a time of its own.
	Unbounded bool
	// Unaided actions need no page script in the page itself, only in its frames.
	Unaided bool
	// Finds says that save keeps the element, not the result.
	Finds   bool
	Result  string // what it gives, for the reference; empty: {"success":true}
	Example string // one action, as JSON
	Page    string // of the demo shop, where the example plays; empty: its first page

	// Exactly one of these does the work. A Read only looks at the page: it
	// says which function of the page script gives the result, so that the
	// interpreter can send several in one call.
	Run  func(ctx context.Context, r *Run, s *Step, v V) (Result, error)
	Read func(r *Run, s *Step, v V) (Call, error)

	// Check looks at a value together with its options, at parse time.
	Check func(d *decoder, n *node, s *Step, v V)
	// Keys adds the keys of the data cache that the value reads.
	Keys func(v V, to map[string]bool)
}

// Result is what an action gives, as JSON. Nil stands for {"success":true}.
type Result = json.RawMessage

var success = Result(`{"success":true}`)

// Call is a function of the page script with its argument, less what the
// interpreter adds: the frame and the time.
type Call struct {
	Fn  string
	Arg map[string]any
}

// Opt is an option of one action's own.
type Opt struct {
	Name  string
	Doc   string
	Shape anyShape
}

func opt[V any](name string, s Shape[V], doc string) Opt {
	return Opt{Name: name, Doc: doc, Shape: s.any()}
}

// definition is an Action without its type.
type definition struct {
	name, group, doc, result, example, page string
	file                                    string // that defines it, in this folder
	value                                   anyShape
	opts                                    []Opt
	not                                     Place
	unbounded, unaided, finds               bool
	run                                     func(context.Context, *Run, *Step) (Result, error)
	read                                    func(*Run, *Step) (Call, error)
	check                                   func(*decoder, *node, *Step)
	keys                                    func(*Step, map[string]bool)
}

// registry holds the definitions by name.
var registry = map[string]*definition{}

// define registers an action. It panics on a second action of the same name:
// that is a mistake in this package.
func define[V any](a Action[V]) struct{} {
	if registry[a.Name] != nil || a.Name == "" || (a.Run == nil) == (a.Read == nil) {
		panic("engine: action " + a.Name + " is defined twice, has no name, or not exactly one of Run and Read")
	}
	_, file, _, _ := runtime.Caller(1)
	def := &definition{
		file: filepath.Base(file),
		name: a.Name, group: a.Group, doc: a.Doc, result: a.Result, example: a.Example, page: a.Page,
		value: a.Value.any(), opts: a.Opts, not: a.Not, unbounded: a.Unbounded, unaided: a.Unaided, finds: a.Finds,
	}
	if a.Run != nil {
		def.run = func(ctx context.Context, r *Run, s *Step) (Result, error) { return a.Run(ctx, r, s, s.value.(V)) }
	} else {
		def.read = func(r *Run, s *Step) (Call, error) { return a.Read(r, s, s.value.(V)) }
	}
	if a.Check != nil {
		def.check = func(d *decoder, n *node, s *Step) { a.Check(d, n, s, s.value.(V)) }
	}
	def.keys = func(s *Step, to map[string]bool) {
		if a.Keys != nil {
			a.Keys(s.value.(V), to)
			return
		}
		if k, ok := s.value.(interface{ keys(map[string]bool) }); ok {
			k.keys(to)
		}
	}
	registry[a.Name] = def
	return struct{}{}
}

// ActionNames lists the actions, sorted.
func ActionNames() []string {
	names := make([]string, 0, len(registry))
	for n := range registry {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Step is one action of a task.
type Step struct {
	Path    string // such as "3" or "3/loop/do/1"
	Index   int    // position of the top-level action that it is or is part of
	Options Options

	def   *definition
	value any
	raw   []byte // as the client sent it

	faulty bool // something is wrong with it, or with a step in it
}

// Name is the action's name.
func (s *Step) Name() string { return s.def.name }

// top reports whether the step stands in the task's own list.
func (s *Step) top() bool { return !strings.Contains(s.Path, "/") }

// Options are what stands beside an action.
type Options struct {
	Timeout         time.Duration // zero: config.actionTimeout
	Frame           []Selector    // the frame to look in, outermost first
	ContinueOnError *bool
	Save, Push      string

	own map[string]any
}

// own returns an option of the action's own, or its default.
func own[V any](s *Step, name string, otherwise V) V {
	if v, ok := s.Options.own[name]; ok {
		return v.(V)
	}
	return otherwise
}

// commonOpts are the options of every action.
var commonOpts = []Opt{
	opt("timeout", millisShape, "Time for this action. Default: `config.actionTimeout`."),
	opt("iframe", frameShape, "Looks inside this iframe of the same origin; an array goes into nested ones, outermost first. An iframe that stays on another origin for two seconds fails the action without waiting for the rest of its time."),
	opt("continueOnError", boolShape, "Overrides `config.continueOnError` for this action."),
	opt("save", keyShape, "Keeps the result in the data cache under this key, to be read as `${key}`; actions that find an element keep the element, to be used as `$key`."),
	opt("push", keyShape, "Appends the result to an array in the data cache."),
}

// frameShape is one selector of a frame, or several, outermost first.
var frameShape = Shape[[]Selector]{
	Words: "selector or array of selectors", Schema: `{"anyOf":[` + selectorShape.Schema + `,{"type":"array","items":` + selectorShape.Schema + `,"minItems":1,"maxItems":10}]}`,
	read: func(d *decoder, n *node) []Selector {
		if !n.isArray() {
			if !n.isString() {
				d.fault(n, "want the selector of an iframe or an array of them, not %s", n.isA())
				return nil
			}
			return []Selector{selectorShape.read(d, n)}
		}
		if len(n.list) == 0 || len(n.list) > 10 {
			d.fault(n, "want 1 to 10 selectors of iframes, not %d", len(n.list))
		}
		var out []Selector
		for _, e := range n.list {
			out = append(out, selectorShape.read(d, e))
		}
		return out
	},
}

// options are those that an action may have, by name, and their names in the
// order of its page.
func (a *definition) options() (known map[string]Opt, names []string) {
	known = map[string]Opt{}
	for _, o := range append(append([]Opt(nil), a.opts...), commonOpts...) {
		if _, ok := known[o.Name]; !ok {
			known[o.Name] = o
			names = append(names, o.Name)
		}
	}
	return known, names
}

// readOptions reads the options of a step into it.
func (d *decoder) readOptions(n *node, s *Step) {
	if n.isNull() { // as of the fields of a request: "not set"
		return
	}
	if !n.isObject() {
		d.fault(n, "want an object of options, not %s", n.isA())
		return
	}
	known, names := s.def.options()
	for _, f := range n.fields {
		o, ok := known[f.key]
		if !ok {
			d.fault(f, "%s has no option %q%s", s.def.name, f.key, d.didYouMean(f.key, func() []string { return names }))
			continue
		}
		if f.isNull() {
			continue
		}
		v := o.Shape.read(d, f)
		switch f.key {
		case "timeout":
			s.Options.Timeout = v.(time.Duration)
		case "iframe":
			s.Options.Frame = v.([]Selector)
		case "continueOnError":
			b := v.(bool)
			s.Options.ContinueOnError = &b
		case "save":
			s.Options.Save = v.(string)
		case "push":
			s.Options.Push = v.(string)
		default:
			if s.Options.own == nil {
				s.Options.own = map[string]any{}
			}
			s.Options.own[f.key] = v
		}
	}
}

// MaxSteps bounds the actions of one task, nested ones included.
const MaxSteps = 1000

// readSteps reads a list of actions.
func (d *decoder) readSteps(n *node, prefix string, index int) []Step {
	if !n.isArray() {
		d.fault(n, "want an array of actions, not %s", n.isA())
		return nil
	}
	steps := make([]Step, 0, len(n.list))
	for i, a := range n.list {
		top := index
		if index < 0 {
			top = i
		}
		if d.steps++; d.steps == MaxSteps+1 {
			d.fault(n, "want at most %d actions in one task", MaxSteps)
		}
		if d.steps > MaxSteps {
			break
		}
		wrong := d.wrong
		s, ok := d.readStep(a, prefix+strconv.Itoa(i), top)
		if d.wrong > wrong {
			s.faulty = true
			d.faulty = append(d.faulty, a)
		}
		if ok {
			steps = append(steps, s)
		}
	}
	return steps
}

func (d *decoder) readStep(n *node, path string, index int) (Step, bool) {
	s := Step{Path: path, Index: index, raw: n.raw}
	if !n.isObject() {
		d.fault(n, `want an action, an object such as {"click":"#buy"}, not %s`, n.isA())
		return s, false
	}
	action, options := d.actionIn(n)
	if action == nil {
		return s, false
	}
	s.def = registry[action.key]
	if s.def == nil {
		d.fault(action, "action %q is unknown%s", action.key, d.didYouMean(action.key, ActionNames))
		return s, false
	}
	if d.inLoop && s.def.not&NotInLoop != 0 {
		d.fault(action, "%s cannot stand in a loop", s.def.name)
	}
	if d.inBranch && s.def.not&NotInBranch != 0 {
		d.fault(action, "%s cannot stand in then or else", s.def.name)
	}
	if options != nil {
		d.readOptions(options, &s)
	}
	before := d.wrong
	d.step = &s
	s.value = s.def.value.read(d, action)
	if s.def.check != nil && d.wrong == before {
		s.def.check(d, action, &s)
	}
	return s, true
}

// keys adds the keys of the data cache that the step reads.
func (s *Step) keys(to map[string]bool) {
	s.def.keys(s, to)
	for _, f := range s.Options.Frame {
		f.keys(to)
	}
	for _, v := range s.Options.own {
		if k, ok := v.(interface{ keys(map[string]bool) }); ok {
			k.keys(to)
		}
	}
}
