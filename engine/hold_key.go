package engine

import (
	"context"
	"errors"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// keyShape is one key.
var keyShape = lang.Shape[*browser.Chord]{
	Words: "key", Schema: `{"type":"string","minLength":1}`,
	Read: func(d *lang.Decoder, n *lang.Node) *browser.Chord {
		name, ok := d.ReadString(n, "a key")
		if !ok {
			return nil
		}
		c, err := browser.ParseChord(name)
		var unknown browser.UnknownKeyError
		switch {
		case errors.As(err, &unknown):
			d.Fault(n, "%s%s", err, d.DidYouMean(string(unknown), browser.KeyNames))
		case err != nil:
			d.Fault(n, "%s", err)
		case !c.IsOneKey():
			d.Fault(n, "want one key, not %q: hold one after the other", name)
		}
		return c
	},
}

var _ = define(Action[*browser.Chord]{
	Name: "keyDown", Group: "Advanced",
	Doc: "Presses a key and keeps it down: a name from `KeyboardEvent.key` or a character, as for `press`. It stays down for the actions that follow, until `keyUp` or the end of the list. " +
		"Clicks, the mouse and `press` carry the modifiers that are held; `fill`, `type` and `paste` write their text as it is. A key that is down already repeats.",
	Value:   keyShape,
	Example: `{"keyDown":"Shift"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v *browser.Chord) (Result, error) {
		return nil, r.holdKey(ctx, s, v)
	},
})

var _ = define(Action[*browser.Chord]{
	Name: "keyUp", Group: "Advanced",
	Doc:     "Lets a key go that `keyDown` keeps down. A warning says if it was not down.",
	Value:   keyShape,
	Example: `{"if":{"condition":"h1","then":[{"keyDown":"Shift"},{"press":[null,"ArrowRight"]},{"keyUp":"Shift"}]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v *browser.Chord) (Result, error) {
		return nil, r.releaseKey(ctx, s, v)
	},
})

// holdKey presses a key and keeps it down.
func (r *Run) holdKey(ctx context.Context, s *Step, key *browser.Chord) error {
	t, err := r.settledTab(ctx, s)
	if err != nil {
		return err
	}
	pressed := key.With(&t.Input)
	if err := r.mayPaste(pressed); err != nil {
		return err
	}
	r.page.input = sentAct
	if err := t.Input.HoldKey(ctx, key); err != nil {
		return err
	}
	if pressed.Opens() {
		t.Script.Expecting(ctx)
	}
	return nil
}

// releaseKey lets a key go.
func (r *Run) releaseKey(ctx context.Context, s *Step, key *browser.Chord) error {
	t, err := r.settledTab(ctx, s)
	if err != nil {
		return err
	}
	r.page.input = sentAct
	was, err := t.Input.ReleaseKey(ctx, key)
	if err == nil && !was {
		r.warn("the key %s was not down", key.Name())
	}
	return err
}

// settledTab is the tab, once what came before has had its effect: what is sent now belongs
// to the page that it led to.
func (r *Run) settledTab(ctx context.Context, s *Step) (*browser.Tab, error) {
	if r.page.input == sentAct || r.page.script {
		if _, err := r.page.call(ctx, s, Call{Fn: "settled"}); err != nil {
			return nil, err
		}
	}
	return r.page.tab(ctx)
}

// mayPaste refuses a combination that pastes where accounts share the clipboard.
func (r *Run) mayPaste(c *browser.Chord) error {
	if r.engine.Mixed && c.Pastes() {
		return Problemf(CodeInvalidValue, "%s pastes, and accounts share the clipboard here (--share-browsers-between-accounts): fill puts text into a field", c.Name())
	}
	return nil
}

// letGo lets go what the list holds: nothing stays down when it is over.
func (r *Run) letGo(ctx context.Context) {
	for _, t := range r.tabs.Tabs() {
		if t.Input.Holds() {
			_ = t.Input.LetGo(ctx) // a page that is gone holds nothing
			r.page.input = sentAct
		}
	}
}
