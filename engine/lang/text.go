package lang

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// keyPattern is what keys of the caches look like.
const keyPattern = `[A-Za-z_][A-Za-z0-9_.-]*`

var (
	keyOnly     = regexp.MustCompile(`^` + keyPattern + `$`)
	reference   = regexp.MustCompile(`^\$(` + keyPattern + `)(?:\s+([\s\S]+))?$`)
	numbered    = regexp.MustCompile(`^(@e[1-9][0-9]{0,8})(?:\s+([\s\S]+))?$`)
	placeholder = regexp.MustCompile(`^\$\{(` + keyPattern + `)\}`)
)

// Text is a string of a request. In it ${key} stands for a value of the data cache,
// and $$ for one dollar sign; a lone $ is itself. Substituted text is not expanded
// again.
type Text struct {
	source string
	parts  []part // nil: the source is the text
}

// part is a piece of a Text: literal, or the key of a value.
type part struct {
	literal string
	key     string
	secret  bool // the key is the name of a secret
}

// Values gives what ${key} stands for, as JSON.
type Values interface {
	Get(key string) (json.RawMessage, bool)
}

// MaxText is the most bytes of a text with its values filled in.
const MaxText = 16 << 20

// ValueError says that a text, a selector, a pattern or a comparison makes no sense
// with the values that were filled in.
type ValueError struct{ text string }

func (e *ValueError) Error() string { return e.text }

func invalid(format string, args ...any) *ValueError {
	return &ValueError{fmt.Sprintf(format, args...)}
}

// Literal returns a text that is s, whatever is in it.
func Literal(s string) Text { return Text{source: s} }

// ParseText reads a text of a request.
func ParseText(s string) Text { return parseTextWith(s, false) }

// parseTextWith reads a text, and with secrets also ${secret:NAME} in it.
func parseTextWith(s string, secrets bool) Text {
	t := Text{source: s}
	if !strings.Contains(s, "$$") && !strings.Contains(s, "${") {
		return t
	}
	var lit strings.Builder
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "$$"):
			lit.WriteByte('$')
			i += 2
		case strings.HasPrefix(s[i:], "${"):
			m := placeholder.FindStringSubmatch(s[i:])
			secret := false
			if m == nil && secrets {
				m = secretMark.FindStringSubmatch(s[i:])
				secret = m != nil
			}
			if m == nil {
				lit.WriteByte('$')
				i++
				continue
			}
			if lit.Len() > 0 {
				t.parts = append(t.parts, part{literal: lit.String()})
				lit.Reset()
			}
			t.parts = append(t.parts, part{key: m[1], secret: secret})
			i += len(m[0])
		default:
			lit.WriteByte(s[i])
			i++
		}
	}
	if lit.Len() > 0 || len(t.parts) == 0 {
		t.parts = append(t.parts, part{literal: lit.String()})
	}
	return t
}

// Fixed reports whether the text is the same whatever the cache holds.
func (t Text) Fixed() bool {
	for _, p := range t.parts {
		if p.key != "" {
			return false
		}
	}
	return true
}

// String returns the text as the client wrote it.
func (t Text) String() string { return t.source }

// Keys adds the keys that the text reads to a set.
func (t Text) Keys(to map[string]bool) {
	for _, p := range t.parts {
		if p.key != "" && !p.secret {
			to[p.key] = true
		}
	}
}

// Expand fills in the values, or what lies in them: see [Lookup]. A key without a
// value is a [*ValueError].
func (t Text) Expand(values Values) (string, error) {
	return t.expand(values, lookup, func(key string) (string, error) {
		return "", invalid("${%s} has no value: nothing was saved under %q", key, key)
	})
}

// ExpandScript fills in the values of a script. A key without a value of its own
// stays as it is: it may be part of a template literal.
func (t Text) ExpandScript(values Values) (string, error) {
	return t.expand(values, ownValue, func(key string) (string, error) { return "${" + key + "}", nil })
}

func (t Text) expand(values Values, get func(Values, string) (json.RawMessage, int, bool), missing func(string) (string, error)) (string, error) {
	if t.parts == nil {
		return t.source, nil
	}
	var b strings.Builder
	looked := 0
	for _, p := range t.parts {
		if p.key == "" {
			b.WriteString(p.literal)
			continue
		}
		v, n, ok := get(values, p.key)
		if looked += n; looked > maxLooked {
			return "", invalid("%q looks through more than %d bytes of saved values, which are the limit", Short(strings.ToValidUTF8(t.source, ""), 100), maxLooked)
		}
		if !ok {
			s, err := missing(p.key)
			if err != nil {
				return "", err
			}
			b.WriteString(s)
			continue
		}
		s := asText(v)
		if b.Len()+len(s) > MaxText {
			return "", invalid("%q has more than %d bytes once its values are filled in, which are the limit", Short(strings.ToValidUTF8(t.source, ""), 100), MaxText)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// asText is a value as it is put into a string: a string raw, all else as JSON.
func asText(v json.RawMessage) string {
	var s string
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// Short cuts s to n bytes, between two characters.
func Short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
