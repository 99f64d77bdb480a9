package engine

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"troupe/engine/lang"
)

// Bounds of stored flows.
const (
	MaxFlow       = 256 << 10 // bytes of one, as it is stored
	MaxParameters = 100       // of one flow
	maxFlowBytes  = 4 << 20   // of all flows of one task, each counted as often as it is run
	maxFlowDepth  = 10        // flows in one another
)

// ErrNoFlow says that there is no flow of a name, or no such version of it.
var ErrNoFlow = errors.New("there is no such flow")

// Flows are the stored flows that a task can run. Version 0 is the newest.
type Flows interface {
	Flow(name string, version int) (StoredFlow, error)
	FlowNames() []string // for suggestions
}

// FlowLoader is implemented by [Flows] that want to know how much of them a request reads:
// a few bytes of it can run flows of many.
type FlowLoader interface {
	// Loads is called before the actions of a flow of so many bytes are read, as often as
	// they are. An error ends the reading.
	Loads(bytes int) error
}

// StoredFlow is one version of a flow. It goes to other nodes with the tasks that run
// it.
type StoredFlow struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Source  []byte `json:"source"`
	// Sites bound the pages of all tasks that run the flow; none: it bounds none. They are
	// those of the token that stored it.
	Sites []string `json:"sites,omitempty"`
}

// FlowList is the flows that came with a task. The newest version of a name is the
// highest one.
type FlowList []StoredFlow

// Flow is part of [Flows].
func (l FlowList) Flow(name string, version int) (f StoredFlow, err error) {
	err = ErrNoFlow
	for _, one := range l {
		if one.Name == name && (version == 0 && one.Version >= f.Version || version != 0 && one.Version == version) {
			f, err = one, nil
		}
	}
	return f, err
}

// FlowNames is part of [Flows].
func (l FlowList) FlowNames() (names []string) {
	for _, one := range l {
		names = append(names, one.Name)
	}
	return names
}

// Flow is what a flow says of itself.
type Flow struct {
	Name        string
	Version     int // zero: it is not stored yet
	Description string
	Parameters  []Parameter
	Result      FlowResult

	steps    []Step
	several  bool         // its responses are a list, however many they are
	actions  *lang.Node   // while it is read
	warnings []lang.Fault // of its reading; see [Flow.Review]
}

// Parameter is a value that a flow is given.
type Parameter struct {
	Name        string
	Type        string // one of valueTypes
	Required    bool
	Secret      bool // it is the name of a secret of the account
	Default     []byte
	Description string
}

// FlowResult is what a flow returns.
type FlowResult struct {
	Type        string
	Description string
}

// flowName is what names of flows look like.
const flowName = `[A-Za-z0-9][A-Za-z0-9_.-]{0,63}`

var (
	flowNameOnly  = regexp.MustCompile(`^` + flowName + `$`)
	flowReference = regexp.MustCompile(`^(` + flowName + `)(?:@([1-9][0-9]{0,8}))?$`)
)

// IsFlowName reports whether a flow can have a name.
func IsFlowName(s string) bool { return flowNameOnly.MatchString(s) }

// ParseFlowReference reads a name, or a name and a version as in sign-in@3. Without a
// version it is 0.
func ParseFlowReference(s string) (name string, version int, ok bool) {
	m := flowReference.FindStringSubmatch(s)
	if m == nil {
		return "", 0, false
	}
	version, _ = strconv.Atoi(m[2]) // of digits, or nothing
	return m[1], version, true
}

// Reference is the flow's name with its version.
func (f *Flow) Reference() string {
	if f.Version == 0 {
		return f.Name
	}
	return fmt.Sprintf("%s@%d", f.Name, f.Version)
}

// parameter finds a parameter by its name.
func (f *Flow) parameter(name string) *Parameter {
	for i := range f.Parameters {
		if f.Parameters[i].Name == name {
			return &f.Parameters[i]
		}
	}
	return nil
}

func (f *Flow) parameterNames() (names []string) {
	for _, p := range f.Parameters {
		names = append(names, p.Name)
	}
	return names
}

// ParseFlow reads a flow before it is stored under a name. Its error is an [*Invalid]
// that names every fault, unless other flows cannot be read.
func ParseFlow(name string, body []byte, flows Flows) (*Flow, error) {
	n, no := readBody(body)
	if no != nil {
		return nil, no
	}
	d := newDecoder(nil, flows)
	d.flows.within = []string{name}
	f := d.readFlow(n, name)
	if f.actions != nil {
		f.steps, f.several = d.readFlowSteps(f.actions, "")
		f.actions = nil // a tree takes many times what its text does
		f.warnings = d.Warnings()
	}
	d.RefuseSecrets(n)
	d.refuseReferences()
	if d.flows.err != nil {
		return nil, d.flows.err
	}
	if d.Wrong() > 0 {
		return nil, &Invalid{Faults: d.Faults()}
	}
	return f, nil
}

// Review looks at the flow as a task of its own.
func (f *Flow) Review() Review {
	v := newReviewer(&Task{Steps: f.steps, warnings: f.warnings, Config: Config{ActionTimeout: DefaultActionTimeout, ContinueOnError: true}})
	v.gives(f)
	longest := v.whole(f.steps)
	return Review{Actions: v.actions, Longest: longest.most, Warnings: v.warnings}
}

// refuseReferences makes faults of references of snapshots: they are good in one session.
func (d *decoder) refuseReferences() {
	for n, sel := range d.Referring() {
		ref, _ := sel.Reference()
		d.Fault(n, "%q is good in one session only: want a selector that lasts, such as the one in the steps of a trace", ref)
	}
}

// readFlow reads everything of a flow but its actions.
func (d *decoder) readFlow(n *lang.Node, name string) *Flow {
	f := &Flow{Name: name}
	ok := d.ReadObject(n, "a flow",
		lang.Field("description", func(v *lang.Node) { f.Description = d.readDescription(v) }),
		lang.Field("parameters", func(v *lang.Node) { f.Parameters = d.readParameters(v) }),
		lang.Field("result", func(v *lang.Node) {
			d.ReadObject(v, "result",
				lang.Field("type", func(t *lang.Node) { f.Result.Type = typeShape.Read(&d.Decoder, t) }),
				lang.Field("description", func(t *lang.Node) { f.Result.Description = d.readDescription(t) }),
			)
		}),
		lang.Field("actions", func(v *lang.Node) { f.actions = v }),
	)
	switch {
	case !ok:
	case f.actions == nil:
		d.Fault(n, `want actions, an array such as [{"open":"https://example.com"}]`)
	case f.actions.IsArray() && len(f.actions.Elements) == 0:
		d.Fault(f.actions, "want at least one action")
	}
	return f
}

// maxDescription bounds a description in bytes.
const maxDescription = 2000

func (d *decoder) readDescription(n *lang.Node) string {
	s, _ := d.ReadString(n, "a description")
	if len(s) > maxDescription {
		d.Fault(n, "want a description of at most %d bytes, not %d", maxDescription, len(s))
	}
	return s
}

func (d *decoder) readParameters(n *lang.Node) (all []Parameter) {
	if !n.IsObject() {
		d.Fault(n, `want an object of parameters such as {"email":{"type":"string","required":true}}, not %s`, n.TypeName())
		return nil
	}
	if len(n.Fields) > MaxParameters {
		d.Fault(n, "want at most %d parameters, not %d", MaxParameters, len(n.Fields))
		return nil
	}
	for _, f := range n.Fields {
		lang.CheckKey(&d.Decoder, f, f.Key)
		if strings.Contains(f.Key, ".") {
			d.Fault(f, "want a parameter without a dot in its name: ${a.b} reads what lies in a value")
		}
		all = append(all, d.readParameter(f))
	}
	return all
}

func (d *decoder) readParameter(n *lang.Node) Parameter {
	p := Parameter{Name: n.Key, Type: "string"}
	var given, required *lang.Node
	d.ReadObject(n, "a parameter",
		lang.Field("type", func(v *lang.Node) { p.Type = typeShape.Read(&d.Decoder, v) }),
		lang.Field("required", func(v *lang.Node) { required, p.Required = v, lang.BoolShape.Read(&d.Decoder, v) }),
		lang.Field("secret", func(v *lang.Node) { p.Secret = lang.BoolShape.Read(&d.Decoder, v) }),
		lang.Field("default", func(v *lang.Node) { given = v }),
		lang.Field("description", func(v *lang.Node) { p.Description = d.readDescription(v) }),
	)
	switch {
	case p.Secret && p.Type != "string":
		d.Fault(n, "want the type string for a secret, not %s", p.Type)
	case p.Secret && given != nil:
		d.Fault(given, "a secret has no default")
	case p.Required && given != nil:
		d.Fault(required, "want required or a default, not both")
	case given != nil && !isOfType(given.Kind, p.Type):
		d.Fault(given, "want a default that is %s, not %s", typeWords[p.Type], given.TypeName())
	case given != nil:
		p.Default = given.JSON()
	}
	return p
}
