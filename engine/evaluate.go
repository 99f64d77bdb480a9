package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"troupe/engine/browser"
)

var _ = define(Action[Text]{
	Name: "evaluate", Group: "Advanced",
	Doc: "Runs JavaScript as the body of an async function in the page's own world and gives what it returns, as JSON. " +
		"The script sees the data cache as the read-only object `saved`; use it rather than `${key}` for whatever was read from a page, so that text of one site does not become code on another.",
	Unaided: true,
	Value:   nonEmpty("script"),
	Result:  "any JSON value",
	Example: `{"evaluate":"return document.title"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v Text) (Result, error) {
		script, err := v.ExpandScript(r.cache)
		if err != nil {
			return nil, err
		}
		var saved json.RawMessage
		if strings.Contains(script, "saved") {
			b, err := r.cache.MarshalJSON()
			if err != nil {
				return nil, err
			}
			if len(b) > MaxResult {
				return nil, Problemf(CodeInvalidValue, "the data cache has %d bytes, and a script that sees it as saved can be given %d", len(b), MaxResult)
			}
			saved = b
		}
		place, err := r.place(s)
		if err != nil {
			return nil, err
		}
		t, err := r.tab(ctx)
		if err != nil {
			return nil, err
		}
		// What came before may be taking the page elsewhere: the script belongs
		// to where it goes.
		switch {
		case place != nil:
			_, err = r.call(ctx, s, Call{Fn: "frame"})
		case r.input != sentNothing || r.script && t.Loading():
			_, err = r.call(ctx, s, Call{Fn: "settled"})
		}
		if err != nil {
			return nil, err
		}
		r.script = true
		sctx, cancel := r.strict(ctx)
		defer cancel()
		res, err := t.Evaluate(sctx, script, saved, place != nil)
		switch {
		case errors.Is(err, browser.ErrNewDocument):
			// The script has left its page; that is no reason to run it again
			// on the next one.
			return null, nil
		case errors.Is(err, browser.ErrNoFrameWorld):
			return nil, Problemf(CodeElementNotFound, "Iframe not found: %q has no document to run a script in", place[len(place)-1].As)
		case errors.Is(err, browser.ErrTooLong):
			return nil, Problemf(CodeInvalidValue, "the script's value has more than %d bytes, which are the limit", MaxResult)
		case err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			return nil, Problemf(CodeTimeout, "The script did not end within %dms", Millis(r.limit))
		}
		return res, err
	},
})
