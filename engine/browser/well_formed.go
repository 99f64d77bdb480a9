package browser

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// WellFormed is JSON that a page has made, as any reader takes it: pages may write half a
// surrogate pair as an escape, which strict readers, ours among them, refuse. What is no
// JSON stays as it is.
func WellFormed(b []byte) []byte {
	if !halfPairs(b) {
		return b
	}
	in := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	var to bytes.Buffer
	out := jsontext.NewEncoder(&to, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var names []map[string]bool // of the objects that are open
	for {
		kind := in.PeekKind()
		inside, length := in.StackIndex(in.StackDepth())
		isName := inside == '{' && length%2 == 0 && kind == '"'
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSuffix(to.Bytes(), []byte("\n"))
		}
		if err != nil {
			return b
		}
		switch {
		case kind == '{':
			names = append(names, map[string]bool{})
		case kind == '}':
			names = names[:len(names)-1]
		case isName: // two names that differ in half a character only stay two
			name, known := token.String(), names[len(names)-1]
			for known[name] {
				name += half
			}
			known[name] = true
			token = jsontext.String(name)
		case kind == '"':
			token = jsontext.String(token.String())
		}
		if err := out.WriteToken(token); err != nil {
			return b
		}
	}
}

// halfPairs reports whether an escape in JSON stands for half a surrogate pair.
func halfPairs(b []byte) bool {
	for {
		at := bytes.IndexByte(b, '\\')
		if at < 0 || at+1 >= len(b) {
			return false
		}
		if b[at+1] != 'u' {
			b = b[at+2:]
			continue
		}
		first, ok := escaped(b[at:])
		b = b[min(at+escapeLength, len(b)):]
		if !ok || first&0xf800 != 0xd800 {
			continue
		}
		second, ok := escaped(b)
		if first >= 0xdc00 || !ok || second&0xfc00 != 0xdc00 {
			return true
		}
		b = b[escapeLength:]
	}
}

// escapeLength is that of an escape such as \u00e4.
const escapeLength = 6

// escaped reads the escape that b begins with.
func escaped(b []byte) (r rune, ok bool) {
	if len(b) < escapeLength || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:escapeLength] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
