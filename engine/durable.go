package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// DurableSelector stands for a reference of a snapshot in lists that run again: role and
// name, a test id, or another selector that matched the element alone.
type DurableSelector struct {
	Selector json.RawMessage   `json:"selector"`
	Frames   []json.RawMessage `json:"iframe,omitempty"` // the way to its frame, outermost first
}

// durable finds selectors for the references of a step, while their elements are there.
// Only a trace asks for them.
func (r *Run) durable(ctx context.Context, s *Step) map[string]DurableSelector {
	if !r.task.Config.Trace || r.refs.free() == 1 {
		return nil
	}
	keys := map[string]bool{}
	s.keys(keys)
	var out map[string]DurableSelector
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !lang.IsReference(key) {
			continue
		}
		if d, ok := r.durableOf(ctx, key, lang.MaxFrames); ok {
			if out == nil {
				out = map[string]DurableSelector{}
			}
			out[key] = d
		}
	}
	return out
}

// durableOf finds the selector of one reference, and those of the frames around it.
func (r *Run) durableOf(ctx context.Context, ref string, deep int) (d DurableSelector, ok bool) {
	pc, tab := &r.page, r.tabs.Current()
	way, err := r.refs.way(ref, tab)
	if err != nil || tab == nil || deep < 0 {
		return d, false
	}
	for i, p := range way {
		switch sel := p.Sel.(type) {
		case string:
			b, _ := json.Marshal(sel)
			d.Frames = append(d.Frames, b)
		default:
			if !lang.IsReference(p.Ref) {
				return d, false
			}
			f, ok := r.durableOf(ctx, p.Ref, deep-1)
			if !ok {
				return d, false
			}
			if i == 0 || len(f.Frames) >= len(d.Frames) {
				d.Frames = f.Frames
			}
			d.Frames = append(slices.Clone(d.Frames), f.Selector)
		}
	}
	at, rest, place := pc.at, pc.rest, pc.place
	defer func() { pc.at, pc.rest, pc.place = at, rest, place }()
	ctx, cancel := context.WithTimeout(ctx, elsewhereTime+pc.run.patience)
	defer cancel()
	arg := map[string]any{"refs": []string{ref}}
	if len(way) > 0 {
		arg["in"] = slices.Clone(way)
	}
	reply, err := r.askOnce(ctx, tab, arg)
	if err != nil || reply.Code != "" {
		return d, false
	}
	var found []*DurableSelector
	if json.Unmarshal(reply.Value, &found) != nil || len(found) != 1 || found[0] == nil {
		return d, false
	}
	d.Selector = json.RawMessage(r.mask.JSON(Result(found[0].Selector)))
	for _, f := range found[0].Frames {
		d.Frames = append(d.Frames, json.RawMessage(r.mask.JSON(Result(f))))
	}
	return d, true
}

func (r *Run) askOnce(ctx context.Context, tab *browser.Tab, arg map[string]any) (*browser.Reply, error) {
	return r.page.follow(ctx, tab, "durable", arg)
}

// Durable rewrites a list of actions, or one action, so that it holds no references of
// snapshots: each becomes its selector, and actions whose element is in a frame get the
// way to it as options.iframe.
func Durable(actions json.RawMessage, selectors map[string]DurableSelector) (json.RawMessage, error) {
	list := bytes.TrimSpace(actions)
	single := len(list) > 0 && list[0] == '{'
	body := append([]byte(`{"actions":`), list...)
	if single {
		body = append(append([]byte(`{"actions":[`), list...), ']')
	}
	n, no := readBody(append(body, '}'))
	if no != nil {
		return nil, no
	}
	d := newDecoder(nil, nil)
	d.marks = map[*lang.Node]bool{}
	d.readTask(n) // flows and files of the list are unknown here: faults of it are for others
	w := rewriting{instead: map[*lang.Node][]byte{}, more: map[*lang.Node][]lang.Addition{}, frames: map[*lang.Node][]json.RawMessage{}}
	for node, sel := range d.Referring() {
		if err := w.replace(d, node, sel, selectors); err != nil {
			return nil, err
		}
	}
	for step, frames := range w.frames {
		w.setFrames(step, frames)
	}
	whole := n.Field("actions")
	if single {
		whole = whole.Elements[0]
	}
	return whole.Rewrite(w.instead, w.more), nil
}

// rewriting is how a list is written anew.
type rewriting struct {
	instead map[*lang.Node][]byte
	more    map[*lang.Node][]lang.Addition
	frames  map[*lang.Node][]json.RawMessage // the way that a step gets
}

// replace puts a selector in the place of one that begins with a reference.
func (w *rewriting) replace(d *decoder, n *lang.Node, sel lang.Selector, selectors map[string]DurableSelector) error {
	ref, below := sel.Reference()
	to, ok := selectors[ref]
	if !ok {
		return fmt.Errorf("%s: there is no selector for %q that would last", n.Path(), ref)
	}
	text := []byte(to.Selector)
	if below != "" {
		b, _ := json.Marshal(below)
		text = fmt.Appendf(nil, `{"selector":%s,"within":%s}`, b, to.Selector)
	}
	step := n
	for step != nil && !d.marks[step] {
		step = step.Parent()
	}
	if step == nil {
		return fmt.Errorf("%s: no action uses %q", n.Path(), ref)
	}
	if options := step.Field("options"); options != nil {
		switch frame := options.Field("iframe"); {
		case frame == nil:
		case frame == n: // it is itself the way to a frame
			w.instead[n] = joinedArray(append(slices.Clone(to.Frames), text))
			return nil
		case n.Parent() == frame && frame.IsArray():
			if frame.Elements[0] == n && len(to.Frames) > 0 {
				all := append(slices.Clone(to.Frames), text)
				for _, e := range frame.Elements[1:] {
					all = append(all, e.JSON())
				}
				w.instead[frame] = joinedArray(all)
				return nil
			}
			w.instead[n] = text
			return nil
		}
	}
	w.instead[n] = text
	if have, ok := w.frames[step]; ok && !slices.EqualFunc(have, to.Frames, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		return fmt.Errorf("%s: the references of one action are in different frames", step.Path())
	}
	w.frames[step] = to.Frames
	return nil
}

// setFrames makes a way the options.iframe of a step.
func (w *rewriting) setFrames(step *lang.Node, frames []json.RawMessage) {
	options := step.Field("options")
	var frame *lang.Node
	if options != nil {
		frame = options.Field("iframe")
	}
	switch {
	case frame != nil && len(frames) == 0:
		w.instead[frame] = []byte("null") // a reference is where it is, whatever the options say
	case frame != nil:
		w.instead[frame] = joinedArray(frames)
	case len(frames) == 0:
	case options != nil && options.IsObject():
		w.more[options] = append(w.more[options], lang.Addition{Name: "iframe", Value: joinedArray(frames)})
	default:
		w.more[step] = append(w.more[step], lang.Addition{Name: "options", Value: fmt.Appendf(nil, `{"iframe":%s}`, joinedArray(frames))})
	}
}

// joinedArray is one value as it is, or several as an array.
func joinedArray(all []json.RawMessage) []byte {
	if len(all) == 1 {
		return all[0]
	}
	return join(all)
}
