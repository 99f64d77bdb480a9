package mcp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"troupe/engine/lang"
)

// Headers in which the person who connects a model bounds what it may do. A model
// cannot write them.
const (
	sitesHeader = "Troupe-Sites"
	allowHeader = "Troupe-Allow"
)

// RequestHeaders are those of its own that a request of the protocol may have.
var RequestHeaders = []string{sitesHeader, allowHeader, "Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Last-Event-ID"}

// Policy bounds what a model's lists may do.
type Policy struct {
	Sites     []string // that pages may be from; none: any
	Downloads bool     // files that pages send are kept
	Uploads   bool     // uploadFile works
}

// ParsePolicy reads a policy: its sites, and what else is allowed.
func ParsePolicy(sites, allow []string) (p Policy, err error) {
	if p.Sites, err = words(sites); err != nil {
		return p, fmt.Errorf("the sites: %w, such as shop.example.org, or leave them out for any site", err)
	}
	if err := lang.CheckSites(p.Sites); err != nil {
		return p, err
	}
	allowed, err := words(allow)
	if err != nil {
		return p, fmt.Errorf("what is allowed: %w, downloads or uploads, or leave it out for neither", err)
	}
	for _, a := range allowed {
		switch a {
		case "downloads":
			p.Downloads = true
		case "uploads":
			p.Uploads = true
		default:
			return p, fmt.Errorf("%q cannot be allowed: want downloads or uploads", lang.Short(a, 60))
		}
	}
	return p, nil
}

func policyOf(h http.Header) (Policy, error) {
	p, err := ParsePolicy(h.Values(sitesHeader), h.Values(allowHeader))
	if err != nil {
		return p, fmt.Errorf("the headers %s and %s: %w", sitesHeader, allowHeader, err)
	}
	return p, nil
}

// words splits lists with commas or spaces between their words. A list that has none is an
// error: whoever gave it wanted to say something.
func words(lists []string) (all []string, err error) {
	for _, l := range lists {
		of := strings.FieldsFunc(l, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		if len(of) == 0 {
			return nil, fmt.Errorf("%q names nothing: want at least one", lang.Short(l, 60))
		}
		all = append(all, of...)
	}
	return all, nil
}

// errNoSite says that two lists of sites have nothing in common.
var errNoSite = errors.New("none of these sites is one of those that the model may use")

// narrow is what both of two lists allow; an empty one allows any site.
func narrow(a, b []string) ([]string, error) {
	if len(a) == 0 || len(b) == 0 {
		return append(slices.Clone(a), b...), nil
	}
	var both []string
	add := func(list, of []string) error {
		for _, one := range list {
			s, err := lang.ParseSite(one)
			if err != nil {
				return err
			}
			if slices.Contains(both, one) {
				continue
			}
			if slices.ContainsFunc(of, func(o string) bool { w, err := lang.ParseSite(o); return err == nil && s.Within(w) }) {
				both = append(both, one)
			}
		}
		return nil
	}
	if err := errors.Join(add(a, b), add(b, a)); err != nil {
		return nil, err
	}
	if len(both) == 0 {
		return nil, errNoSite
	}
	return both, nil
}

// config is the config of a task under the policy.
func (p Policy) config(sites []string) map[string]any {
	c := map[string]any{"trace": true, "continueOnError": false}
	if len(sites) > 0 {
		c["sites"] = sites
	}
	if !p.Downloads {
		c["downloads"] = "refuse"
	}
	if !p.Uploads {
		c["uploads"] = "refuse"
	}
	return c
}
