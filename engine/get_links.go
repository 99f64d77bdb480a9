package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"troupe/engine/lang"
)

// linksWanted are the links of a page that are wanted.
type linksWanted struct {
	element *lang.Selector
	url     *lang.Text // a pattern
	visible bool
}

func (v linksWanted) Keys(to map[string]bool) {
	if v.element != nil {
		v.element.Keys(to)
	}
	if v.url != nil {
		v.url.Keys(to)
	}
}

var _ = define(Action[linksWanted]{
	Name: "getLinks", Group: "Data extraction",
	Doc: "Returns the links of the page, or of one element with `selector`. Links in drawings (SVG) count too. Addresses are absolute, and each is there once, with the first text that a link to it has. " +
		"`url` is a pattern as in `waitForResponse`: only addresses that match. With `visible: true`, only links that can be seen. Links that only run a script are left out.",
	Value: lang.Shape[linksWanted]{
		Words:  "{} or {selector, url, visible}",
		Schema: `{"type":"object","properties":{"selector":` + lang.SelectorShape.Schema + `,"url":{"type":"string","minLength":1},"visible":{"type":"boolean"}},"additionalProperties":false}`,
		Read: func(d *lang.Decoder, n *lang.Node) (v linksWanted) {
			d.ReadObject(n, "the links",
				lang.Field("selector", func(f *lang.Node) { sel := lang.SelectorShape.Read(d, f); v.element = &sel }),
				lang.Field("url", func(f *lang.Node) { t := lang.URLPatternShape.Read(d, f); v.url = &t }),
				lang.Field("visible", func(f *lang.Node) { v.visible = lang.BoolShape.Read(d, f) }),
			)
			return v
		},
	},
	Result:  "array of `{url, text}`",
	Example: `{"getLinks":{"url":"/product"}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v linksWanted) (Result, error) {
		c := Call{Fn: "links", Arg: map[string]any{"visible": v.visible}}
		matches := func(string) bool { return true }
		if v.element != nil {
			var err error
			if c, err = r.page.find(c.Fn, *v.element, c.Arg); err != nil {
				return nil, err
			}
		}
		if v.url != nil {
			text, err := v.url.Expand(r.cache)
			if err != nil {
				return nil, err
			}
			if matches, err = r.captures.matching.pattern(text, false); err != nil {
				return nil, err
			}
		}
		all, err := r.page.call(ctx, s, c)
		if err != nil || v.url == nil {
			return all, err
		}
		var links []struct {
			URL  string `json:"url"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(all, &links); err != nil {
			return nil, fmt.Errorf("reading the page's answer to %s: %w", c.Fn, err)
		}
		some := links[:0]
		for _, l := range links {
			if matches(l.URL) {
				some = append(some, l)
			}
		}
		return json.Marshal(some)
	},
})
