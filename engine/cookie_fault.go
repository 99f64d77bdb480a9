package engine

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"troupe/engine/browser"
	"troupe/engine/host"
	"troupe/engine/lang"
)

// maxCookie is how long the name and the value of a cookie may be together, and
// maxCookieField how long its path or domain, as browsers have it.
const (
	maxCookie      = 4096
	maxCookieField = 1024
)

// unaccepted is the failure of a cookie that cannot be set: the one of so many.
func unaccepted(c browser.Cookie, why string, i, of int) error {
	at := ""
	if of > 1 {
		at = fmt.Sprintf(" (cookie %d of %d)", i+1, of)
	}
	return Problemf(CodeInvalidValue, "Cookie %q was not accepted for %s: %s%s", lang.Short(c.Name, 100), lang.Short(c.URL, 200), why, at)
}

// surelyWrong says what no browser takes of a cookie: which field, and what would
// be right. Empty: nothing. It is asked before any cookie is set.
func surelyWrong(c browser.Cookie) string {
	u, err := url.Parse(c.URL)
	probe := http.Cookie{Name: c.Name, Value: "x"}
	switch {
	case c.Name != "" && probe.Valid() != nil:
		return fmt.Sprintf("name: %q is no name for a cookie: want letters, digits and signs other than spaces and ()<>@,;:/[]?={}", lang.Short(c.Name, 100))
	case c.Partition != nil && !c.Secure:
		return "partitionKey: a cookie that is kept for pages of one site alone needs secure: true"
	case c.Domain != "" && err == nil && !domainMatches(u.Hostname(), c.Domain):
		return fmt.Sprintf("the domain %s is another one: want %s, or a domain that it is in", lang.Short(c.Domain, 200), u.Hostname())
	}
	return ""
}

// whyRefused says what may have kept the browser from taking a cookie, which does
// not say it itself.
func whyRefused(c browser.Cookie) string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return "url: want an address such as https://example.com/"
	}
	lower := strings.ToLower(c.Name)
	switch {
	case c.Name == "" && c.Value == "":
		return "name: want a name or a value, not two empty strings"
	case strings.ContainsFunc(c.Value, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f || r == ';' }):
		return "value: want no line breaks, control characters or semicolons in it"
	case len(c.Name)+len(c.Value) > maxCookie:
		return fmt.Sprintf("value: want at most %d bytes together with the name, not %d", maxCookie, len(c.Name)+len(c.Value))
	case c.Path != "" && !strings.HasPrefix(c.Path, "/"):
		return fmt.Sprintf("path: want one that begins with /, not %q", lang.Short(c.Path, 100))
	case len(c.Path) > maxCookieField:
		return fmt.Sprintf("path: want at most %d bytes, not %d", maxCookieField, len(c.Path))
	case strings.ContainsFunc(c.Path, func(r rune) bool { return r < 0x20 || r == 0x7f || r == ';' }):
		return "path: want no control characters or semicolons in it"
	case len(c.Domain) > maxCookieField:
		return fmt.Sprintf("domain: want at most %d bytes, not %d", maxCookieField, len(c.Domain))
	case c.SameSite == "None" && !c.Secure:
		return `sameSite: "None" wants "secure": true`
	case strings.HasPrefix(lower, "__secure-") && !c.Secure:
		return `secure: a name that begins with __Secure- wants "secure": true`
	case strings.HasPrefix(lower, "__host-") && !c.Secure:
		return `secure: a name that begins with __Host- wants "secure": true`
	case strings.HasPrefix(lower, "__host-") && c.Domain != "":
		return "domain: a name that begins with __Host- wants none"
	case strings.HasPrefix(lower, "__host-") && c.Path != "/":
		return `path: a name that begins with __Host- wants "path": "/"`
	case (c.Secure || strings.HasPrefix(lower, "__secure-") || strings.HasPrefix(lower, "__host-")) && u.Scheme == "http" && !host.Local(u.Hostname()):
		return "secure: such a cookie wants a url that begins with https://"
	}
	return "the browser refuses it and does not say why; look at its domain, path and sameSite"
}
