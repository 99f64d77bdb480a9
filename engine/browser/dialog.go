package browser

import (
	"fmt"

	"github.com/chromedp/cdproto/page"

	"troupe/engine/mask"
)

// Bounds of what is told of dialogs: a page may open one after the other.
const (
	maxDialogs    = 100
	maxDialogText = 1000
)

// Dialog is one that a page has opened, and that was answered.
type Dialog struct {
	Kind   string // alert, confirm, prompt or beforeunload
	Text   mask.Text
	Answer mask.Text // what a prompt was given
}

// answer accepts a dialog, a prompt with the text that it offers: the page waits
// for that.
func (t *Tab) answer(e *page.EventJavascriptDialogOpening) {
	c := t.context
	d := Dialog{Kind: string(e.Type), Text: c.clean(e.Message).Short(maxDialogText)}
	answer := page.HandleJavaScriptDialogParams{Accept: true}
	if e.Type == page.DialogTypePrompt {
		answer.PromptText = e.DefaultPrompt
		d.Answer = c.clean(e.DefaultPrompt).Short(maxDialogText)
	}
	c.Journal.dialog(d)
	c.Journal.Note("%s dialog accepted: %s", d.Kind, c.clean(e.Message).Short(200))
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
