package engine

import (
	"context"
	"errors"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[lang.Pair[*lang.Selector, lang.Text]]{
	Name: "paste", Group: "Interaction",
	Doc: "Pastes a text, as Control+V does: the page gets a trusted `paste` event with it, and fields and editors insert it in place of what is selected. With a selector the element gets the focus first; with `null` the text goes to the active element. " +
		"The text goes through the browser's clipboard and stays there until the task ends. The action is refused if accounts share a browser.",
	Value:   lang.PairShape(focusShape, lang.TextShape("text")),
	Opts:    []Opt{opt("html", lang.NonEmptyShape("HTML"), "The text as HTML, for editors that take over what is bold or a list.")},
	Example: `{"paste":["#q","hello"]}`,
	Keys:    focusKeys,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Pair[*lang.Selector, lang.Text]) (Result, error) {
		if r.engine.Mixed {
			return nil, Problemf(CodeInvalidValue, "paste uses the clipboard, which accounts share here (--share-browsers-between-accounts): fill and type put text into a page")
		}
		text, err := v.B.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		var html *string
		if form, ok := s.Options.own["html"].(lang.Text); ok {
			full, err := form.Expand(r.cache)
			if err != nil {
				return nil, err
			}
			html = &full
		}
		if v.A != nil {
			err = r.page.focusTold(ctx, *v.A, func() error { return r.page.ask(ctx, s, "focus", *v.A, map[string]any{}, nil) })
		} else {
			err = r.warnUnfocused(ctx, s)
		}
		if err != nil {
			return nil, err
		}
		t, err := r.page.tab(ctx)
		if err != nil {
			return nil, err
		}
		r.page.input = sentAct
		err = t.Paste(ctx, text, html)
		if errors.Is(err, browser.ErrNoClipboard) {
			return nil, Problemf(CodeInvalidValue, "The browser does not let this page use the clipboard: fill and type put text into it")
		}
		return nil, err
	},
})
