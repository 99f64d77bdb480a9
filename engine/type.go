package engine

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"troupe/engine/lang"
)

var _ = define(Action[lang.Text]{
	Name: "type", Group: "Interaction",
	Doc: "Types a text into whatever has the focus, with real key events for each character. A line break is the Enter key. It clears nothing and does not check what becomes of the text; `fill` does both for a field. " +
		"A warning says if nothing has the focus: the keys go to the page then, as shortcuts do.",
	Value:   lang.TextShape("text"),
	Opts:    []Opt{opt("delay", lang.PauseShape("a time in milliseconds"), "Time between two characters. Default: none.")},
	Example: `{"if":{"condition":"#user","then":[{"focus":"#user"},{"type":"ada"}]}}`, Page: "/login",
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Text) (Result, error) {
		text, err := v.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		text = strings.ReplaceAll(text, "\r\n", "\n") // both together are the end of one line
		if err := r.warnUnfocused(ctx, s); err != nil {
			return nil, err
		}
		t, err := r.page.tab(ctx)
		if err != nil {
			return nil, err
		}
		var pause func(context.Context) error
		if delay := own(s, "delay", time.Duration(0)); delay > 0 {
			pause = func(ctx context.Context) error {
				select {
				case <-time.After(delay):
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
		}
		r.page.input = sentAct
		ctx, cancel := r.page.strict(ctx)
		defer cancel()
		typed, err := t.Input.Type(ctx, text, false, pause)
		if all := utf8.RuneCountInString(text); typed > 0 && errors.Is(err, context.DeadlineExceeded) {
			return nil, Problemf(CodeTimeout, "Only %d of %d %s typed within %dms: a longer text needs a longer timeout", typed, all, Plural(all, "character was", "characters were"), Millis(r.limit))
		}
		return nil, err
	},
})

// warnUnfocused warns if keys would go to no element.
func (r *Run) warnUnfocused(ctx context.Context, s *Step) error {
	v, err := r.page.call(ctx, s, Call{Fn: "hasFocus"})
	if err != nil {
		return err
	}
	if string(v) == "null" {
		r.warn("nothing has the focus: the keys go to the page")
	}
	return nil
}
