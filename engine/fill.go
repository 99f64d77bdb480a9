package engine

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"troupe/engine/browser"
)

var _ = define(Action[Pair[Selector, Text]]{
	Name: "fill", Group: "Interaction",
	Doc: "Types a text into a field, with real key events for each character. What was in the field is cleared first unless `clear` is false; then the text is appended. " +
		"Fields whose value is chosen rather than typed (date, time, month, week, color, range) get their value set, with `input` and `change` events. Editable elements work as fields do; of a label, its control is filled. " +
		"`${secret:NAME}` in the text stands for a secret of the account. It is put into fields of the secret's own origins only, all at once and without key events, and is masked in everything that the task gives.",
	Value:   pairShape(selectorShape, secretText("text")),
	Opts:    []Opt{opt("clear", boolShape, "Whether to clear the field first. Default: true.")},
	Example: `{"fill":["#user","ada"]}`, Page: "/login",
	Keys: pairKeys,
	Run: func(ctx context.Context, r *Run, s *Step, v Pair[Selector, Text]) (Result, error) {
		filled, origins, err := r.secrets(v.B)
		if err != nil {
			return nil, err
		}
		text, err := filled.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		if origins != nil {
			return nil, r.fillSecret(ctx, s, v.A, text, origins, own(s, "clear", true))
		}
		return nil, r.fill(ctx, s, v.A, text, own(s, "clear", true))
	},
})

func pairKeys(v Pair[Selector, Text], to map[string]bool) {
	v.A.keys(to)
	v.B.keys(to)
}

// ready says how a field is to be filled.
type ready struct {
	Set   bool           `json:"set"` // done: its value was set
	Click *browser.Point `json:"click"`
	Erase bool           `json:"erase"`
	End   bool           `json:"end"`  // go to the end first
	Keys  bool           `json:"keys"` // what is there can be marked by keys only
	Slow  bool           `json:"slow"` // the page does something between two characters
}

// fillSecret puts a secret into a field of one of its origins. It is not typed
// key by key, for the keys go to whatever has the focus when they arrive, and a
// page can hand that to a frame of another site between two of them. The page
// script looks at the origin and puts the whole text in at one moment; it is
// handed the text only after it has found the origin right.
func (r *Run) fillSecret(ctx context.Context, s *Step, v Selector, text string, origins []string, clear bool) error {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	ask := func(text string, clicked bool) (f ready, err error) {
		err = r.ask(ctx, s, "fill", v, map[string]any{"text": text, "clear": clear, "clicked": clicked, "origins": origins}, &f)
		return f, err
	}
	f, err := ask("", false)
	if err != nil {
		return err
	}
	clicked := f.Click != nil
	if clicked {
		t, err := r.tabs.Tab(ctx)
		if err != nil {
			return err
		}
		if err := t.Click(ctx, *f.Click); err != nil {
			return err
		}
		r.input = sentAct
	}
	_, err = ask(text, clicked)
	r.input = sentAct
	return err
}

// longestCode is how many characters of a text are typed into boxes for one each:
// longer texts are no codes.
const longestCode = 32

func (r *Run) fill(ctx context.Context, s *Step, v Selector, text string, clear bool) error {
	var f ready
	ask := func(clicked bool) error {
		f = ready{}
		return r.ask(ctx, s, "fill", v, map[string]any{"text": text, "clear": clear, "clicked": clicked}, &f)
	}
	if err := ask(false); err != nil {
		return err
	}
	t, err := r.tabs.Tab(ctx)
	if err != nil {
		return err
	}
	if f.Click != nil { // it takes the focus by a click only
		if err := t.Click(ctx, *f.Click); err != nil {
			return err
		}
		if err := ask(true); err != nil {
			return err
		}
	}
	r.input = sentText
	if f.Set || strings.ContainsAny(text, "\r\n") { // a new line submits a form
		r.input = sentAct
	}
	switch {
	case f.Set:
		return nil
	case f.Keys:
		for _, c := range []*browser.Chord{browser.DocumentEnd, browser.All, browser.Backspace} {
			if err := t.Press(ctx, c); err != nil {
				return err
			}
			if !f.Erase {
				break
			}
		}
	case f.End:
		if err := t.Press(ctx, browser.End); err != nil {
			return err
		}
	case f.Erase:
		// What is marked is gone with the first character; the key makes it
		// gone too when there is no character.
		if err := t.Press(ctx, browser.Backspace); err != nil {
			return err
		}
	}
	text = strings.ReplaceAll(text, "\r\n", "\n") // both together are the end of one line
	var pause func(context.Context) error
	if f.Slow && utf8.RuneCountInString(text) <= longestCode {
		pause = func(ctx context.Context) error {
			_, err := r.call(ctx, s, Call{Fn: "drawn"})
			r.input = sentText
			return err
		}
	}
	typed, err := t.Type(ctx, text, pause)
	if typed > 0 && errors.Is(err, context.DeadlineExceeded) {
		return Problemf(CodeTimeout, "Only %d of %d characters were typed into %q within %dms: a longer text wants a longer timeout", typed, utf8.RuneCountInString(text), v.String(), Millis(r.limit))
	}
	return err
}
