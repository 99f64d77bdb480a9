package browser_test

import (
	"encoding/json"
	"testing"
)

// The rehearsals go well in all their parts, and the blank page is as before.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	ctx, c := newContext(t)
	tab, err := c.NewTab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tab.Script.Call(ctx, "rehearse", map[string]any{})
	if err != nil || string(r.Value) != "2" {
		t.Fatalf("%+v (%v): want 2 parts that went well", r, err)
	}
	if well, err := tab.RehearseActions(ctx); err != nil || well != 6 {
		t.Fatalf("of the rehearsal of the actions %d parts went well (%v), want 6", well, err)
	}
	if c.Handled() {
		t.Error("the rehearsal counts as something that a task has aimed at")
	}
	var page struct {
		HTML, Active string
		Marked       int
	}
	raw, err := tab.Script.Evaluate(ctx, `return {HTML: document.documentElement.outerHTML, Active: document.activeElement.localName, Marked: getSelection().rangeCount}`, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		t.Fatal(err)
	}
	if page.HTML != "<html><head></head><body></body></html>" || page.Active != "body" || page.Marked != 0 {
		t.Errorf("the blank page is %+v", page)
	}
}
