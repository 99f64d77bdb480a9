package engine

import (
	"context"
	"errors"

	"troupe/engine/browser"
)

var _ = define(Action[Pair[*Selector, Text]]{
	Name: "press", Group: "Interaction",
	Doc: "Presses a key, by its name in `KeyboardEvent.key` or as a character, or a combination joined with `+` such as `Control+A`; the order of the modifiers does not matter. " +
		"With a selector the element gets the focus first; with `null` the key goes to the active element. " +
		"Where the element does not take the focus, or a text field takes nothing of a character, a warning says so. Combinations that paste are refused where accounts share a browser.",
	Value: pairShape(Shape[*Selector]{
		Words: "selector or null", Schema: `{"anyOf":[` + selectorShape.Schema + `,{"type":"null"}]}`,
		read: func(d *decoder, n *node) *Selector {
			if n.isNull() {
				return nil
			}
			s := selectorShape.read(d, n)
			return &s
		},
	}, Shape[Text]{
		Words: "key", Schema: `{"type":"string","minLength":1}`,
		read: func(d *decoder, n *node) Text {
			s, ok := wantString(d, n, "a key")
			t := parseText(s)
			if ok && t.Fixed() {
				name, _ := t.Expand(nil)
				var unknown browser.UnknownKeyError
				if _, err := browser.ParseChord(name); errors.As(err, &unknown) {
					d.fault(n, "%s%s", err, d.didYouMean(string(unknown), browser.KeyNames))
				} else if err != nil {
					d.fault(n, "%s", err)
				}
			}
			return t
		},
	}),
	Example: `{"press":["#q","Enter"]}`,
	Keys: func(v Pair[*Selector, Text], to map[string]bool) {
		if v.A != nil {
			v.A.keys(to)
		}
		v.B.keys(to)
	},
	Run: func(ctx context.Context, r *Run, s *Step, v Pair[*Selector, Text]) (Result, error) {
		name, err := v.B.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		chord, err := browser.ParseChord(name)
		if err != nil {
			return nil, Problemf(CodeInvalidValue, "%s", err)
		}
		if r.engine.Mixed && chord.Pastes() {
			return nil, Problemf(CodeInvalidValue, "%s pastes, and accounts share the clipboard here (--share-browsers-between-accounts): fill puts text into a field", name)
		}
		var f ready
		switch {
		case v.A != nil:
			r.typings++
			err = r.ask(ctx, s, "focus", *v.A, map[string]any{"key": chord.Writes(), "id": r.typings}, &f)
		case r.input == sentAct || r.script:
			// The page is told of what a key did, as of a caret that moved, only
			// in a task of its own; and this key belongs to the page it led to.
			_, err = r.call(ctx, s, Call{Fn: "settled"})
		}
		if err != nil {
			return nil, err
		}
		t, err := r.tab(ctx)
		if err != nil {
			return nil, err
		}
		r.input = sentAct
		t.Attend()
		if err := t.Press(ctx, chord); err != nil || !f.Watched {
			return nil, err
		}
		if taken, known := t.Taken(ctx, r.typings); known && !taken {
			r.warn("%q took nothing of the key %q", v.A.String(), chord.Writes())
		}
		return nil, nil
	},
})
