package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"troupe/engine/lang"
)

// flowReader finds the flows of one request. Each version is read once, and its actions
// again for each action that runs it: they have places of their own.
type flowReader struct {
	from   Flows // nil: there are none
	known  map[string]*storedFlow
	used   []StoredFlow
	within []string // the flows that are being read, outermost first
	bytes  int
	err    error // why flows cannot be read; nil: they can
}

// storedFlow is a flow as it was found, or why it cannot be used.
type storedFlow struct {
	*Flow
	source []byte // its actions are read in it whenever it is run: their tree takes many times as much
	loaded bool   // it counts for the request already, and nothing runs it yet
	fault  string
}

// load lets whoever wants to know count a flow before it is read: its tree takes many times
// as much as its text. False: the flow cannot be read.
func (r *flowReader) load(f *storedFlow) bool {
	if f.loaded {
		f.loaded = false
		return r.err == nil
	}
	if l, ok := r.from.(FlowLoader); ok && r.err == nil {
		r.err = l.Loads(len(f.source))
	}
	return r.err == nil
}

// findFlow finds a flow and reads all but its actions. Nil says that n has got a fault.
func (d *decoder) findFlow(n *lang.Node, name string, version int) *storedFlow {
	r := d.flows
	written := n.Text
	f, ok := r.known[written]
	if !ok {
		if f = d.lookUpFlow(written, name, version); r.known == nil {
			r.known = map[string]*storedFlow{}
		}
		r.known[written] = f
	}
	if f.fault != "" {
		d.Fault(n, "%s", f.fault)
		return nil
	}
	return f
}

// lookUpFlow looks a flow up that is not known yet.
func (d *decoder) lookUpFlow(written, name string, version int) *storedFlow {
	r := d.flows
	no := func(format string, args ...any) *storedFlow { return &storedFlow{fault: fmt.Sprintf(format, args...)} }
	if r.from == nil {
		return no("there is no flow %q: no flows are stored here", written)
	}
	if r.err != nil { // nothing more is read
		return no("the flow %q cannot be read", written)
	}
	found, err := r.from.Flow(name, version)
	switch {
	case errors.Is(err, ErrNoFlow):
		if _, err := r.from.Flow(name, 0); version != 0 && err == nil {
			return no("there is no flow %q: this version of it is not stored", written)
		}
		return no("there is no flow %q%s", written, d.DidYouMean(name, r.from.FlowNames))
	case err != nil:
		r.err = errors.Join(r.err, fmt.Errorf("read the flow %q: %w", written, err))
		return no("the flow %q cannot be read", written)
	}
	f := &storedFlow{source: found.Source}
	if !r.load(f) {
		return no("the flow %q cannot be read", written)
	}
	f.loaded = true
	tree, invalid := readBody(found.Source)
	if invalid == nil {
		outer := d.Decoder
		d.Decoder = lang.Decoder{}
		f.Flow = d.readFlow(tree, name)
		f.actions = nil
		if d.Wrong() > 0 {
			invalid = &Invalid{Faults: d.Faults()}
		}
		d.Decoder = outer
	}
	if invalid != nil {
		return no("the flow %q is not valid: %s", written, invalid.Faults[0])
	}
	f.Version = found.Version
	if !slices.ContainsFunc(r.used, func(s StoredFlow) bool { return s.Name == name && s.Version == found.Version }) {
		r.used = append(r.used, found)
	}
	return f
}

// enterFlow reads the actions of a flow where n runs it. What is wrong with them there
// is a fault of n.
func (d *decoder) enterFlow(n *lang.Node, f *storedFlow, s *Step) (steps []Step, several bool) {
	r := d.flows
	switch around := strings.Join(append(slices.Clone(r.within), f.Name), " > "); {
	case slices.Contains(r.within, f.Name):
		d.Fault(n, "a flow cannot run itself: %s", around)
		return nil, false
	case len(r.within) == maxFlowDepth:
		d.Fault(n, "want at most %d flows in one another, not more: %s", maxFlowDepth, around)
		return nil, false
	}
	if r.bytes += len(f.source); r.bytes > maxFlowBytes {
		d.Fault(n, "the flows of a task have at most %d bytes together, each counted as often as it is run", maxFlowBytes)
		return nil, false
	}
	if !r.load(f) {
		d.Fault(n, "the flow %q cannot be read", f.Reference())
		return nil, false
	}
	tree, invalid := readBody(f.source)
	if invalid != nil { // it was read before
		r.err = errors.Join(r.err, fmt.Errorf("read the flow %q again: %w", f.Reference(), invalid))
		return nil, false
	}
	outer, faulty := d.Decoder, d.faulty
	d.Decoder, r.within = lang.Decoder{}, append(r.within, f.Name)
	steps, several = d.readFlowSteps(tree.Field("actions"), s.Path+"/run/actions/")
	inner := d.Faults()
	d.Decoder, d.faulty, r.within = outer, faulty, r.within[:len(r.within)-1]
	for _, fault := range inner {
		d.Fault(n, "the flow %q cannot run here: %s", f.Reference(), fault)
	}
	return steps, several
}

// readFlowSteps reads the actions of a flow. They are a list of their own: no loop
// around the flow is theirs, and neither are the files of the request.
func (d *decoder) readFlowSteps(n *lang.Node, prefix string) (steps []Step, several bool) {
	files, leavable, blocks, before := d.files, d.leavable, d.blocks, d.severalResponses
	d.files, d.leavable, d.blocks, d.severalResponses = nil, false, 0, false
	index := -1
	if d.step != nil && prefix != "" {
		index = d.step.Index
	}
	steps = d.readSteps(n, prefix, index)
	several = d.severalResponses
	d.files, d.leavable, d.blocks, d.severalResponses = files, leavable, blocks, before
	return steps, several
}
