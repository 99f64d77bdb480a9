package lang

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"troupe/engine/host"
)

// Site is a part of the web that pages may be from, as lists of sites name it: a host
// as in shop.example.org, a host with all names below it as in *.example.org, each with
// a scheme or a port where only that one is meant.
type Site struct {
	scheme, host, port string // empty: any scheme, any port
	below              bool   // names below the host, too
}

// MaxSites bounds a list of sites.
const MaxSites = 100

// ParseSite reads the spelling of a site.
func ParseSite(s string) (site Site, err error) {
	wrong := fmt.Errorf("%q is not a site: want a host such as shop.example.org, *.example.org for all names below it too, or an origin such as https://shop.example.org", Short(s, 100))
	rest := strings.ToLower(s)
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		if scheme != "http" && scheme != "https" {
			return site, wrong
		}
		site.scheme, rest = scheme, after
	}
	if after, ok := strings.CutPrefix(rest, "*."); ok {
		site.below, rest = true, after
	}
	u, err := url.Parse("//" + rest)
	if err != nil || u.Host != rest || u.Hostname() == "" || u.User != nil || strings.ContainsAny(u.Hostname(), "*%, \t") {
		return Site{}, wrong
	}
	site.host, site.port = host.Name(u.Hostname()), u.Port()
	if site.port != "" && site.port == defaultPorts[site.scheme] {
		site.port = ""
	}
	if site.host == "" || site.below && !strings.Contains(site.host, ".") { // nobody means all of com
		return Site{}, wrong
	}
	return site, nil
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// Allows reports whether an address is of the site.
func (s Site) Allows(address string) bool {
	u, err := url.Parse(strings.TrimPrefix(address, "blob:"))
	if err != nil {
		return false
	}
	scheme := strings.ToLower(u.Scheme)
	port := u.Port()
	if port == defaultPorts[scheme] {
		port = ""
	}
	switch {
	case scheme != "http" && scheme != "https", s.scheme != "" && s.scheme != scheme:
		return false
	case s.port != "" && s.port != port, s.port == "" && s.scheme != "" && port != "":
		return false
	}
	return s.names(host.Name(u.Hostname()))
}

// names reports whether a host is one of the site's.
func (s Site) names(host string) bool {
	return host == s.host || s.below && strings.HasSuffix(host, "."+s.host)
}

// Within reports whether all that is of the site is also of another.
func (s Site) Within(other Site) bool {
	switch {
	case other.scheme != "" && other.scheme != s.scheme, other.port != "" && other.port != s.port:
		return false
	case other.scheme != "" && other.port == "" && s.port != "":
		return false
	case s.below && !other.below:
		return false
	}
	return other.names(s.host)
}

// Meets reports whether an address can be of both sites.
func (s Site) Meets(other Site) bool {
	switch {
	case s.scheme != "" && other.scheme != "" && s.scheme != other.scheme, s.port != "" && other.port != "" && s.port != other.port:
		return false
	case s.scheme != "" && s.port == "" && other.port != "", other.scheme != "" && other.port == "" && s.port != "":
		return false // one is at the usual port only
	}
	return s.names(other.host) || other.names(s.host)
}

// CheckSites finds what is wrong with a list of sites that people wrote; nil is no list. One
// that names nothing is wrong: its writer wanted a bound, and without one any site is meant.
func CheckSites(list []string) error {
	if list != nil && len(list) == 0 {
		return fmt.Errorf("the list of sites is empty: want 1 to %d sites, such as shop.example.org, or no list for any site", MaxSites)
	}
	if len(list) > MaxSites {
		return fmt.Errorf("there are %d sites: want at most %d", len(list), MaxSites)
	}
	for _, s := range list {
		if _, err := ParseSite(s); err != nil {
			return err
		}
	}
	return nil
}

// SiteAllows reports whether one of several sites allows an address.
func SiteAllows(sites []Site, address string) bool {
	return slices.ContainsFunc(sites, func(s Site) bool { return s.Allows(address) })
}
