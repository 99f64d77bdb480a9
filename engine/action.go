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

	"troupe/engine/lang"
)

// Place is a set of places where an action is not allowed.
type Place int

// Places that an action can exclude.
const (
	NotInLoop   Place = 1 << iota // in the body of a loop, an if in it included
	NotInBranch                   // in then or else of an if
)

// Action defines one action: how it is spelled, where it is allowed, what it does
// and how it is documented. Each is defined in a file of its own and registers
// itself with define; nothing else has to know about it.
type Action[V any] struct {
	Name  string
	Group string // heading in the reference
	Doc   string
	Value lang.Shape[V]
	// Decode reads a value that holds actions or names files of the request. Other
	// values are read by their shape.
	Decode func(d *decoder, n *lang.Node) V
	Opts   []Opt // beside the options that every action has
	Beside []Opt // fields that stand beside the action's own, and that Decode reads
	Not    Place
	// Unbounded actions are bounded by the task's time alone: every action in
	// them has a time of its own.
	Unbounded bool
	// Instant actions ask nobody and take no time worth counting.
	Instant bool
	// Ends says that a failure ends the task, unless the action's own options say
	// otherwise.
	Ends bool
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
	Check func(d *decoder, n *lang.Node, s *Step, v V)
	// Keys adds the keys of the data cache that the value reads.
	Keys func(v V, to map[string]bool)
}

// Result is the result of an action, as JSON. Nil is {"success":true}.
type Result = json.RawMessage

var success = Result(`{"success":true}`)

// Call is a function of the page script with its argument. The interpreter adds
// the frame and the time.
type Call struct {
	Fn  string
	Arg map[string]any
}

// Opt is an option of one action's own.
type Opt struct {
	Name  string
	Doc   string
	Shape lang.AnyShape
}

func opt[V any](name string, s lang.Shape[V], doc string) Opt {
	return Opt{Name: name, Doc: doc, Shape: s.Any()}
}

// definition is an Action without its type.
type definition struct {
	name, group, doc, result, example, page string
	file                                    string // that defines it, in this folder
	value                                   lang.AnyShape
	opts, beside                            []Opt
	not                                     Place
	unbounded, finds                        bool
	instant, ends                           bool
	run                                     func(context.Context, *Run, *Step) (Result, error)
	read                                    func(*Run, *Step) (Call, error)
	decode                                  func(*decoder, *lang.Node) any
	check                                   func(*decoder, *lang.Node, *Step)
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
		value: a.Value.Any(), opts: a.Opts, beside: a.Beside, not: a.Not, unbounded: a.Unbounded, finds: a.Finds, instant: a.Instant, ends: a.Ends,
	}
	if a.Decode != nil {
		def.decode = func(d *decoder, n *lang.Node) any { return a.Decode(d, n) }
	} else {
		def.decode = func(d *decoder, n *lang.Node) any { return a.Value.Read(&d.Decoder, n) }
	}
	if a.Run != nil {
		def.run = func(ctx context.Context, r *Run, s *Step) (Result, error) { return a.Run(ctx, r, s, s.value.(V)) }
	} else {
		def.read = func(r *Run, s *Step) (Call, error) { return a.Read(r, s, s.value.(V)) }
	}
	if a.Check != nil {
		def.check = func(d *decoder, n *lang.Node, s *Step) { a.Check(d, n, s, s.value.(V)) }
	}
	def.keys = func(s *Step, to map[string]bool) {
		if a.Keys != nil {
			a.Keys(s.value.(V), to)
			return
		}
		if k, ok := s.value.(interface{ Keys(map[string]bool) }); ok {
			k.Keys(to)
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

// Options are the options of an action.
type Options struct {
	Timeout         time.Duration // zero: config.actionTimeout
	Frame           []lang.Frame  // the frame to look in, outermost first
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
	opt("timeout", lang.MillisShape, "Time for this action. Default: `config.actionTimeout`."),
	opt("iframe", lang.FrameShape, "Looks inside this iframe, whichever site it is from: a selector, `{\"url\": pattern}` for its address, or `{\"name\": name}`. For nested iframes give an array, outermost first."),
	opt("continueOnError", lang.BoolShape, "Overrides `config.continueOnError` for this action."),
	opt("save", lang.KeyShape, "Saves the result in the data cache under this key; read it as `${key}`. Actions that find an element save the element; use it as `$key`."),
	opt("push", lang.KeyShape, "Appends the result to an array in the data cache."),
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
func (d *decoder) readOptions(n *lang.Node, s *Step) {
	if n.IsNull() { // as of the fields of a request: "not set"
		return
	}
	if !n.IsObject() {
		d.Fault(n, "want an object of options, not %s", n.TypeName())
		return
	}
	known, names := s.def.options()
	for _, f := range n.Fields {
		o, ok := known[f.Key]
		if !ok {
			d.Fault(f, "%s has no option %q%s", s.def.name, f.Key, d.DidYouMean(f.Key, func() []string { return names }))
			continue
		}
		if f.IsNull() {
			continue
		}
		v := o.Shape.Read(&d.Decoder, f)
		switch f.Key {
		case "timeout":
			s.Options.Timeout = v.(time.Duration)
		case "iframe":
			s.Options.Frame = v.([]lang.Frame)
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
			s.Options.own[f.Key] = v
		}
	}
}

// MaxSteps bounds the actions of one task, nested ones included.
const MaxSteps = 1000

// readSteps reads a list of actions.
func (d *decoder) readSteps(n *lang.Node, prefix string, index int) []Step {
	if !n.IsArray() {
		d.Fault(n, "want an array of actions, not %s", n.TypeName())
		return nil
	}
	steps := make([]Step, 0, len(n.Elements))
	for i, a := range n.Elements {
		top := index
		if index < 0 {
			top = i
		}
		if d.steps++; d.steps == MaxSteps+1 {
			d.Fault(n, "want at most %d actions in one task", MaxSteps)
		}
		if d.steps > MaxSteps {
			break
		}
		wrong := d.Wrong()
		s, ok := d.readStep(a, prefix+strconv.Itoa(i), top)
		if d.Wrong() > wrong {
			s.faulty = true
			d.faulty = append(d.faulty, a)
		}
		if ok {
			steps = append(steps, s)
		}
	}
	return steps
}

func (d *decoder) readStep(n *lang.Node, path string, index int) (Step, bool) {
	s := Step{Path: path, Index: index, raw: n.Raw}
	if d.marks != nil {
		d.marks[n] = true
	}
	if !n.IsObject() {
		d.Fault(n, `want an action, an object such as {"click":"#buy"}, not %s`, n.TypeName())
		return s, false
	}
	action, options, beside := d.actionIn(n)
	if action == nil {
		return s, false
	}
	s.def = registry[action.Key]
	if s.def == nil {
		d.Fault(action, "action %q is unknown%s", action.Key, d.DidYouMean(action.Key, ActionNames))
		return s, false
	}
	if d.inLoop && s.def.not&NotInLoop != 0 {
		d.Fault(action, "%s cannot stand in a loop", s.def.name)
	}
	if d.inBranch && s.def.not&NotInBranch != 0 {
		d.Fault(action, "%s cannot stand in then or else", s.def.name)
	}
	if options != nil {
		d.readOptions(options, &s)
	}
	before := d.Wrong()
	d.step, d.beside = &s, beside
	s.value = s.def.decode(d, action)
	if s.def.check != nil && d.Wrong() == before {
		s.def.check(d, action, &s)
	}
	return s, true
}

// keys adds the keys of the data cache that the step reads.
func (s *Step) keys(to map[string]bool) {
	s.def.keys(s, to)
	for _, f := range s.Options.Frame {
		f.Keys(to)
	}
	for _, v := range s.Options.own {
		if k, ok := v.(interface{ Keys(map[string]bool) }); ok {
			k.Keys(to)
		}
	}
}
