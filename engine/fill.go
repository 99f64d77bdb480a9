package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[lang.Pair[lang.Selector, lang.Text]]{
	Name: "fill", Group: "Interaction",
	Doc: "Types a text into a field, with real key events for each character. Of a text of more than 2,000 characters, only the first and the last 30 and the ends of lines have keys. The rest goes in as dictated text does: by parts of up to 1,000, with `beforeinput` and `input` events for each. `type` has keys for all. It clears the field first; with `clear: false` it appends the text. " +
		"Fields with a value that is chosen instead of typed (date, time, month, week, color, range) get the value at once, with `input` and `change` events. Editable elements work like fields; a label, or a text in it, stands for its control. " +
		"The action fails if the field accepts none of the text. If the page changes the text (a mask, a maximum length, other letters), a warning shows the field's value, or `***` for a password. " +
		"A page may take the text and empty the field, as chats and tag fields do. That is a success if the text then stands elsewhere in the page. If it does not, a field emptied with the last character is a warning, and one emptied with each character is a failure. To type without this check, use `focus` and `type`. " +
		"It waits for a disabled or read-only field up to the action's time, because pages enable fields when their data arrives; `options.timeout` shortens that. While it waits, it gives a read-only field the focus and clicks it once. " +
		"If the page moves the focus elsewhere while keys are still to come, those are kept from what has it, and the rest is typed into the field. So is the rest for a field that is disabled, read-only or hidden for a moment. Boxes for one character, and fields that are full, hand the text on to the next one. If the document is replaced before the last key, the text is typed into the new one, three times at most. " +
		"`${secret:NAME}` in the text is a secret of the account. It goes only into fields of the secret's own origins, at once and without key events, and is masked in all results of the task.",
	Value:   lang.PairShape(lang.SelectorShape, lang.SecretTextShape("text")),
	Opts:    []Opt{opt("clear", lang.BoolShape, "Whether to clear the field first. Default: true.")},
	Example: `{"fill":["#user","ada"]}`, Page: "/login",
	Keys: pairKeys,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Pair[lang.Selector, lang.Text]) (Result, error) {
		filled, origins, err := r.secrets(v.B)
		if err != nil {
			return nil, err
		}
		text, err := filled.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		fl := filling{run: r, step: s, into: v.A}
		if origins != nil {
			return nil, fl.secret(ctx, text, origins, own(s, "clear", true))
		}
		return nil, fl.text(ctx, text, own(s, "clear", true))
	},
})

func pairKeys(v lang.Pair[lang.Selector, lang.Text], to map[string]bool) {
	v.A.Keys(to)
	v.B.Keys(to)
}

// ready says how a field is to be filled.
type ready struct {
	Set     bool           `json:"set"` // done: its value was set
	Click   *browser.Point `json:"click"`
	Erase   bool           `json:"erase"`
	End     bool           `json:"end"`     // go to the end first
	Keys    bool           `json:"keys"`    // what is there can be marked by keys only
	Slow    bool           `json:"slow"`    // the page does something between two characters
	Watched bool           `json:"watched"` // the page script reports the outcome
	Whole   bool           `json:"whole"`   // keys would be rewritten: it goes in at once
	Parts   bool           `json:"parts"`   // a long text may go in by parts: few keys are waited for
}

// filling is one step that fills a field.
type filling struct {
	run  *Run
	step *Step
	into lang.Selector
}

// secret puts a secret into a field of one of its origins. It is not typed
// key by key, for the keys go to whatever has the focus when they arrive, and a
// page can hand that to a frame of another site between two of them. The page
// script looks at the origin and puts the whole text in at one moment; it is
// handed the text only after it has found the origin right.
func (fl *filling) secret(ctx context.Context, text string, origins []string, clear bool) error {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	arg := func(text string, clicked bool) map[string]any {
		return map[string]any{"text": text, "clear": clear, "clicked": clicked, "origins": origins}
	}
	var f ready
	if err := fl.run.page.ask(ctx, fl.step, "fill", fl.into, arg("", false), &f); err != nil {
		return err
	}
	clicked := f.Click != nil
	if clicked {
		t, err := fl.run.tabs.Tab(ctx)
		if err != nil {
			return err
		}
		if err := fl.click(ctx, t, *f.Click); err != nil {
			return err
		}
		fl.run.page.input = sentAct
	}
	// The documents around a frame of another origin have no business with it.
	err := fl.run.page.askThere(ctx, fl.step, "fill", fl.into, arg(text, clicked), &f)
	fl.run.page.input = sentAct
	return err
}

// longestCode is how many characters of a text are typed into boxes for one each:
// longer texts are no codes.
const longestCode = 32

// maxRedrawn bounds how often a field may be drawn anew while a text is typed
// into it, without a character in it. A page that does so at each character takes
// one character at a time.
const maxRedrawn = 3

// text types a text, and what is left of it where the page draws the field anew.
func (fl *filling) text(ctx context.Context, text string, clear bool) error {
	text = strings.ReplaceAll(text, "\r\n", "\n") // both together are the end of one line
	all, whole, first := utf8.RuneCountInString(text), text, clear
	for again, anew := 0, 0; ; {
		is, err := fl.once(ctx, text, clear, all, again)
		switch {
		case err != nil:
			return err
		case is.Anew:
			if anew++; anew > maxRedrawn {
				return Problemf(CodeElementGone, "The document of element %q is replaced again and again while text is typed into it", fl.into.String())
			}
			text, clear, again = whole, first, 0
		case is.Rest != "" && len(is.Rest) < len(text):
			text, clear, again = is.Rest, false, 0
		case !is.Again && is.Rest == "":
			return nil
		default:
			if again++; again > maxRedrawn {
				return Problemf(CodeElementGone, "Element %q is redrawn again and again while text is typed into it: %d of %d %s left", fl.into.String(), utf8.RuneCountInString(text), all, Plural(all, "character is", "characters are"))
			}
		}
	}
}

// left is what is left of a text where the page has drawn its field anew: the end
// of it, or all.
type left struct {
	Rest  string `json:"rest"`
	Again bool   `json:"again"`
	Anew  bool   `json:"anew"` // the document was replaced, and the new one has nothing of it
}

// once types a text of so many characters into a field, or the end of it, which did not
// get on so many times before.
func (fl *filling) once(ctx context.Context, text string, clear bool, all, again int) (none left, err error) {
	var f ready
	fl.run.typings++
	id := fl.run.typings
	keys, last := browser.Keys(text, false)
	few, _ := browser.Keys(text, true)
	ask := func(clicked bool) error {
		f = ready{}
		return fl.run.page.ask(ctx, fl.step, "fill", fl.into, map[string]any{"text": text, "clear": clear, "clicked": clicked, "id": id, "keys": keys, "few": few, "tries": again}, &f)
	}
	t, err := fl.run.tabs.Tab(ctx)
	if err != nil {
		return none, err
	}
	focused, err := fl.run.page.focus(ctx, func() error {
		if err := ask(false); err != nil || f.Click == nil {
			return err
		}
		if err := fl.click(ctx, t, *f.Click); err != nil { // it takes the focus by a click only
			return err
		}
		return ask(true)
	})
	if err != nil {
		return none, err
	}
	fl.run.page.input = sentText
	if f.Set || strings.ContainsAny(text, "\r\n") { // a new line submits a form
		fl.run.page.input = sentAct
	}
	if f.Set {
		return none, nil
	}
	if !focused && f.Watched {
		return fl.left(ctx, id, again) // that the field has taken nothing
	}
	t.Input.ExpectKeys()
	if err := prepare(ctx, t, f); err != nil {
		return none, err
	}
	if f.Whole {
		return none, fl.whole(ctx, t, text, clear)
	}
	var pause func(context.Context) error
	if f.Slow && utf8.RuneCountInString(text) <= longestCode {
		pause = func(ctx context.Context) error {
			_, err := fl.run.page.call(ctx, fl.step, Call{Fn: "drawn"})
			fl.run.page.input = sentText
			return err
		}
	}
	typed, err := t.Input.Type(ctx, text, f.Parts, pause)
	if typed > 0 && errors.Is(err, context.DeadlineExceeded) {
		typed += all - utf8.RuneCountInString(text)
		return none, Problemf(CodeTimeout, "Only %d of %d %s typed into %q within %dms: a longer text needs a longer timeout", typed, all, Plural(all, "character was", "characters were"), fl.into.String(), Millis(fl.run.limit))
	}
	if err != nil || !f.Watched {
		return none, err
	}
	if last || text == "" {
		taken, _ := t.Input.KeysTaken(ctx, id)
		if had := t.Input.HadOfText(id); taken && (had == "" || had == "whole") { // else it was leaving before it had all
			return none, nil
		}
	}
	if is, err := fl.left(ctx, id, again); err != nil || !is.Anew {
		return is, err
	}
	return fl.anew(t, id, text)
}

// anew says whether a text is to be typed again, whose document was replaced under it: not
// where the page has had it and leads on, and there is no more of it where the tab has
// closed.
func (fl *filling) anew(t *browser.Tab, id int, text string) (left, error) {
	had := t.Input.HadOfText(id)
	switch {
	case had == "sent":
		fl.run.warn("the page left when a line of the text for %q ended: what comes after that is lost", fl.into.String())
		return left{}, nil
	case had == "whole", had == "" && (t.Closed() || strings.HasSuffix(text, "\n")):
		return left{}, nil
	case t.Closed():
		return left{}, Problemf(CodeElementGone, "Element %q went away with its tab while text was typed into it", fl.into.String())
	}
	return left{Anew: true}, nil
}

// whole puts a text of several lines into an editor that closes brackets and indents lines
// while they are typed: at once, and as what is pasted, by an event of its own and not by the clipboard, where that has not done it. What stands
// there then is compared.
func (fl *filling) whole(ctx context.Context, t *browser.Tab, text string, clear bool) error {
	put := func() error { return t.Input.Insert(ctx, text) }
	for pasted := false; ; pasted = true {
		if err := put(); err != nil {
			return err
		}
		fl.run.page.input = sentText
		is, err := fl.stands(ctx, t, text, !clear)
		if err != nil || !is.Known || is.Same {
			return err
		}
		if pasted || !clear {
			fl.run.warn("%q now holds %s: the page has made that of the text", fl.into.String(), is.Got)
			return nil
		}
		if err := t.Input.Press(ctx, browser.All); err != nil {
			return err
		}
		put = func() error {
			_, err := fl.run.page.call(ctx, fl.step, Call{Fn: "pasteText", Arg: map[string]any{"text": text}})
			return err
		}
	}
}

// standing is what an editor says that it holds.
type standing struct {
	Known bool   `json:"known"`
	Same  bool   `json:"same"`
	Got   string `json:"got"`
}

// stands asks an editor what it holds, as who copies it does, and leaves the caret at the
// end.
func (fl *filling) stands(ctx context.Context, t *browser.Tab, text string, part bool) (is standing, err error) {
	if _, err := fl.run.page.call(ctx, fl.step, Call{Fn: "drawn"}); err != nil { // it has taken the text in by then
		return is, err
	}
	if err := t.Input.Press(ctx, browser.All); err != nil {
		return is, err
	}
	if _, err := fl.run.page.call(ctx, fl.step, Call{Fn: "drawn"}); err != nil {
		return is, err
	}
	raw, err := fl.run.page.call(ctx, fl.step, Call{Fn: "stands", Arg: map[string]any{"text": text, "part": part}})
	if err != nil {
		return is, err
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return is, fmt.Errorf("reading what an editor holds: %w", err)
	}
	fl.run.page.input = sentText
	return is, t.Input.Press(ctx, browser.DocumentEnd)
}

// click gives the field the focus.
func (fl *filling) click(ctx context.Context, t *browser.Tab, p browser.Point) error {
	p, err := fl.run.pointer.pointInPage(ctx, p)
	if err != nil {
		return err
	}
	return t.Input.Click(ctx, p)
}

// prepare presses the keys that come before a text.
func prepare(ctx context.Context, t *browser.Tab, f ready) error {
	var first []*browser.Chord
	switch {
	case f.Keys && f.Erase:
		first = []*browser.Chord{browser.DocumentEnd, browser.All, browser.Backspace}
	case f.Keys:
		first = []*browser.Chord{browser.DocumentEnd}
	case f.End:
		first = []*browser.Chord{browser.End}
	case f.Erase:
		// What is marked is gone with the first character; the key makes it
		// gone too when there is no character.
		first = []*browser.Chord{browser.Backspace}
	}
	for _, c := range first {
		if err := t.Input.Press(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// left asks what has become of a text that was not simply taken. A page that has
// left, or a tab that has closed, has had it.
func (fl *filling) left(ctx context.Context, id, again int) (is left, err error) {
	c, err := fl.run.page.find("filled", fl.into, map[string]any{"id": id})
	if err != nil {
		return is, err
	}
	// What it is looked for in is said from the document that has it.
	at := fl.run.page.at
	place, err := fl.run.page.placeOf(fl.step, c.Arg["t"])
	if err != nil {
		return is, err
	}
	if place != nil && at.IsMain() {
		c.Arg["in"] = place
	}
	c.Arg["unfocused"], c.Arg["last"] = !at.TakesKeys(ctx), again == maxRedrawn
	reply, err := at.Call(ctx, c.Fn, c.Arg)
	if errors.Is(err, browser.ErrDetached) && !fl.run.tabs.Crashed() || errors.Is(err, browser.ErrFrameLost) {
		return left{Anew: true}, nil
	}
	if err != nil {
		return is, err
	}
	res, err := fl.run.page.replied(reply)
	if err != nil {
		return is, err
	}
	if err := json.Unmarshal(res, &is); err != nil {
		return is, fmt.Errorf("reading what became of a text: %w", err)
	}
	return is, nil
}
