package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf16"

	"troupe/engine/browser"
	"troupe/engine/lang"
	"troupe/engine/mask"
)

var _ = define(Action[lang.Text]{
	Name: "evaluate", Group: "Advanced",
	Doc: "Runs JavaScript as the body of an async function in the page's own world and returns its value as JSON. " +
		"The script sees the data cache as the read-only object `saved`. Use it instead of `${key}` for anything read from a page, so that text from one site does not become code on another.",
	Value:   lang.NonEmptyShape("script"),
	Result:  "any JSON value",
	Example: `{"evaluate":"return document.title"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Text) (Result, error) {
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
		place, err := r.page.way(r.page.frames(s, nil))
		if err != nil {
			return nil, err
		}
		t, err := r.page.tab(ctx)
		if err != nil {
			return nil, err
		}
		// What came before may be taking the page elsewhere: the script belongs
		// to where it goes.
		in := &t.Script
		switch {
		case place != nil:
			if _, err = r.page.call(ctx, s, Call{Fn: "frame"}); err == nil {
				in = r.page.at
			}
		case r.page.input != sentNothing || r.page.script && t.Navigation.Loading():
			_, err = r.page.call(ctx, s, Call{Fn: "settled"})
		}
		if err != nil {
			return nil, err
		}
		r.page.script = true
		sctx, cancel := r.page.strict(ctx)
		defer cancel()
		res, err := in.Evaluate(sctx, script, saved, place != nil)
		var failed *browser.ScriptError
		switch {
		case errors.As(err, &failed) && failed.Line >= 0 && script != v.String():
			return nil, Problemf(CodeScriptError, "%s, in the script with its values filled in, near: %s", failed.Error(), around(script, failed.Line, failed.At, r.mask))
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

// nearBytes bounds what a failure shows of a script before and after its fault.
const nearBytes = 60

// around is a script around a place in it, without secrets.
func around(script string, line, at int, m *mask.Masker) string {
	lines := strings.Split(script, "\n")
	if line >= len(lines) { // its end is missing
		line, at = len(lines)-1, len(lines[len(lines)-1])
	}
	text := lines[line]
	chars := utf16.Encode([]rune(text))
	at = len(string(utf16.Decode(chars[:max(0, min(at, len(chars)))])))
	// Secrets are found in the line as a whole, and what is cut off after that may
	// cut nothing of them in two.
	before, after := m.Text(text[:at]).String(), m.Text(text[at:]).String()
	if m.Holds(text) && m.Text(text).String() != before+after {
		return "a value that is secret"
	}
	if len(before) > nearBytes {
		before = "…" + strings.ToValidUTF8(before[len(before)-nearBytes:], "")
	}
	return before + "⟪here⟫" + lang.Short(after, nearBytes)
}
