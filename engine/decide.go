package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// verdict is what became of a condition: whether it is true, and which part of it,
// with what was found, has decided that.
type verdict struct {
	yes   bool
	by    *lang.Condition
	holds bool            // what the part is by itself, whatever not makes of it
	found json.RawMessage // nil: there is none
}

// decider looks whether the condition of a step is true.
type decider struct {
	run  *Run
	step *Step
}

// decide looks once.
func (d decider) decide(ctx context.Context, c *lang.Condition) (verdict, error) {
	if c.Looks() { // that is bounded although the lists are not
		var cancel context.CancelFunc
		ctx, cancel = d.run.bound(ctx, d.step)
		defer cancel()
	}
	return d.judge(ctx, c)
}

func (d decider) judge(ctx context.Context, c *lang.Condition) (v verdict, err error) {
	r := d.run
	v.by = c
	switch c.Form.Field {
	case "":
		err = r.page.ask(ctx, d.step, "exists", *c.Selector, nil, &v.yes)
		v.holds = v.yes
		return v, err
	case "visible":
		err = r.page.ask(ctx, d.step, "visible", *c.Selector, nil, &v.yes)
		v.holds = v.yes
		return v, err
	case "all", "any":
		ends := c.Form.Field == "any"
		for i := range c.Parts {
			if v, err = d.judge(ctx, &c.Parts[i]); err != nil || v.yes == ends {
				return v, err
			}
		}
		return v, nil
	case "not":
		v, err = d.judge(ctx, &c.Parts[0])
		v.yes = !v.yes
		return v, err
	}
	want, err := c.Value.Expand(r.cache)
	if err != nil {
		return v, err
	}
	if v.found, err = d.have(ctx, c); err != nil {
		return v, err
	}
	if r.blocks.depth > 0 { // elsewhere a list has as many as it is long
		if err = r.blocks.charge(len(v.found) + len(want)); err != nil {
			return v, err
		}
	}
	v.yes, err = lang.Compare(v.found, c.Operator, want)
	return v, err
}

// have is what a condition compares: nil if there is none.
func (d decider) have(ctx context.Context, c *lang.Condition) (json.RawMessage, error) {
	r := d.run
	switch c.Form.Field {
	case "selector":
		name, err := c.Property.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		return d.property(ctx, *c.Selector, name)
	case "cached":
		have, _ := lang.Lookup(r.cache, c.Cached)
		return have, nil
	case "count":
		var n json.RawMessage
		err := r.page.ask(ctx, d.step, "count", *c.Selector, nil, &n)
		return n, err
	case "failure":
		if r.failed == "" {
			return nil, nil
		}
		return json.Marshal(r.failed)
	}
	about, err := r.page.about(ctx, d.step)
	if err != nil {
		return nil, err
	}
	switch c.Form.Field {
	case "url":
		return json.Marshal(about.URL)
	case "title":
		return json.Marshal(about.Title)
	}
	return d.cookieValue(ctx, c.Name, about.URL)
}

// cookieValue is the value of a cookie that the browser would send to an address.
func (d decider) cookieValue(ctx context.Context, name lang.Text, address string) (json.RawMessage, error) {
	wanted, err := name.Expand(d.run.cache)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil // no cookie is sent there
	}
	all, err := d.run.tabs.Cookies.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Name == wanted && c.SentTo(u) {
			return json.Marshal(c.Value)
		}
	}
	return nil, nil
}

// property is a property of the first match, null without one.
func (d decider) property(ctx context.Context, v lang.Selector, name string) (json.RawMessage, error) {
	var p struct {
		Known bool            `json:"known"`
		Value json.RawMessage `json:"value"`
	}
	if err := d.run.page.ask(ctx, d.step, "property", v, map[string]any{"name": name}, &p); err != nil || p.Known {
		return p.Value, err
	}
	value, err := d.run.page.at.PageProperty(ctx, name)
	if errors.Is(err, browser.ErrFrameLost) { // with the element
		return null, nil
	}
	return value, err
}

// maxFound bounds what an assertion that failed shows of a value.
const maxFound = 500

// tells says what was found, for people.
func (d decider) tells(v verdict) string {
	c := v.by
	switch c.Form.Field {
	case "", "visible":
		some, seen := "no element", ""
		if v.holds {
			some = "an element"
		}
		if c.Form.Field == "visible" {
			seen = " and can be seen"
		}
		return fmt.Sprintf("%s matches %q%s", some, c.Selector, seen)
	case "cookie": // its value may let somebody in
		if v.found == nil {
			return fmt.Sprintf("the cookie %q is missing", c.Name)
		}
		return fmt.Sprintf("the cookie %q has another value", c.Name)
	}
	what := map[string]string{"url": "the address", "title": "the title", "failure": "the last failure"}[c.Form.Field]
	switch c.Form.Field {
	case "selector":
		what = fmt.Sprintf("%s of %q", c.Property, c.Selector)
	case "cached":
		what = fmt.Sprintf("the saved value %q", c.Cached)
	case "count":
		what = fmt.Sprintf("the number of matches of %q", c.Selector)
	}
	if len(v.found) == 0 || string(v.found) == "null" {
		return what + " is missing"
	}
	found := d.run.mask.JSON(v.found) // whole, before it is cut
	return what + " is " + lang.Short(string(found), maxFound)
}
