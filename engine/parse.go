package engine

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"
)

// Fault is one thing that is wrong with a request.
type Fault struct {
	Path    string `json:"path"` // JSON Pointer into the body
	Message string `json:"message"`
}

// String is the fault with its place in front, where it has one.
func (f Fault) String() string { return strings.TrimPrefix(f.Path+": "+f.Message, ": ") }

// Invalid is the error of [Parse]: every fault of the request.
type Invalid struct {
	Faults []Fault

	task   *Task   // what could be read of it; nil: nothing
	faulty []*node // the steps with faults
}

func (e *Invalid) Error() string {
	all := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		all[i] = f.String()
	}
	return strings.Join(all, "; ")
}

// Parse decodes a request. Its error is an [*Invalid] that names every fault.
// Files are what came with it, for $file:N.
func Parse(body []byte, files []Upload) (*Task, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff")) // editors put it before UTF-8, and RFC 8259 lets readers ignore it
	if !utf8.Valid(body) {
		return nil, &Invalid{Faults: []Fault{{Message: "the body is not valid UTF-8"}}}
	}
	n, fault := readNode(body)
	if fault != nil {
		return nil, &Invalid{Faults: []Fault{*fault}}
	}
	d := &decoder{files: files}
	t := d.readTask(n)
	if bytes.Contains(body, []byte("secret")) || bytes.Contains(body, []byte(`\u`)) {
		d.refuseSecrets(n)
	}
	if len(d.faults) > 0 {
		return nil, &Invalid{d.faults, t, d.faulty}
	}
	t.source = body
	return t, nil
}

// member is a field of an object of the request.
type member struct {
	name string
	read func(*node)
}

// readMembers reads an object whose fields are known; others are faults.
func (d *decoder) readMembers(n *node, what string, members []member) bool {
	if !n.isObject() {
		d.fault(n, "want %s, an object, not %s", what, n.isA())
		return false
	}
next:
	for _, f := range n.fields {
		for _, m := range members {
			if m.name == f.key {
				if !f.isNull() { // null is what many clients send for "not set"
					m.read(f)
				}
				continue next
			}
		}
		d.fault(f, "%s has no field %q%s", what, f.key, d.didYouMean(f.key, func() []string {
			names := make([]string, len(members))
			for i, m := range members {
				names[i] = m.name
			}
			return names
		}))
	}
	return true
}

func (d *decoder) readTask(n *node) *Task {
	t := &Task{Timeout: DefaultTimeout, Config: Config{ActionTimeout: DefaultActionTimeout, ContinueOnError: true}}
	var actions *node
	ok := d.readMembers(n, "the request", []member{
		{"actions", func(f *node) { actions = f }},
		{"workerId", func(f *node) { t.WorkerID = d.nonEmptyString(f, "the id of a worker") }},
		{"timeout", func(f *node) { t.Timeout = millisShape.read(d, f) }},
		{"queueTimeout", func(f *node) {
			t.QueueTimeout = time.Duration(numberShape("a time in milliseconds", 0, float64(Millis(MaxQueueTimeout))).read(d, f)) * time.Millisecond
		}},
		{"config", func(f *node) { d.readConfig(f, &t.Config) }},
		{"session", func(f *node) { t.Session = d.readSession(f) }},
		{"async", func(f *node) { t.Async = boolShape.read(d, f) }},
	})
	if !ok {
		return t
	}
	d.config = t.Config
	if actions != nil {
		t.Steps = d.readSteps(actions, "", -1)
	}
	s := t.Session
	manages := s != nil && (s.Preserve || s.Close || s.Override)
	switch {
	case actions == nil && !manages:
		d.fault(n, `want actions, an array such as [{"open":"https://example.com"}]`)
	case actions != nil && actions.isArray() && len(actions.list) == 0 && !manages:
		d.fault(actions, "want at least one action")
	}
	t.Files = d.files
	t.network = d.network
	return t
}

func (d *decoder) nonEmptyString(n *node, what string) string {
	s, ok := wantString(d, n, what)
	if ok && s == "" {
		d.fault(n, "want %s, not an empty string", what)
	}
	return s
}

func (d *decoder) readConfig(n *node, c *Config) {
	d.readMembers(n, "config", []member{
		{"actionTimeout", func(f *node) { c.ActionTimeout = millisShape.read(d, f) }},
		{"continueOnError", func(f *node) { c.ContinueOnError = boolShape.read(d, f) }},
		{"trace", func(f *node) { c.Trace, c.FullTrace = d.readTrace(f) }},
		{"onFailure", func(f *node) { d.readOnFailure(f, &c.OnFailure) }},
	})
}

// readTrace reads how much a trace tells.
func (d *decoder) readTrace(n *node) (trace, full bool) {
	if n.isString() && n.str == "full" {
		return true, true
	}
	switch {
	case n.isString():
		d.fault(n, `want true, false or "full", not %q%s`, n.str, DidYouMean(n.str, []string{"full", "true", "false"}))
	case n.kind != 't' && n.kind != 'f':
		d.fault(n, `want true, false or "full", not %s`, n.isA())
	}
	return n.kind == 't', false
}

func (d *decoder) readOnFailure(n *node, o *OnFailure) {
	flag := func(to *bool) func(*node) { return func(f *node) { *to = boolShape.read(d, f) } }
	d.readMembers(n, "onFailure", []member{
		{"screenshot", flag(&o.Screenshot)}, {"html", flag(&o.HTML)}, {"console", flag(&o.Console)}, {"network", flag(&o.Network)},
	})
}

func (d *decoder) readSession(n *node) *Session {
	s := &Session{}
	d.readMembers(n, "session", []member{
		{"preserve", func(f *node) { s.Preserve = boolShape.read(d, f) }},
		{"id", func(f *node) { s.ID = d.nonEmptyString(f, "the id of a session") }},
		{"close", func(f *node) { s.Close = boolShape.read(d, f) }},
		{"timeout", func(f *node) {
			s.Timeout = time.Duration(numberShape("a time in milliseconds", float64(Millis(MinSessionTimeout)), float64(Millis(MaxSessionTimeout))).read(d, f)) * time.Millisecond
		}},
		{"override", func(f *node) { s.Override = boolShape.read(d, f) }},
	})
	if s.Close && s.ID == "" {
		d.fault(n, "close needs id, the session to close")
	}
	if s.Close && s.Override {
		d.fault(n, "want close or override, not both")
	}
	if *s == (Session{}) {
		return nil
	}
	return s
}
