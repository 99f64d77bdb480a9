package lang

import (
	"regexp"
	"strconv"
	"strings"
)

// dialect is a way in which another tool writes selectors that CSS does not have.
type dialect struct {
	is   *regexp.Regexp
	want func(m []string) string
}

// dialects are Playwright's, jQuery's and Selenium's. The first that fits counts.
var dialects = []dialect{
	{regexp.MustCompile(`^(text|role)=(?:([a-z]+)\[name=)?/(.+)/([imsu]*)\]?$`), func(m []string) string {
		regex := `{"regex": ` + quoted(m[3])
		if m[4] != "" {
			regex += `, "flags": ` + quoted(m[4])
		}
		if m[1] == "role" {
			return `{"role": ` + quoted(m[2]) + `, "name": ` + regex + `}}`
		}
		return `{"text": ` + regex + `}}`
	}},
	{regexp.MustCompile(`^text=(.+)$`), func(m []string) string {
		if exact, ok := unquoted(m[1]); ok {
			return `{"text": ` + quoted(exact) + `, "exact": true}`
		}
		return `{"text": ` + quoted(m[1]) + `}`
	}},
	{regexp.MustCompile(`^role=([a-z]+)(?:\[name=("[^"]*"|'[^']*')\])?$`), func(m []string) string {
		if name, ok := unquoted(m[2]); ok {
			return `{"role": ` + quoted(m[1]) + `, "name": ` + quoted(name) + `}`
		}
		return `{"role": ` + quoted(m[1]) + `}`
	}},
	{regexp.MustCompile(`^(?:css|xpath)=(.+)$`), func(m []string) string { return quoted(m[1]) }},
	{regexp.MustCompile(`^id=([\w-]+)$`), func(m []string) string { return quoted("#" + m[1]) }},
	{regexp.MustCompile(`^data-test-?id=([\w-]+)$`), func(m []string) string { return `{"testId": ` + quoted(m[1]) + `}` }},
	{regexp.MustCompile(`^([^>]+?)\s*>>\s*([^>]+)$`), func(m []string) string {
		return `{"selector": ` + quoted(m[2]) + `, "within": ` + quoted(m[1]) + `}`
	}},
	{regexp.MustCompile(`^([^()]*):(?:has-text|text|text-is|contains)\(("[^"]*"|'[^']*'|[^()"']+)\)$`), func(m []string) string {
		text, ok := unquoted(m[2])
		if !ok {
			text = m[2]
		}
		if m[1] == "" || m[1] == "*" {
			return `{"text": ` + quoted(text) + `}`
		}
		return `{"selector": ` + quoted(m[1]) + `, "hasText": ` + quoted(text) + `}`
	}},
	{regexp.MustCompile(`^([^:]+):(visible|hidden)$`), func(m []string) string {
		return `{"selector": ` + quoted(m[1]) + `, "visible": ` + strconv.FormatBool(m[2] == "visible") + `}`
	}},
	{regexp.MustCompile(`^([^:]+):(?:eq\((-?\d{1,4})\)|(first|last))$`), func(m []string) string {
		nth := map[string]string{"first": "0", "last": "-1", "": m[2]}[m[3]]
		return `{"selector": ` + quoted(m[1]) + `, "nth": ` + nth + `}`
	}},
	{regexp.MustCompile(`:text-matches\(`), func([]string) string { return `an object with "hasText": {"regex": …}` }},
	{regexp.MustCompile(`:(?:has-text|text|text-is|contains)\(`), func([]string) string { return `an object with "hasText"` }},
	{regexp.MustCompile(`>>`), func([]string) string { return `an object with "within"` }},
	{regexp.MustCompile(`:(?:visible|hidden)(?:$|[^\w-])`), func([]string) string { return `an object with "visible"` }},
	{regexp.MustCompile(`:(?:eq|nth-match)\(`), func([]string) string { return `an object with "nth"` }},
}

// inQuotes are the strings in a selector: anything may stand there.
var inQuotes = regexp.MustCompile(`"[^"]*"|'[^']*'`)

// InsteadOf is what to write instead of a selector that is another tool's, and not CSS:
// a selector in JSON, or words. Empty: it looks like none.
func InsteadOf(css string) string {
	if isXPath(css) || !suspicious(css) {
		return ""
	}
	bare := inQuotes.ReplaceAllString(css, `""`)
	for _, d := range dialects {
		if m := d.is.FindStringSubmatch(css); m != nil && d.is.MatchString(bare) {
			return d.want(m)
		}
	}
	return ""
}

// suspicious reports whether a selector is worth a closer look. It is quick, as each
// selector of a task is asked about.
func suspicious(css string) bool {
	if word, _, ok := strings.Cut(css, "="); ok && !strings.ContainsAny(word, "[:.# >*") || strings.Contains(css, ">>") {
		return true
	}
	for rest := css; ; {
		_, after, ok := strings.Cut(rest, ":")
		if !ok {
			return false
		}
		for _, class := range []string{"has-text(", "text", "contains(", "visible", "hidden", "eq(", "nth-match(", "first", "last"} {
			if strings.HasPrefix(after, class) {
				return true
			}
		}
		rest = after
	}
}

// unquoted takes the quotes off; false: there are none.
func unquoted(s string) (string, bool) {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1], true
	}
	return s, false
}

func quoted(s string) string { return string(quote(strings.TrimSpace(s))) }
