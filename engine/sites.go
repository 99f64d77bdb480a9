package engine

import (
	"context"
	"fmt"
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

// siteRefused is the cause of the end of a task that has tried to go elsewhere.
type siteRefused struct {
	address string
	sites   [][]string // each has to name the site
}

func (e *siteRefused) Error() string {
	var lists []string
	for _, l := range e.sites {
		lists = append(lists, lang.Short(strings.Join(l, ", "), 200))
	}
	return fmt.Sprintf("A page was to go to %s, which is not one of the task's sites: %s", lang.Short(e.address, 200), strings.Join(lists, "; of these only "))
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
	var sites []lang.Site
	for _, s := range spelled {
		if site, err := lang.ParseSite(s); err == nil {
			sites = append(sites, site)
		}
	}
	return tabs.Sites.Add(spelled, func(address string) bool { return lang.SiteAllows(sites, address) })
}

// beginSites bounds the pages of the task, and ends it where one of them goes elsewhere.
// In a session the lists of all tasks count. The returned function ends only the second:
// between two tasks, too, pages stay on their sites.
func (r *Run) beginSites(ctx context.Context) (bounded context.Context, end func()) {
	bounded, cancel := context.WithCancelCause(ctx)
	r.sites = siteBounds{r.tabs, cancel}
	if s := r.task.Config.Sites; len(s) > 0 {
		for _, address := range addSites(r.tabs, s) {
			r.warn("the page %s was left: its site is not one of the task's", address)
		}
	}
	r.tabs.Sites.OnRefused(r.sites.refuse)
	return bounded, func() {
		r.tabs.Sites.OnRefused(nil)
		cancel(nil)
	}
}
