package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// address is an http or https URL, or true for all.
type address struct {
	all bool
	url lang.Text
}

func (a address) Keys(to map[string]bool) { a.url.Keys(to) }

var addressShape = lang.Shape[address]{
	Words: "URL or true", Schema: `{"anyOf":[{"const":true},{"type":"string","minLength":1}]}`,
	Read: func(d *lang.Decoder, n *lang.Node) address {
		if n.Kind == 't' {
			return address{all: true}
		}
		if !n.IsString() {
			d.Fault(n, "want a URL, or true for all cookies, not %s", n.Describe())
			return address{}
		}
		return address{url: webURLShape.Read(d, n)}
	},
}

// webURLShape is a URL that cookies can belong to.
var webURLShape = lang.Shape[lang.Text]{
	Words: "URL", Schema: `{"type":"string","minLength":1}`,
	Read: func(d *lang.Decoder, n *lang.Node) lang.Text {
		t := urlShape.Read(d, n)
		if n.IsString() && strings.HasPrefix(strings.ToLower(strings.TrimSpace(n.Text)), "about:") {
			d.Fault(n, "want an http or https URL: %s has no cookies", n.Text)
		}
		return t
	},
}

var _ = define(Action[address]{
	Name: "getCookies", Group: "Cookies",
	Doc:   "Returns the cookies that the browser would send to a URL, or all its cookies with `true`. Cookies that are kept for pages of one site alone (`Partitioned`) are among them, with their `partitionKey`.",
	Value: addressShape,
	Opts: []Opt{
		opt("name", lang.NonEmptyShape("cookie name"), "Only cookies of this name."),
		opt("domain", lang.NonEmptyShape("domain"), "Only cookies of this domain and those below it."),
		partitionOpt,
	},
	Result:  "array of `{name, value, domain, path, secure, httpOnly, sameSite, session, expirationDate, partitionKey}`; `expirationDate` is in seconds since the epoch, and absent for a session cookie. `sameSite` and `partitionKey` are absent where there is none",
	Example: `{"getCookies":"http://demo.troupe.test/"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v address) (Result, error) {
		if r.page.input != sentNothing || r.page.script { // which may be what sets a cookie
			if _, err := r.page.call(ctx, s, Call{Fn: "settled"}); err != nil {
				return nil, err
			}
		}
		cookies, err := v.cookies(ctx, r)
		if err != nil {
			return nil, err
		}
		name, err := ownText(r, s, "name")
		if err != nil {
			return nil, err
		}
		domain, err := ownText(r, s, "domain")
		if err != nil {
			return nil, err
		}
		out := []cookieOut{}
		for _, c := range cookies {
			if inPartition(s, c) && (name == "" || c.Name == name) && (domain == "" || domainMatches(c.Domain, domain)) {
				out = append(out, showCookie(c))
			}
		}
		return json.Marshal(out)
	},
})

// ownText is an option of the action's own that is a text; empty without it.
func ownText(r *Run, s *Step, name string) (string, error) {
	t, ok := s.Options.own[name].(lang.Text)
	if !ok {
		return "", nil
	}
	return t.Expand(r.cache)
}

func domainMatches(have, want string) bool {
	have, want = strings.TrimPrefix(strings.ToLower(have), "."), strings.TrimPrefix(strings.ToLower(want), ".")
	return have == want || strings.HasSuffix(have, "."+want)
}

// cookieOut is a cookie as answers show it.
type cookieOut struct {
	Name           string   `json:"name"`
	Value          string   `json:"value"`
	Domain         string   `json:"domain"`
	Path           string   `json:"path"`
	Secure         bool     `json:"secure"`
	HTTPOnly       bool     `json:"httpOnly"`
	SameSite       string   `json:"sameSite,omitempty"`
	Session        bool     `json:"session"`
	ExpirationDate *float64 `json:"expirationDate,omitempty"`

	Partition *browser.Partition `json:"partitionKey,omitempty"`
}

// partitionShape is the site of the pages that a cookie is kept for alone.
var partitionShape = lang.Shape[*browser.Partition]{
	Words:  "site of a page, or {topLevelSite, hasCrossSiteAncestor}",
	Schema: `{"anyOf":[{"type":"string","minLength":1},{"type":"object","required":["topLevelSite"],"additionalProperties":false,"properties":{"topLevelSite":{"type":"string","minLength":1},"hasCrossSiteAncestor":{"type":"boolean","default":true}}}]}`,
	Read: func(d *lang.Decoder, n *lang.Node) *browser.Partition {
		p := &browser.Partition{Ancestor: true}
		site := func(f *lang.Node) {
			s, ok := d.ReadString(f, "the site of a page, such as https://shop.example")
			u, err := url.Parse(s)
			if ok && (err != nil || u.Scheme == "" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "") {
				d.Fault(f, "want the site of a page, such as https://shop.example, not %q", lang.Short(s, 200))
			}
			p.Site = strings.TrimSuffix(s, "/")
		}
		if n.IsString() {
			site(n)
			return p
		}
		if d.ReadObject(n, "partitionKey", lang.Field("topLevelSite", site), lang.Field("hasCrossSiteAncestor", func(f *lang.Node) { p.Ancestor = lang.BoolShape.Read(d, f) })) && p.Site == "" {
			d.Fault(n, "want topLevelSite in partitionKey, the site of a page such as https://shop.example")
		}
		return p
	},
}

var partitionOpt = opt("partitionKey", partitionShape, "Only cookies that are kept for pages of this site alone: a site such as `https://shop.example`, or `{topLevelSite, hasCrossSiteAncestor}`.")

// inPartition reports whether a cookie is in the partition that the step names, if it does.
func inPartition(s *Step, c browser.Cookie) bool {
	return samePartition(own[*browser.Partition](s, "partitionKey", nil), c)
}

func samePartition(want *browser.Partition, c browser.Cookie) bool {
	return want == nil || c.Partition != nil && *c.Partition == *want
}

func showCookie(c browser.Cookie) cookieOut {
	o := cookieOut{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Secure: c.Secure, HTTPOnly: c.HTTPOnly, SameSite: c.SameSite, Session: c.Session, Partition: c.Partition}
	if !c.Session {
		e := c.Expires
		o.ExpirationDate = &e
	}
	return o
}

// cookies are the cookies of a URL, or all.
func (a address) cookies(ctx context.Context, r *Run) ([]browser.Cookie, error) {
	all, err := r.tabs.Cookies.All(ctx)
	if err != nil || a.all {
		return all, err
	}
	text, err := r.navigation.address(a.url)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, Problemf(CodeInvalidValue, "%q is no URL", text)
	}
	var out []browser.Cookie
	for _, c := range all {
		if c.SentTo(u) {
			out = append(out, c)
		}
	}
	return out, nil
}

// cookieIn is a cookie as a request spells it.
type cookieIn struct {
	url, name, value, path lang.Text
	domain, sameSite       *lang.Text
	secure, httpOnly       bool
	expires                *float64
	partition              *browser.Partition
}

var cookieShape = lang.Shape[cookieIn]{
	Words: "cookie",
	Schema: `{"type":"object","required":["url","name","value"],"additionalProperties":false,"properties":{"url":{"type":"string"},"name":{"type":"string"},"value":{"type":"string"},` +
		`"domain":{"type":"string"},"path":{"type":"string"},"secure":{"type":"boolean"},"httpOnly":{"type":"boolean"},"sameSite":{"enum":["Strict","Lax","None"]},"session":{"type":"boolean"},"expirationDate":{"type":"number"},"partitionKey":` + partitionShape.Schema + `}}`,
	Read: func(d *lang.Decoder, n *lang.Node) (c cookieIn) {
		text := func(to *lang.Text) func(*lang.Node) {
			return func(f *lang.Node) { *to = lang.TextShape("string").Read(d, f) }
		}
		session := false
		ok := d.ReadObject(n, "a cookie",
			lang.Field("url", func(f *lang.Node) { c.url = webURLShape.Read(d, f) }),
			lang.Field("name", text(&c.name)),
			lang.Field("value", text(&c.value)),
			lang.Field("path", text(&c.path)),
			lang.Field("domain", func(f *lang.Node) { t := lang.NonEmptyShape("domain").Read(d, f); c.domain = &t }),
			lang.Field("secure", func(f *lang.Node) { c.secure = lang.BoolShape.Read(d, f) }),
			lang.Field("httpOnly", func(f *lang.Node) { c.httpOnly = lang.BoolShape.Read(d, f) }),
			lang.Field("sameSite", func(f *lang.Node) {
				t := lang.ParseText(lang.EnumShape("sameSite", "Strict", "Lax", "None").Read(d, f))
				c.sameSite = &t
			}),
			// getCookies gives it, so setCookies takes it.
			lang.Field("session", func(f *lang.Node) { session = lang.BoolShape.Read(d, f) }),
			lang.Field("expirationDate", func(f *lang.Node) {
				e := lang.NumberShape("seconds since the epoch", 0, 1e12).Read(d, f)
				c.expires = &e
			}),
			lang.Field("partitionKey", func(f *lang.Node) { c.partition = partitionShape.Read(d, f) }),
		)
		if !ok {
			return c
		}
		for _, name := range []string{"url", "name", "value"} {
			if f := n.Field(name); f == nil || f.IsNull() {
				d.Fault(n, "want %s in a cookie", name)
			}
		}
		if session {
			c.expires = nil
		}
		return c
	},
}

func (c cookieIn) Keys(to map[string]bool) {
	for _, t := range []lang.Text{c.url, c.name, c.value, c.path} {
		t.Keys(to)
	}
	if c.domain != nil {
		c.domain.Keys(to)
	}
}

var _ = define(Action[[]cookieIn]{
	Name: "setCookies", Group: "Cookies",
	Doc: "Sets cookies. Each needs `url`, `name` and `value`, and can have `domain`, `path`, `secure`, `httpOnly`, `sameSite`, `expirationDate` (seconds since the epoch) and `partitionKey`, as `getCookies` gives it. Without `expirationDate` the cookie ends with the session. A cookie is for the host of the URL only; with a `domain` that begins with a dot it is also for the hosts below that domain.",
	Value: lang.Shape[[]cookieIn]{
		Words: "array of cookies", Schema: `{"type":"array","items":` + cookieShape.Schema + `,"minItems":1,"maxItems":500}`,
		Read: func(d *lang.Decoder, n *lang.Node) []cookieIn {
			if !n.IsArray() || len(n.Elements) == 0 || len(n.Elements) > 500 {
				d.Fault(n, "want an array of 1 to 500 cookies")
				return nil
			}
			var out []cookieIn
			for _, e := range n.Elements {
				out = append(out, cookieShape.Read(d, e))
			}
			return out
		},
	},
	Keys: func(v []cookieIn, to map[string]bool) {
		for _, c := range v {
			c.Keys(to)
		}
	},
	Example: `{"setCookies":[{"url":"http://demo.troupe.test/","name":"theme","value":"dark"}]}`,
	Run: func(ctx context.Context, r *Run, s *Step, v []cookieIn) (Result, error) {
		var set []browser.Cookie
		for i, c := range v {
			b, err := c.cookie(r)
			if err != nil {
				return nil, err
			}
			if fault := surelyWrong(b); fault != "" {
				return nil, unaccepted(b, fault, i, len(v))
			}
			set = append(set, b)
		}
		for i, c := range set {
			err := r.tabs.Cookies.Set(ctx, c)
			if errors.Is(err, browser.ErrCookie) {
				return nil, unaccepted(c, whyRefused(c), i, len(set))
			} else if err != nil {
				return nil, err
			}
		}
		return nil, nil
	},
})

// cookie fills in the values of a cookie.
func (c cookieIn) cookie(r *Run) (browser.Cookie, error) {
	out := browser.Cookie{Secure: c.secure, HTTPOnly: c.httpOnly, Session: c.expires == nil, Partition: c.partition}
	if c.expires != nil {
		out.Expires = *c.expires
	}
	var err error
	if out.URL, err = r.navigation.address(c.url); err != nil {
		return out, err
	}
	for _, f := range []struct {
		to   *string
		from *lang.Text
	}{{&out.Name, &c.name}, {&out.Value, &c.value}, {&out.Path, &c.path}, {&out.Domain, c.domain}, {&out.SameSite, c.sameSite}} {
		if f.from == nil {
			continue
		}
		if *f.to, err = f.from.Expand(r.cache); err != nil {
			return out, err
		}
	}
	return out, nil
}

var _ = define(Action[cookieIn]{
	Name: "deleteCookie", Group: "Cookies",
	Doc: "Deletes the cookies with this name that `getCookies` lists for the URL, also those that are kept for pages of one site alone. With `partitionKey` it is only those of that site.",
	Value: lang.Shape[cookieIn]{
		Words: "{url, name}", Schema: `{"type":"object","required":["url","name"],"additionalProperties":false,"properties":{"url":{"type":"string"},"name":{"type":"string","minLength":1},"partitionKey":` + partitionShape.Schema + `}}`,
		Read: func(d *lang.Decoder, n *lang.Node) (c cookieIn) {
			ok := d.ReadObject(n, "deleteCookie",
				lang.Field("url", func(f *lang.Node) { c.url = webURLShape.Read(d, f) }),
				lang.Field("name", func(f *lang.Node) { c.name = lang.NonEmptyShape("name").Read(d, f) }),
				lang.Field("partitionKey", func(f *lang.Node) { c.partition = partitionShape.Read(d, f) }),
			)
			for _, name := range []string{"url", "name"} {
				if f := n.Field(name); ok && (f == nil || f.IsNull()) {
					d.Fault(n, "want %s, as in {\"url\":\"https://example.com/\",\"name\":\"theme\"}", name)
				}
			}
			return c
		},
	},
	Example: `{"deleteCookie":{"url":"http://demo.troupe.test/","name":"theme"}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v cookieIn) (Result, error) {
		name, err := v.name.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		cookies, err := address{url: v.url}.cookies(ctx, r)
		if err != nil {
			return nil, err
		}
		var out []browser.Cookie
		for _, c := range cookies {
			if c.Name == name && samePartition(v.partition, c) {
				out = append(out, c)
			}
		}
		return nil, r.tabs.Cookies.Delete(ctx, out)
	},
})

var _ = define(Action[address]{
	Name: "clearCookies", Group: "Cookies",
	Doc:     "Deletes all cookies, or only those that `getCookies` lists for a URL, also those that are kept for pages of one site alone.",
	Value:   addressShape,
	Opts:    []Opt{partitionOpt},
	Example: `{"clearCookies":true}`,
	Run: func(ctx context.Context, r *Run, s *Step, v address) (Result, error) {
		if _, some := s.Options.own["partitionKey"]; v.all && !some {
			return nil, r.tabs.Cookies.Clear(ctx)
		}
		cookies, err := v.cookies(ctx, r)
		if err != nil {
			return nil, err
		}
		cookies = slices.DeleteFunc(cookies, func(c browser.Cookie) bool { return !inPartition(s, c) })
		return nil, r.tabs.Cookies.Delete(ctx, cookies)
	},
})
