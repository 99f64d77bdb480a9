package mask

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// json masks the strings, names and numbers of a JSON value. Where nothing is
// masked it is returned as it is. It goes through the value by its tokens: a tree of it
// would take some forty times its memory.
func (m *tables) json(b json.RawMessage) json.RawMessage {
	if m == nil || len(b) == 0 {
		return b
	}
	if !json.Valid(b) {
		return json.RawMessage(`"` + Mark + `"`) // what cannot be looked through is not given
	}
	first, all := -1, string(b)
	for t := range tokens(all) {
		if s, ok := t.text(); ok && m.holds(s) {
			first = t.from
			break
		}
	}
	if first < 0 {
		return b
	}
	w := writer{m: m, out: make([]byte, 0, len(b))}
	for t := range tokens(all) {
		w.write(t, t.from >= first)
	}
	return w.out
}

// token is a piece of a JSON value: a string, a number, a word, or a character that holds
// these together.
type token struct {
	raw  string
	from int
	name bool // of a member of an object
}

// tokens goes through a valid JSON value.
func tokens(b string) iter.Seq[token] {
	return func(yield func(token) bool) {
		for i := 0; i < len(b); {
			from := i
			switch b[i] {
			case ' ', '\t', '\r', '\n':
				i++
				continue
			case '{', '}', '[', ']', ',', ':':
				i++
			case '"':
				for i++; b[i] != '"'; i++ {
					if b[i] == '\\' {
						i++
					}
				}
				i++
			default:
				for i++; i < len(b) && strings.IndexByte(" \t\r\n{}[],:", b[i]) < 0; i++ {
				}
			}
			t := token{raw: b[from:i], from: from}
			if b[from] == '"' {
				t.name = strings.HasPrefix(strings.TrimLeft(b[i:], " \t\r\n"), ":")
			}
			if !yield(t) {
				return
			}
		}
	}
}

// text is the text of a string or a number.
func (t token) text() (string, bool) {
	switch c := t.raw[0]; {
	case c == '"':
		inner := t.raw[1 : len(t.raw)-1]
		if strings.IndexByte(inner, '\\') < 0 && utf8.ValidString(inner) {
			return inner, true
		}
		var s string
		_ = json.Unmarshal([]byte(t.raw), &s) // it is valid
		return s, true
	case (c == '-' || c >= '0' && c <= '9') && len(t.raw) >= Least:
		return t.raw, true
	}
	return "", false
}

// writer writes a value without its secrets.
type writer struct {
	m   *tables
	out []byte
	// within are the objects and arrays around: the names with a mark in them, which must
	// not be the same as another one.
	within []map[string]bool
}

func (w *writer) write(t token, mask bool) {
	switch t.raw[0] {
	case '{', '[':
		w.within = append(w.within, nil)
	case '}', ']':
		w.within = w.within[:len(w.within)-1]
	}
	s, ok := t.text()
	if !ok {
		w.out = append(w.out, t.raw...)
		return
	}
	masked := s
	if mask {
		masked = w.m.replace(s, false)
	}
	if t.name && strings.Contains(masked, Mark) {
		masked = w.own(masked)
	}
	switch {
	case t.raw[0] != '"' && masked == s, masked == s && len(t.raw) == len(s)+len(`""`) && utf8.ValidString(s):
		w.out = append(w.out, t.raw...)
	default:
		w.out = append(w.out, quote(masked)...)
	}
}

// own is a name that no other member of the object has.
func (w *writer) own(name string) string {
	at := len(w.within) - 1
	if w.within[at] == nil {
		w.within[at] = map[string]bool{}
	}
	all, own := w.within[at], name
	for n := len(all); all[own]; n++ {
		own = name + strconv.Itoa(n+1)
	}
	all[own] = true
	return own
}

// quote is a text as JSON.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string is always JSON
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
