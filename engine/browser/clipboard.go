package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNoClipboard says that a page cannot copy or paste.
var ErrNoClipboard = errors.New("the browser does not let this page use the clipboard")

// Paste puts a text, and its form as HTML if that is not nil, into the clipboard and
// pastes it by keys into whatever has the focus. The page sees the pasting only.
// Workers that share a browser paste in turn, for it has one clipboard.
func (t *Tab) Paste(ctx context.Context, text string, html *string) error {
	select {
	case <-t.context.b.clipboard:
		defer func() { t.context.b.clipboard <- struct{}{} }()
	case <-ctx.Done():
		return fmt.Errorf("waiting for the clipboard: %w", context.Cause(ctx))
	}
	arg, err := json.Marshal(map[string]any{"text": text, "html": html})
	if err != nil {
		return fmt.Errorf("encoding what is pasted: %w", err)
	}
	var copied Reply
	if err := t.Script.evaluateAs(ctx, object+".run('copy',"+string(arg)+")", true, &copied); err != nil {
		return fmt.Errorf("copying: %w", err)
	}
	if string(copied.Value) != "true" {
		return ErrNoClipboard
	}
	return t.Input.Press(ctx, paste)
}
