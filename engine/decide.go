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
	by    *condition
	holds bool            // what the part is by itself, whatever not makes of it
	found json.RawMessage // nil: there is none
}

// decide looks once.
func (r *Run) decide(ctx context.Context, s *Step, c *condition) (verdict, error) {
	if c.looks() { // that is bounded although the lists are not
		var cancel context.CancelFunc
		ctx, cancel = r.bound(ctx, s)
		defer cancel()
	}
	return r.judge(ctx, s, c)
}

func (r *Run) judge(ctx context.Context, s *Step, c *condition) (v verdict, err error) {
	v.by = c
	switch c.form.field {
	case "":
		err = r.page.ask(ctx, s, "exists", *c.selector, nil, &v.yes)
		v.holds = v.yes
		return v, err
	case "visible":
		err = r.page.ask(ctx, s, "visible", *c.selector, nil, &v.yes)
		v.holds = v.yes
		return v, err
	case "all", "any":
		ends := c.form.field == "any"
		for i := range c.parts {
			if v, err = r.judge(ctx, s, &c.parts[i]); err != nil || v.yes == ends {
				return v, err
			}
		}
		return v, nil
	case "not":
		v, err = r.judge(ctx, s, &c.parts[0])
		v.yes = !v.yes
		return v, err
	}
	want, err := c.value.Expand(r.cache)
	if err != nil {
		return v, err
	}
	if v.found, err = r.have(ctx, s, c); err != nil {
		return v, err
	}
	if r.work.depth > 0 { // elsewhere a list has as many as it is long
		if err = r.charge(len(v.found) + len(want)); err != nil {
			return v, err
		}
	}
	v.yes, err = lang.Compare(v.found, c.operator, want)
	return v, err
}

// have is what a condition compares: nil if there is none.
func (r *Run) have(ctx context.Context, s *Step, c *condition) (json.RawMessage, error) {
	switch c.form.field {
	case "selector":
		name, err := c.property.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		return r.property(ctx, s, *c.selector, name)
	case "cached":
		have, _ := lang.Lookup(r.cache, c.cached)
		return have, nil
	case "count":
		var n json.RawMessage
		err := r.page.ask(ctx, s, "count", *c.selector, nil, &n)
		return n, err
	case "failure":
		if r.failed == "" {
			return nil, nil
		}
		return json.Marshal(r.failed)
	}
	about, err := r.about(ctx, s)
	if err != nil {
		return nil, err
	}
	switch c.form.field {
	case "url":
		return json.Marshal(about.URL)
	case "title":
		return json.Marshal(about.Title)
	}
	return r.cookieValue(ctx, c.name, about.URL)
}

// about is the address and the title of the current tab's page.
func (r *Run) about(ctx context.Context, s *Step) (about struct{ URL, Title string }, err error) {
	v, err := r.page.callOnce(ctx, s, Call{Fn: "about"})
	if err == nil {
		err = json.Unmarshal(v, &about)
	}
	return about, err
}

// cookieValue is the value of a cookie that the browser would send to an address.
func (r *Run) cookieValue(ctx context.Context, name lang.Text, address string) (json.RawMessage, error) {
	wanted, err := name.Expand(r.cache)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil // no cookie is sent there
	}
	all, err := r.tabs.Cookies.All(ctx)
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
func (r *Run) property(ctx context.Context, s *Step, v lang.Selector, name string) (json.RawMessage, error) {
	var p struct {
		Known bool            `json:"known"`
		Value json.RawMessage `json:"value"`
	}
	if err := r.page.ask(ctx, s, "property", v, map[string]any{"name": name}, &p); err != nil || p.Known {
		return p.Value, err
	}
	value, err := r.page.at.PageProperty(ctx, name)
	if errors.Is(err, browser.ErrFrameLost) { // with the element
		return null, nil
	}
	return value, err
}

// maxFound bounds what an assertion that failed shows of a value.
const maxFound = 500

// tells says what was found, for people.
func (r *Run) tells(v verdict) string {
	c := v.by
	switch c.form.field {
	case "", "visible":
		some, seen := "no element", ""
		if v.holds {
			some = "an element"
		}
		if c.form.field == "visible" {
			seen = " and can be seen"
		}
		return fmt.Sprintf("%s matches %q%s", some, c.selector, seen)
	case "cookie": // its value may let somebody in
		if v.found == nil {
			return fmt.Sprintf("the cookie %q is missing", c.name)
		}
		return fmt.Sprintf("the cookie %q has another value", c.name)
	}
	what := map[string]string{"url": "the address", "title": "the title", "failure": "the last failure"}[c.form.field]
	switch c.form.field {
	case "selector":
		what = fmt.Sprintf("%s of %q", c.property, c.selector)
	case "cached":
		what = fmt.Sprintf("the saved value %q", c.cached)
	case "count":
		what = fmt.Sprintf("the number of matches of %q", c.selector)
	}
	if len(v.found) == 0 || string(v.found) == "null" {
		return what + " is missing"
	}
	found := r.mask.JSON(v.found) // whole, before it is cut
	return what + " is " + lang.Short(string(found), maxFound)
}
