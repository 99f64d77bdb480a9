package engine

import (
	"context"
	"errors"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[lang.Pair[*lang.Selector, lang.Text]]{
	Name: "press", Group: "Interaction",
	Doc: "Presses a key: a name from `KeyboardEvent.key`, a character, or a combination joined with `+` such as `Control+A`. The order of the modifiers does not matter. " +
		"With a selector the element gets the focus first; with `null` the key goes to the active element. " +
		"A warning says if the element does not take the focus, or if a text field does not accept a character. Combinations that paste are refused if accounts share a browser.",
	Value: lang.PairShape(focusShape, lang.Shape[lang.Text]{
		Words: "key", Schema: `{"type":"string","minLength":1}`,
		Read: func(d *lang.Decoder, n *lang.Node) lang.Text {
			s, ok := d.ReadString(n, "a key")
			t := lang.ParseText(s)
			if ok && t.Fixed() {
				name, _ := t.Expand(nil)
				var unknown browser.UnknownKeyError
				if _, err := browser.ParseChord(name); errors.As(err, &unknown) {
					d.Fault(n, "%s%s", err, d.DidYouMean(string(unknown), browser.KeyNames))
				} else if err != nil {
					d.Fault(n, "%s", err)
				}
			}
			return t
		},
	}),
	Example: `{"press":["#q","Enter"]}`,
	Keys:    focusKeys,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Pair[*lang.Selector, lang.Text]) (Result, error) {
		name, err := v.B.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		chord, err := browser.ParseChord(name)
		if err != nil {
			return nil, Problemf(CodeInvalidValue, "%s", err)
		}
		var f ready
		switch {
		case v.A != nil:
			r.typings++
			err = r.page.focusTold(ctx, *v.A, func() error {
				return r.page.ask(ctx, s, "focus", *v.A, map[string]any{"key": chord.Writes(), "id": r.typings}, &f)
			})
		case r.page.input == sentAct || r.page.script:
			// The page gets the event of what a key did, such as a caret that moved, only
			// in a task of its own; and this key belongs to the page it led to.
			_, err = r.page.call(ctx, s, Call{Fn: "settled"})
		}
		if err != nil {
			return nil, err
		}
		t, err := r.page.tab(ctx)
		if err != nil {
			return nil, err
		}
		pressed := chord.With(&t.Input)
		if err := r.mayPaste(pressed); err != nil {
			return nil, err
		}
		r.page.input = sentAct
		t.Input.ExpectKeys()
		err = t.Input.Press(ctx, chord)
		if err == nil && pressed.Opens() {
			t.Script.Expecting(ctx)
		}
		if err != nil || !f.Watched {
			return nil, err
		}
		if taken, known := t.Input.KeysTaken(ctx, r.typings); known && !taken {
			r.warn("%q did not accept the key %q", v.A.String(), chord.Writes())
		}
		return nil, nil
	},
})

// focusShape is the selector of what gets the focus first, or null.
var focusShape = lang.Shape[*lang.Selector]{
	Words: "selector or null", Schema: `{"anyOf":[` + lang.SelectorShape.Schema + `,{"type":"null"}]}`,
	Read: func(d *lang.Decoder, n *lang.Node) *lang.Selector {
		if n.IsNull() {
			return nil
		}
		s := lang.SelectorShape.Read(d, n)
		return &s
	},
}

// focusKeys are the keys of a pair of focusShape and a text.
func focusKeys(v lang.Pair[*lang.Selector, lang.Text], to map[string]bool) {
	if v.A != nil {
		v.A.Keys(to)
	}
	v.B.Keys(to)
}
