package browser_test

import (
	"encoding/json"
	"testing"
)

// The rehearsal goes well in all its parts, and the blank page is as before.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	ctx, c := newContext(t)
	tab, err := c.NewTab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tab.Call(ctx, "rehearse", map[string]any{})
	if err != nil || string(r.Value) != "2" {
		t.Fatalf("%+v (%v): want 2 parts that went well", r, err)
	}
	var page struct {
		HTML, Active string
		Marked       int
	}
	raw, err := tab.Evaluate(ctx, `return {HTML: document.documentElement.outerHTML, Active: document.activeElement.localName, Marked: getSelection().rangeCount}`, nil, false)
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
