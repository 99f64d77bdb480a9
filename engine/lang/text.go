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
	keyOnly   = regexp.MustCompile(`^` + keyPattern + `$`)
	reference = regexp.MustCompile(`^\$(` + keyPattern + `)(?:\s+([\s\S]+))?$`)
	numbered  = regexp.MustCompile(`^(@e[1-9][0-9]{0,8})(?:\s+([\s\S]+))?$`)
)

// Text is a string of a request. In it ${key} stands for a value of the data cache,
// and $$ for one dollar sign; a lone $ is itself. Substituted text is not expanded
// again.
//
// It is looked through whenever it is used: a list of its parts would take many times
// the memory of what the client sent.
type Text struct {
	source string
	filled *string // the source with its secrets filled in; nil: none were
	marks  marks
}

// marks are what stands for something else in a text.
type marks uint8

const (
	noMarks   marks = iota // the source is the text
	keyMarks               // ${key} and $$
	withNames              // ${secret:NAME}, too
)

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
func ParseText(s string) Text { return parseTextWith(s, keyMarks) }

// parseTextWith reads a text with these marks in it.
func parseTextWith(s string, m marks) Text {
	if !strings.Contains(s, "$$") && !strings.Contains(s, "${") {
		m = noMarks
	}
	return Text{source: s, marks: m}
}

// parts goes through the pieces of a text.
func (t Text) parts(yield func(part) bool) {
	s := t.source
	if t.filled != nil {
		s = *t.filled
	}
	from, at := 0, 0 // of the literal piece, and what is looked at
	closed := strings.LastIndexByte(s, '}')
	for t.marks != noMarks {
		i := strings.IndexByte(s[at:], '$')
		if i < 0 {
			break
		}
		at += i
		var p part
		n := 0 // the length of the mark
		if strings.HasPrefix(s[at:], "$$") {
			p.literal, n = "$", 2
		} else if p, n = readMark(s[at:], t.marks == withNames && at < closed); n == 0 {
			at++
			continue
		}
		if from < at && !yield(part{literal: s[from:at]}) || !yield(p) {
			return
		}
		at += n
		from = at
	}
	if from < len(s) {
		yield(part{literal: s[from:]})
	}
}

// readMark reads ${key}, and with secrets ${secret:NAME}, at the beginning of a text.
// Zero bytes: there is none.
func readMark(s string, secrets bool) (p part, n int) {
	inner, ok := strings.CutPrefix(s, "${")
	if !ok {
		return p, 0
	}
	if n = keyLength(inner); n > 0 && n < len(inner) && inner[n] == '}' {
		return part{key: inner[:n]}, n + len("${}")
	}
	if name, ok := strings.CutPrefix(s, secretBegin); ok && secrets {
		if n = strings.IndexByte(name, '}'); n >= 0 {
			return part{key: name[:n], secret: true}, len(secretBegin) + n + 1
		}
	}
	return p, 0
}

// keyLength is how much of a text, from its beginning, keys of the caches look like:
// see keyPattern. It looks no further: of very many marks that nothing closes each would
// be looked through to the end.
func keyLength(s string) (n int) {
	for ; n < len(s); n++ {
		c := s[n]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (n == 0 || (c < '0' || c > '9') && c != '.' && c != '-') {
			break
		}
	}
	return n
}

// oneKey is the key of a text that is ${key} alone.
func (t Text) oneKey() (string, bool) {
	if t.marks == noMarks {
		return "", false
	}
	p, n := readMark(t.source, t.marks == withNames)
	return p.key, n > 0 && n == len(t.source) && p.key != ""
}

// Fixed reports whether the text is the same whatever the cache holds.
func (t Text) Fixed() bool {
	for p := range t.parts {
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
	for p := range t.parts {
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
	if t.marks == noMarks {
		return t.source, nil
	}
	var b strings.Builder
	looked := 0
	for p := range t.parts {
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
