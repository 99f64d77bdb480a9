package engine

import (
	"context"
	"fmt"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// tabChoice names a tab: by its number, or by a pattern of its title or address.
type tabChoice struct {
	index   *int
	by      string // title or url; empty with an index
	pattern lang.Text
}

func (c tabChoice) Keys(to map[string]bool) { c.pattern.Keys(to) }

// tabShape is the spelling of a tab. Tabs are counted from 0 in the order in which they
// were opened.
var tabShape = lang.Shape[tabChoice]{
	Words: `index, {"title": pattern} or {"url": pattern}`,
	Schema: `{"anyOf":[{"type":"integer","minimum":-39,"maximum":39},{"type":"object","properties":{"title":{"type":"string","minLength":1}},"required":["title"],"additionalProperties":false},` +
		`{"type":"object","properties":{"url":{"type":"string","minLength":1}},"required":["url"],"additionalProperties":false}]}`,
	Read: func(d *lang.Decoder, n *lang.Node) (c tabChoice) {
		switch {
		case n.IsObject() && len(n.Fields) == 1 && (n.Fields[0].Key == "title" || n.Fields[0].Key == "url"):
			f := n.Fields[0]
			c.by, c.pattern = f.Key, lang.URLPatternShape.Read(d, f)
		case n.Kind == '0':
			i := lang.IntShape("the index of a tab", -maxTabIndex, maxTabIndex).Read(d, n)
			c.index = &i
		default:
			d.Fault(n, `want the index of a tab, {"title": pattern} or {"url": pattern}, not %s`, n.Describe())
		}
		return c
	},
}

// maxTabIndex is beyond what a task can have open.
const maxTabIndex = 39

// find gives the tab of a list that is meant, and what it is called in failures.
func (c tabChoice) find(r *Run, list []browser.TabInfo) (*browser.Tab, string, error) {
	if c.index != nil {
		i := *c.index
		if i < 0 {
			i += len(list)
		}
		if i < 0 || i >= len(list) {
			return nil, fmt.Sprintf("tab %d", *c.index), nil
		}
		return list[i].Tab, "", nil
	}
	text, err := c.pattern.Expand(r.cache)
	if err != nil {
		return nil, "", err
	}
	matches, err := r.captures.matching.pattern(text, false)
	if err != nil {
		return nil, "", err
	}
	for i := len(list) - 1; i >= 0; i-- { // the newest first
		of := list[i].URL
		if c.by == "title" {
			of = list[i].Title
		}
		if matches(of) {
			return list[i].Tab, "", nil
		}
	}
	return nil, fmt.Sprintf("tab whose %s matches %q", map[string]string{"title": "title", "url": "address"}[c.by], lang.Short(text, 100)), nil
}

// tabPoll is how often the tabs are looked at while one is waited for.
const tabPoll = 50 * time.Millisecond

// await waits for a tab that is meant: a page opens one when it likes.
func (c tabChoice) await(ctx context.Context, r *Run) (*browser.Tab, error) {
	sctx, cancel := r.page.strict(ctx)
	defer cancel()
	for {
		if c.index == nil {
			for _, t := range r.tabs.Tabs() { // one that was just opened has no address yet
				if err := t.Navigation.Arrived(sctx); err != nil {
					break
				}
			}
		}
		list, err := r.tabs.List(ctx)
		if err != nil {
			return nil, err
		}
		t, what, err := c.find(r, list)
		if err != nil || t != nil {
			return t, err
		}
		select {
		case <-time.After(tabPoll):
		case <-sctx.Done():
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, Problemf(CodeElementNotFound, "There is no %s: none came within %dms; %s", what, Millis(r.limit), openTabs(list))
		}
	}
}

// openTabs says which tabs there are.
func openTabs(list []browser.TabInfo) string {
	if len(list) == 0 {
		return "no tab is open"
	}
	text := "open are "
	if len(list) == 1 {
		text = "open is "
	}
	for i, t := range list {
		if i == 5 {
			return fmt.Sprintf("%s and %d more", text, len(list)-i)
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d (%s)", i, lang.Short(t.URL, 60))
	}
	return text
}
