package engine

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// Bounds of what config says of requests: each request of a page is compared with it.
const (
	maxRules       = 100     // of each kind
	maxRuleSteps   = 10_000  // of all patterns together
	maxRuleEffort  = 1 << 20 // steps times bytes of an address, for one pattern
	maxHeaderValue = 8 << 10
)

// requestConfig is what config says of requests. A session's state has it as it was
// written: without the secrets that it names.
type requestConfig struct {
	Block       *blockConfig                 `json:"block,omitempty"`
	Mock        []mockConfig                 `json:"mock,omitempty"`
	Headers     map[string]map[string]string `json:"headers,omitempty"`     // by origin and name
	Credentials map[string]loginConfig       `json:"credentials,omitempty"` // by origin
}

type blockConfig struct {
	Types      []string `json:"types,omitempty"`
	URLs       []string `json:"urls,omitempty"`
	ThirdParty []string `json:"thirdParty,omitempty"`
}

type mockConfig struct {
	URL     string            `json:"url"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    []byte            `json:"body,omitempty"`
}

type loginConfig struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// kindNames are the kinds of requests that block names.
var kindNames = func() (names []string) {
	for name := range browser.RequestKinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// with is what holds when a further request of a session says more: a field that it has
// takes the place of the whole field before.
func (c *requestConfig) with(more *requestConfig) *requestConfig {
	if c == nil || more == nil {
		if more != nil {
			return more
		}
		return c
	}
	all := *c
	if more.Block != nil {
		all.Block = more.Block
	}
	if more.Mock != nil {
		all.Mock = more.Mock
	}
	if more.Headers != nil {
		all.Headers = more.Headers
	}
	if more.Credentials != nil {
		all.Credentials = more.Credentials
	}
	return &all
}

// requestFields are the fields of config that say what becomes of requests.
func (d *decoder) requestFields(c *Config) []lang.Member {
	at := func() *requestConfig {
		if c.requests == nil {
			c.requests = new(requestConfig)
		}
		return c.requests
	}
	return []lang.Member{
		lang.Field("block", func(f *lang.Node) { at().Block = d.readBlock(f) }),
		lang.Field("mock", func(f *lang.Node) { at().Mock = d.readMocks(f) }),
		lang.Field("headers", func(f *lang.Node) { at().Headers = d.readHeadersByOrigin(f) }),
		lang.Field("credentials", func(f *lang.Node) { at().Credentials = d.readCredentials(f) }),
	}
}

// requestSchemas are the same fields for programs.
func requestSchemas() object {
	kinds := `{"type":"array","items":{"enum":["` + strings.Join(kindNames, `","`) + `"]}}`
	texts := `{"type":"object","additionalProperties":{"type":"string"}}`
	return object{
		{"block", optional(fmt.Sprintf(`{"type":"object","additionalProperties":false,"properties":{"types":%[1]s,"urls":{"type":"array","items":{"type":"string","minLength":1},"maxItems":%[2]d},"thirdParty":%[1]s}}`, kinds, maxRules),
			"Requests that are not sent: kinds, patterns of addresses, and kinds from other sites than the page's. Default: none.")},
		{"mock", optional(fmt.Sprintf(`{"type":"object","maxProperties":%d,"additionalProperties":{"type":"object","additionalProperties":false,"properties":{"status":{"type":"integer","minimum":200,"maximum":599,"default":200},"headers":%s,"body":{},"bodyBase64":{"type":"string","contentEncoding":"base64"}}}}`, maxRules, texts),
			"Answers that pages get in place of a server's, by patterns of addresses. Default: none.")},
		{"headers", optional(fmt.Sprintf(`{"type":"object","maxProperties":%d,"additionalProperties":%s}`, maxRules, texts), "Headers that are added to requests, by origin. A value may hold ${secret:NAME}. Default: none.")},
		{"credentials", optional(fmt.Sprintf(`{"type":"object","maxProperties":%d,"additionalProperties":{"type":"object","required":["username","password"],"additionalProperties":false,"properties":{"username":{"type":"string"},"password":{"type":"string"}}}}`, maxRules),
			"User names and passwords for servers that ask for them, by origin. They may hold ${secret:NAME}. Default: none.")},
	}
}

func (d *decoder) readBlock(n *lang.Node) *blockConfig {
	b := new(blockConfig)
	kinds := func(to *[]string) func(*lang.Node) {
		return func(f *lang.Node) {
			for _, e := range d.readFew(f, `kinds of requests, such as ["image"]`) {
				if e.IsString() && slices.Contains(kindNames, e.Text) {
					*to = append(*to, e.Text)
					continue
				}
				d.Fault(e, "want a kind of request, one of %s, not %s%s", strings.Join(kindNames, ", "), e.Describe(), d.DidYouMean(e.Text, func() []string { return kindNames }))
			}
		}
	}
	d.ReadObject(n, "block",
		lang.Field("types", kinds(&b.Types)),
		lang.Field("thirdParty", kinds(&b.ThirdParty)),
		lang.Field("urls", func(f *lang.Node) {
			for _, e := range d.readFew(f, `patterns of addresses, such as ["ads.example"]`) {
				if s, ok := d.ReadString(e, "a pattern of an address"); ok && d.checkPattern(e, s) {
					b.URLs = append(b.URLs, s)
				}
			}
		}),
	)
	return b
}

// readFew reads an array of a bounded length.
func (d *decoder) readFew(n *lang.Node, what string) []*lang.Node {
	if !n.IsArray() || len(n.Elements) > maxRules {
		d.Fault(n, `want an array of up to %d %s, not %s`, maxRules, what, n.Describe())
		return nil
	}
	return n.Elements
}

// checkPattern makes a fault of what is no pattern, or of too many.
func (d *decoder) checkPattern(n *lang.Node, s string) bool {
	if s == "" {
		d.Fault(n, "want a pattern of an address, not an empty string")
		return false
	}
	p, err := lang.ReadURLPattern(s)
	if err == nil {
		if d.ruleSteps += p.Steps(); d.ruleSteps > maxRuleSteps {
			err = fmt.Errorf("the patterns of block and mock have more than %d steps together, which are the limit", maxRuleSteps)
		}
	}
	if err != nil {
		d.Fault(n, "%v", err)
	}
	return err == nil
}

func (d *decoder) readMocks(n *lang.Node) []mockConfig {
	all := []mockConfig{}
	for _, f := range d.readMembers(n, `mock, such as {"/api/price":{"body":{"price":5}}}`) {
		m := mockConfig{URL: f.Key, Status: http.StatusOK}
		d.checkPattern(f, f.Key)
		kind := ""
		var body *lang.Node
		d.ReadObject(f, "the answer of a mock",
			lang.Field("status", func(f *lang.Node) { m.Status = lang.IntShape("a status", 200, 599).Read(&d.Decoder, f) }),
			lang.Field("headers", func(f *lang.Node) { m.Headers = d.readHeaders(f, false) }),
			lang.Field("body", func(f *lang.Node) {
				if body, kind, m.Body = f, "application/json", f.JSON(); f.IsString() {
					kind, m.Body = "text/plain; charset=utf-8", []byte(f.Text)
				}
			}),
			lang.Field("bodyBase64", func(f *lang.Node) {
				if body != nil {
					d.Fault(f, "want body or bodyBase64, not both")
				}
				s, ok := d.ReadString(f, "bytes in base64")
				b, err := base64.StdEncoding.DecodeString(s)
				if ok && err != nil {
					d.Fault(f, "want bytes in base64 (A-Z, a-z, 0-9, + and /, filled up with =): %v", err)
				}
				body, kind, m.Body = f, http.DetectContentType(b), b
			}),
		)
		if !slices.ContainsFunc(slices.Collect(mapKeys(m.Headers)), func(name string) bool { return strings.EqualFold(name, "Content-Type") }) && kind != "" {
			if m.Headers == nil {
				m.Headers = map[string]string{}
			}
			m.Headers["Content-Type"] = kind
		}
		all = append(all, m)
	}
	return all
}

// readMembers reads an object of a bounded number of fields.
func (d *decoder) readMembers(n *lang.Node, what string) []*lang.Node {
	if !n.IsObject() || len(n.Fields) > maxRules {
		d.Fault(n, "want %s: an object of up to %d fields, not %s", what, maxRules, n.Describe())
		return nil
	}
	return n.Fields
}

// reserved are the headers that say how a request is sent, and cookies, which have actions
// of their own.
var reserved = []string{"host", "content-length", "content-encoding", "transfer-encoding", "connection", "upgrade", "keep-alive", "te", "trailer", "expect", "cookie", "set-cookie"}

func (d *decoder) readHeaders(n *lang.Node, secrets bool) map[string]string {
	all := map[string]string{}
	for _, f := range d.readMembers(n, `headers, such as {"X-Team":"a"}`) {
		name := strings.ToLower(f.Key)
		switch {
		case !httpguts.ValidHeaderFieldName(f.Key):
			d.Fault(f, "want the name of a header, not %q", lang.Short(f.Key, 100))
		case slices.Contains(reserved, name) || strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "sec-"):
			d.Fault(f, "the header %q cannot be set: the browser does that", f.Key)
		default:
			all[f.Key] = d.readRuleText(f, "the value of a header", secrets)
			if s := all[f.Key]; !httpguts.ValidHeaderFieldValue(s) || len(s) > maxHeaderValue {
				d.Fault(f, "want the value of a header, in one line of up to %d bytes", maxHeaderValue)
			}
		}
	}
	return all
}

// readRuleText reads a text that may hold secrets, and no other values.
func (d *decoder) readRuleText(n *lang.Node, what string, secrets bool) string {
	if !n.IsString() || !secrets {
		s, _ := d.ReadString(n, what)
		return s
	}
	t := lang.SecretTextShape(what).Read(&d.Decoder, n)
	keys := map[string]bool{}
	if t.Keys(keys); len(keys) > 0 {
		d.Fault(n, "only ${secret:NAME} is filled in here (a plain ${ is written $${)")
	}
	return n.Text
}

// readOrigin checks the origin that a field is called.
func (d *decoder) readOrigin(f *lang.Node) string {
	origin, err := ParseOrigin(f.Key)
	if err != nil {
		d.Fault(f, "%v", err)
	}
	return origin
}

func (d *decoder) readHeadersByOrigin(n *lang.Node) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, f := range d.readMembers(n, `headers by origin, such as {"https://shop.example":{"X-Team":"a"}}`) {
		origin := d.readOrigin(f)
		all[origin] = d.readHeaders(f, true)
	}
	return all
}

func (d *decoder) readCredentials(n *lang.Node) map[string]loginConfig {
	all := map[string]loginConfig{}
	for _, f := range d.readMembers(n, `credentials by origin, such as {"https://shop.example":{"username":"ada","password":"${secret:shop}"}}`) {
		var l loginConfig
		origin := d.readOrigin(f)
		if d.ReadObject(f, "credentials",
			lang.Field("username", func(f *lang.Node) { l.Username = d.readRuleText(f, "a user name", true) }),
			lang.Field("password", func(f *lang.Node) { l.Password = d.readRuleText(f, "a password", true) }),
		) {
			for _, name := range []string{"username", "password"} {
				if v := f.Field(name); v == nil || v.IsNull() {
					d.Fault(f, "credentials need %s, a string", name)
				}
			}
		}
		all[origin] = l
	}
	return all
}

// parseRequests reads what a session's state has of them.
func parseRequests(b json.RawMessage) (*requestConfig, error) {
	if len(b) == 0 {
		return nil, nil
	}
	c := new(requestConfig)
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("reading the session's rules for requests: %w", err)
	}
	return c, nil
}
