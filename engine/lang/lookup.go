package lang

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Lookup is the value of a key, or what lies in a value: behind a dot stands the name
// of a field or the index of an element, as in product.title or list.0. A key with
// dots in it that has a value of its own goes first, and longer keys before shorter
// ones.
func Lookup(values Values, key string) (json.RawMessage, bool) {
	v, _, ok := lookup(values, key)
	return v, ok
}

// lookup also gives how many bytes it has looked through.
func lookup(values Values, key string) (v json.RawMessage, looked int, ok bool) {
	if v, ok := values.Get(key); ok {
		return v, 0, true
	}
	for at := strings.LastIndexByte(key, '.'); at > 0; at = strings.LastIndexByte(key[:at], '.') {
		if v, ok := values.Get(key[:at]); ok {
			found, ok := within(v, strings.Split(key[at+1:], "."))
			return found, len(v), ok
		}
	}
	return nil, 0, false
}

// ownValue is a lookup of keys alone.
func ownValue(values Values, key string) (json.RawMessage, int, bool) {
	v, ok := values.Get(key)
	return v, 0, ok
}

// maxLooked bounds what one text looks through for parts of values.
const maxLooked = 16 * MaxText

// within is what a path leads to in a value. What is before it is gone through, but
// not decoded.
func within(v json.RawMessage, path []string) (json.RawMessage, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	for _, name := range path {
		if !enter(d, name) {
			return nil, false
		}
	}
	found, err := d.ReadValue()
	return bytes.Clone(found), err == nil
}

// enter goes to a field of the object that comes, or to an element of the array.
func enter(d *jsontext.Decoder, name string) bool {
	t, err := d.ReadToken()
	if err != nil {
		return false
	}
	switch t.Kind() {
	case '{':
		for d.PeekKind() == '"' {
			if t, err = d.ReadToken(); err != nil {
				return false
			}
			if t.String() == name {
				return true
			}
			if d.SkipValue() != nil {
				return false
			}
		}
	case '[':
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 {
			return false
		}
		for ; i > 0; i-- {
			if d.PeekKind() == ']' || d.SkipValue() != nil {
				return false
			}
		}
		return d.PeekKind() != ']'
	}
	return false
}

// Root reports which of the keys a key that Lookup knows begins with.
func Root(key string, has func(string) bool) bool {
	for at := len(key); at > 0; at = strings.LastIndexByte(key[:at], '.') {
		if has(key[:at]) {
			return true
		}
	}
	return false
}
