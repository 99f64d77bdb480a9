package engine

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"troupe/engine/lang"
)

var _ = define(Action[lang.Text]{
	Name: "open", Group: "Navigation",
	Doc: "Opens an address in the current tab and waits for its `load` event, or for what `waitUntil` says. If that is missing when the action's time is over, and something of the page is there, the action succeeds with a warning. So it does for a document that never ends. " +
		"A status of 400 or more is a warning, and a failure where `status` says so. An address that cannot be reached is a failure with the browser's `net::` name, and so is a page or download that breaks off. " +
		"A response without a document (status 204, 205 or 304) is also a failure; the tab stays where it was. If the address is a download, the tab stays where it was, too, but the action succeeds with `{\"success\":true}` alone: a warning says so, and `downloads` has the file.",
	Value:   urlShape,
	Opts:    []Opt{waitUntil, statusOption},
	Check:   watchesIdle[lang.Text],
	Result:  arrivedResult,
	Example: `{"open":"http://demo.troupe.test/"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Text) (Result, error) {
		address, err := r.navigation.address(v)
		if err != nil {
			return nil, err
		}
		t, err := r.tabs.Tab(ctx)
		if err != nil {
			return nil, err
		}
		return r.navigation.open(ctx, s, t, address)
	},
})

var _ = define(Action[lang.Text]{
	Name: "openNewTab", Group: "Navigation",
	Doc:     "Opens an address in a new tab, which becomes the current one, and waits like `open`. It closes the other tabs unless `closeOthers` is false.",
	Value:   urlShape,
	Opts:    []Opt{opt("closeOthers", lang.BoolShape, "Whether to close the other tabs. Default: true."), waitUntil, statusOption},
	Result:  arrivedResult,
	Check:   watchesIdle[lang.Text],
	Example: `{"openNewTab":"http://demo.troupe.test/login","options":{"closeOthers":false}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Text) (Result, error) {
		address, err := r.navigation.address(v)
		if err != nil {
			return nil, err
		}
		t, err := r.tabs.NewTab(ctx)
		if err != nil {
			return nil, err
		}
		if own(s, "closeOthers", true) {
			r.tabs.CloseOthers(ctx, t)
		}
		return r.navigation.open(ctx, s, t, address)
	},
})

// waitUntil is what an action that goes to a document waits for.
var waitUntil = opt("waitUntil", lang.EnumShape("what to wait for", "dom", "load", "networkidle"),
	"`dom`: until the document itself is there (`DOMContentLoaded`). `load`: for its load event. `networkidle`: for its load event, and then as `waitForEvent` does. Default: `load`.")

// statusOption says which status of a page is one that the action succeeds with.
var statusOption = opt("status", lang.EnumShape("a status to expect", "any", "ok"),
	"`ok`: a page with a status of 400 or more is a failure (`navigation_failed`); the tab shows it. `any`: it is a success with a warning. Default: `any`.")

// watchesIdle has the requests of a task counted whose step waits for an idle network.
func watchesIdle[V any](d *decoder, _ *lang.Node, s *Step, _ V) {
	if own(s, waitUntil.Name, "") == "networkidle" {
		d.network = true
	}
}

var _ = define(Action[lang.Pair[int, int]]{
	Name: "setViewportSize", Group: "Navigation",
	Doc:     "Sets the width and height of the page's visible area, in CSS pixels, also for tabs opened later in the task. Default: 1280 × 720.",
	Value:   lang.PairShape(lang.IntShape("width", 1, maxSide), lang.IntShape("height", 1, maxSide)),
	Example: `{"setViewportSize":[390,844]}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Pair[int, int]) (Result, error) {
		return nil, r.tabs.SetSize(ctx, v.A, v.B)
	},
})

// maxSide bounds each side of the visible area.
const maxSide = 8192

// urlShape is an address to go to. One that depends on values is checked when
// they are filled in.
var urlShape = lang.Shape[lang.Text]{
	Words: "URL", Schema: `{"type":"string","minLength":1}`,
	Read: func(d *lang.Decoder, n *lang.Node) lang.Text {
		s, ok := d.ReadString(n, "a URL")
		t := lang.ParseText(s)
		if ok && t.Fixed() {
			address, _ := t.Expand(nil)
			if _, err := checkURL(address); err != nil {
				d.Fault(n, "%s", err)
			}
		}
		return t
	},
}

// checkURL lets through what a task may go to: http, https and about:blank,
// however it is spelled.
func checkURL(s string) (string, error) {
	s = strings.TrimSpace(s)
	if strings.EqualFold(s, "about:blank") {
		return "about:blank", nil
	}
	want := fmt.Errorf(`want an absolute http or https URL such as "https://example.com/", not %q`, lang.Short(s, 100))
	if strings.ContainsAny(s, "\t\r\n\\") || s == "" {
		return "", want
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Opaque != "" || strings.Contains(u.Hostname(), "%") { // a zone, or escaped twice
		return "", want
	}
	if u.Scheme != "http" && u.Scheme != "https" { // url.Parse has made it lower case
		return "", want
	}
	return s, nil
}
