package engine

import (
	"context"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// dialogRule says how dialogs are answered, of a kind and with a text if it names them.
type dialogRule struct {
	kind    string
	text    *lang.Text // a pattern
	dismiss bool
	prompt  *lang.Text
}

func (r dialogRule) Keys(to map[string]bool) {
	for _, t := range []*lang.Text{r.text, r.prompt} {
		if t != nil {
			t.Keys(to)
		}
	}
}

var (
	dialogAnswerShape = lang.EnumShape("an answer to dialogs", "accept", "dismiss")
	dialogKindShape   = lang.EnumShape("a kind of dialog", "alert", "confirm", "prompt", "beforeunload")
)

// dialogShape is the spelling of a rule.
var dialogShape = lang.Shape[dialogRule]{
	Words: `accept, dismiss or {kind, text, answer, prompt}`,
	Schema: `{"anyOf":[` + dialogAnswerShape.Schema + `,{"type":"object","properties":{"kind":` + dialogKindShape.Schema + `,"text":{"type":"string","minLength":1},"answer":` +
		dialogAnswerShape.Schema + `,"prompt":{"type":"string"}},"additionalProperties":false,"minProperties":1}]}`,
	Read: func(d *lang.Decoder, n *lang.Node) (r dialogRule) {
		if !n.IsObject() {
			r.dismiss = dialogAnswerShape.Read(d, n) == "dismiss"
			return r
		}
		if len(n.Fields) == 0 {
			d.Fault(n, `want "accept", "dismiss" or an object with kind, text, answer or prompt, not an empty one`)
		}
		d.ReadObject(n, "a rule for dialogs",
			lang.Field("kind", func(f *lang.Node) { r.kind = dialogKindShape.Read(d, f) }),
			lang.Field("text", func(f *lang.Node) { t := lang.URLPatternShape.Read(d, f); r.text = &t }),
			lang.Field("answer", func(f *lang.Node) { r.dismiss = dialogAnswerShape.Read(d, f) == "dismiss" }),
			lang.Field("prompt", func(f *lang.Node) {
				t := lang.TextShape("text").Read(d, f)
				r.prompt = &t
			}),
		)
		if r.dismiss && r.prompt != nil {
			d.Fault(n, "want prompt, which accepts, or answer: dismiss, not both")
		}
		return r
	},
}

// rule fills in the values of a rule.
func (r dialogRule) rule(run *Run) (browser.DialogRule, error) {
	out := browser.DialogRule{Kind: r.kind, Dismiss: r.dismiss}
	if r.prompt != nil {
		text, err := r.prompt.Expand(run.cache)
		if err != nil {
			return out, err
		}
		out.Prompt = &text
	}
	if r.text != nil {
		text, err := r.text.Expand(run.cache)
		if err != nil {
			return out, err
		}
		if out.Matches, err = run.captures.matching.pattern(text, true); err != nil {
			return out, err
		}
	}
	return out, nil
}

var _ = define(Action[dialogRule]{
	Name: "onDialog", Group: "Tabs and history",
	Doc: "Says how the next dialog is answered: an `alert`, a `confirm`, a `prompt`, or the question of a page before it is left (`beforeunload`). Put it before the action that opens the dialog. " +
		"The value is `\"accept\"`, `\"dismiss\"` or an object. In the object, `kind` and `text` (a part of the text, or a regular expression) select the dialog. `answer` says what to do, and `prompt` is the text for a prompt. " +
		"It counts for one dialog and comes before the rules of `config.dialogs`. A warning says if no such dialog comes.",
	Value:   dialogShape,
	Example: `{"if":{"condition":"h1","then":[{"onDialog":"dismiss"},{"evaluate":"return confirm('Sure?')"}]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v dialogRule) (Result, error) {
		rule, err := v.rule(r)
		if err != nil {
			return nil, err
		}
		r.tabs.Dialogs.Next(rule)
		return nil, nil
	},
})

// readDialogs reads the rules of a task: one, or several.
func (d *decoder) readDialogs(n *lang.Node) (rules []dialogRule) {
	list := []*lang.Node{n}
	if n.IsArray() {
		list = n.Elements
	}
	if len(list) > maxDialogRules {
		d.Fault(n, "want at most %d rules for dialogs, not %d", maxDialogRules, len(list))
		return nil
	}
	for _, e := range list {
		rule := dialogShape.Read(&d.Decoder, e)
		keys := map[string]bool{}
		if rule.Keys(keys); len(keys) > 0 {
			d.Fault(e, "want texts without ${key}: no value is saved before the task; onDialog takes them")
		}
		rules = append(rules, rule)
	}
	return rules
}

// maxDialogRules bounds the rules of a task: each is looked at for each dialog.
const maxDialogRules = 20

// beginDialogs sets the task's rules.
func (r *Run) beginDialogs() {
	var rules []browser.DialogRule
	for _, one := range r.task.Config.dialogs {
		rule, err := one.rule(r)
		if err != nil {
			r.warn("config.dialogs: %s", err)
			continue
		}
		rules = append(rules, rule)
	}
	r.tabs.Dialogs.Begin(rules)
}
