package browser

import (
	"fmt"
	"sync"

	"github.com/chromedp/cdproto/page"

	"troupe/engine/mask"
)

// Bounds of the list of dialogs: a page may open one after the other.
const (
	maxDialogs    = 100
	maxDialogText = 1000
)

// Dialog is one that a page has opened, and that was answered.
type Dialog struct {
	Kind      string // alert, confirm, prompt or beforeunload
	Text      mask.Text
	Answer    mask.Text // what a prompt was given
	Dismissed bool
	ByDefault bool // no rule was for it
}

// DialogRule says how dialogs are answered.
type DialogRule struct {
	Kind    string                 // empty: any
	Matches func(text string) bool // nil: any text
	Dismiss bool
	Prompt  *string // the text that a prompt is given; nil: the one that it offers
}

func (r *DialogRule) covers(e *page.EventJavascriptDialogOpening) bool {
	return (r.Kind == "" || r.Kind == string(e.Type)) && (r.Matches == nil || r.Matches(e.Message))
}

// DialogRules are the rules of a task, and those of its next dialogs, each for one.
type DialogRules struct {
	mu    sync.Mutex
	rules []DialogRule
	next  []DialogRule
}

// Begin sets the rules of a task. The first that covers a dialog answers it.
func (dr *DialogRules) Begin(rules []DialogRule) {
	dr.mu.Lock()
	defer dr.mu.Unlock()
	dr.rules, dr.next = rules, nil
}

// Next answers the next dialog that the rule covers, before all other rules.
func (dr *DialogRules) Next(r DialogRule) {
	dr.mu.Lock()
	defer dr.mu.Unlock()
	dr.next = append(dr.next, r)
}

// Unused is how many rules for next dialogs have had none.
func (dr *DialogRules) Unused() int {
	dr.mu.Lock()
	defer dr.mu.Unlock()
	return len(dr.next)
}

// rule is what answers a dialog; nil: nothing but the default.
func (dr *DialogRules) rule(e *page.EventJavascriptDialogOpening) *DialogRule {
	dr.mu.Lock()
	defer dr.mu.Unlock()
	for i, r := range dr.next {
		if r.covers(e) {
			dr.next = append(dr.next[:i:i], dr.next[i+1:]...)
			return &r
		}
	}
	for _, r := range dr.rules {
		if r.covers(e) {
			return &r
		}
	}
	return nil
}

// answer answers a dialog at once, for the page waits for that: as a rule says, or else
// it accepts it, a prompt with the text that it offers.
func (t *Tab) answer(e *page.EventJavascriptDialogOpening) {
	if g := t.context.guest.Load(); g != nil {
		g.asked(t, e)
		return
	}
	t.answerNow(e)
}

// answerNow is answer, whoever else could.
func (t *Tab) answerNow(e *page.EventJavascriptDialogOpening) {
	c := t.context
	rule := c.Dialogs.rule(e)
	d := Dialog{Kind: string(e.Type), Text: c.clean(e.Message).Short(maxDialogText), ByDefault: rule == nil}
	answer := page.HandleJavaScriptDialogParams{Accept: true}
	if rule != nil && rule.Dismiss {
		answer.Accept, d.Dismissed = false, true
	} else if e.Type == page.DialogTypePrompt {
		answer.PromptText = e.DefaultPrompt
		if rule != nil && rule.Prompt != nil {
			answer.PromptText = *rule.Prompt
		}
		d.Answer = c.clean(answer.PromptText).Short(maxDialogText)
	}
	c.Journal.dialog(d)
	what := "accepted"
	if d.Dismissed {
		what = "dismissed"
	}
	c.Journal.Note("%s dialog %s: %s", d.Kind, what, c.clean(e.Message).Short(200))
	c.Journal.happened.Store(true)
	t.s.send(page.CommandHandleJavaScriptDialog, answer)
}

// String is the dialog as warnings name it.
func (d Dialog) String() string {
	if d.Text.String() == "" { // as that of beforeunload is
		return d.Kind + " dialog"
	}
	return fmt.Sprintf("%s dialog %q", d.Kind, d.Text.Short(200))
}
