package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// uploadsShape says whether uploadFile works.
var uploadsShape = lang.EnumShape("what becomes of uploads", "allow", "refuse")

var sitesSchema = fmt.Sprintf(`{"type":"array","items":{"type":"string","minLength":1},"minItems":1,"maxItems":%d}`, lang.MaxSites)

// readSites reads the list of sites that a task's pages may be from.
func (d *decoder) readSites(n *lang.Node) (sites []string) {
	if n.IsNull() {
		return nil
	}
	if !n.IsArray() || len(n.Elements) == 0 || len(n.Elements) > lang.MaxSites {
		d.Fault(n, `want an array of 1 to %d sites, such as ["shop.example.org"], not %s`, lang.MaxSites, n.Describe())
		return nil
	}
	for _, e := range n.Elements {
		s, ok := d.ReadString(e, "a site such as shop.example.org")
		if !ok {
			continue
		}
		if _, err := lang.ParseSite(s); err != nil {
			d.Fault(e, "%v", err)
			continue
		}
		sites = append(sites, s)
	}
	return sites
}

// Within keeps the task's pages on sites that its request does not name and cannot
// widen: those of its token. None leaves the task as it is.
func (t *Task) Within(sites []string) *Task {
	t.bound = sites
	return t
}

// Bound are the sites of [Task.Within]; nil: any.
func (t *Task) Bound() []string { return t.bound }

// SitesWithin reports whether all that a list of sites allows another one allows, too. None
// allows any site.
func SitesWithin(inner, outer []string) bool {
	if len(outer) == 0 {
		return true
	}
	var of []lang.Site
	for _, o := range outer {
		if s, err := lang.ParseSite(o); err == nil {
			of = append(of, s)
		}
	}
	for _, i := range inner {
		s, err := lang.ParseSite(i)
		if err != nil || !slices.ContainsFunc(of, s.Within) {
			return false
		}
	}
	return len(inner) > 0
}

// siteRefused is the cause of the end of a task that has tried to go elsewhere.
type siteRefused struct {
	address string
	sites   [][]string // each has to name the site
}

func (e *siteRefused) Error() string {
	return fmt.Sprintf("A page was to go to %s, which is not one of the task's sites: %s", lang.Short(e.address, 200), spelledLists(e.sites))
}

func spelledLists(all [][]string) string {
	var lists []string
	for _, l := range all {
		lists = append(lists, shortSites(l))
	}
	return strings.Join(lists, "; of these only ")
}

// siteLists are the sites of the task in words.
func (r *Run) siteLists() string { return spelledLists(r.tabs.Sites.Lists()) }

// leftOut warns of frames that were not read because of their sites.
func (r *Run) leftOut(frames int) {
	if frames > 0 {
		r.warn("%d %s of sites that are not the task's %s left out", frames, Plural(frames, "frame", "frames"), Plural(frames, "was", "were"))
	}
}

// siteBounds ends a task that goes where it may not.
type siteBounds struct {
	tabs *browser.Context
	end  context.CancelCauseFunc
}

func (b siteBounds) refuse(address string) {
	b.end(&siteRefused{address, b.tabs.Sites.Lists()})
}

// addSites bounds the pages of a context by a list that was checked.
func addSites(tabs *browser.Context, spelled []string) (left []string) {
	sites := parseSites(spelled)
	return tabs.Sites.Add(spelled, func(address string) bool { return lang.SiteAllows(sites, address) })
}

// parseSites reads a list that was checked. An entry that cannot be read allows nothing.
func parseSites(spelled []string) (sites []lang.Site) {
	for _, s := range spelled {
		if site, err := lang.ParseSite(s); err == nil {
			sites = append(sites, site)
		}
	}
	return sites
}

// siteReview is what is known of the sites of a task before it is played.
type siteReview struct{ own, bound []lang.Site }

// sites warns of sites that the task's token does not allow.
func (v *reviewer) sites() {
	v.allowed = siteReview{parseSites(v.task.Config.Sites), parseSites(v.task.bound)}
	if len(v.task.bound) == 0 {
		return
	}
	for i, s := range v.task.Config.Sites {
		site, err := lang.ParseSite(s)
		if err == nil && !slices.ContainsFunc(v.allowed.bound, site.Meets) {
			v.warn(fmt.Sprintf("/config/sites/%d", i), "no page can be from %s: the token allows only %s", lang.Short(s, 200), shortSites(v.task.bound))
		}
	}
}

// goes warns where a step opens an address that the task may not go to.
func (v *reviewer) goes(s *Step) {
	t, ok := s.value.(lang.Text)
	if !ok || !t.Fixed() {
		return
	}
	address, _ := t.Expand(nil)
	if browser.WebOrigin(address) == "" {
		return
	}
	switch {
	case len(v.task.bound) > 0 && !lang.SiteAllows(v.allowed.bound, address):
		v.warn(stepPointer(s), "ends the task with %s: the token allows only %s", CodeSiteNotAllowed, shortSites(v.task.bound))
	case len(v.task.Config.Sites) > 0 && !lang.SiteAllows(v.allowed.own, address):
		v.warn(stepPointer(s), "ends the task with %s: config.sites has only %s", CodeSiteNotAllowed, shortSites(v.task.Config.Sites))
	}
}

func shortSites(list []string) string { return lang.Short(strings.Join(list, ", "), 200) }

// beginSites bounds the pages of the task, and ends it where one of them goes elsewhere.
// In a session the lists of all tasks count. The returned function ends only the second:
// between two tasks, too, pages stay on their sites.
func (r *Run) beginSites(ctx context.Context) (bounded context.Context, end func()) {
	bounded, cancel := context.WithCancelCause(ctx)
	r.sites = siteBounds{r.tabs, cancel}
	lists := [][]string{r.task.bound, r.task.Config.Sites}
	for _, f := range r.task.flows {
		lists = append(lists, f.Sites)
	}
	if r.env.Profile != nil {
		lists = append(lists, r.env.Profile.Sites)
	}
	for _, sites := range lists {
		if len(sites) == 0 {
			continue
		}
		for _, address := range addSites(r.tabs, sites) {
			r.warn("the page %s was left: its site is not one of the task's", address)
		}
	}
	r.tabs.Sites.OnRefused(r.sites.refuse)
	return bounded, func() {
		r.tabs.Sites.OnRefused(nil)
		cancel(nil)
	}
}
