package link

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
)

// A short text of JSON can become large in memory: in a list of structs, "{}," has
// three bytes and stands for hundreds. So a message is weighed before it is decoded.

const (
	// heaviest is how many times the size of a message its lists and maps may take
	// in memory, above what a small message may take in any case. What nodes write
	// takes less than its own size.
	heaviest   = 16
	lightWhole = 64 << 10
	// elementMost is more than an element of any list in a message takes.
	elementMost = 1 << 10
	// anyMost is what an element takes whose type the text decides.
	anyMost = 64
)

var errHeavy = errors.New("it would take many times its size in memory")

// weighed refuses a text that would take too much memory as a value of a type.
func weighed(b []byte, t reflect.Type) error {
	most := heaviest*len(b) + lightWhole
	elements := bytes.Count(b, []byte{','}) + bytes.Count(b, []byte{'['}) + bytes.Count(b, []byte{'{'})
	if elements*elementMost <= most {
		return nil
	}
	if !json.Valid(b) {
		return nil // decoding says what is wrong, before it takes any memory
	}
	s := scale{b: b, left: most}
	s.value(t)
	if s.left < 0 {
		return errHeavy
	}
	return nil
}

// scale goes through a valid text and subtracts what its elements take.
type scale struct {
	b    []byte
	at   int
	left int
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// inside gives the type that a value is decoded into without pointers; nil: its
// elements take nothing of their own.
func (s *scale) inside(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
		s.left -= int(t.Size())
	}
	if t == nil || reflect.PointerTo(t).Implements(jsonDecoder) || reflect.PointerTo(t).Implements(textDecoder) {
		return nil
	}
	return t
}

func (s *scale) value(t reflect.Type) {
	s.blank()
	switch s.b[s.at] {
	case '[':
		s.list(s.inside(t))
	case '{':
		s.object(s.inside(t))
	case '"':
		s.text()
	default:
		for s.at < len(s.b) && !strings.ContainsRune(",]} \t\r\n", rune(s.b[s.at])) {
			s.at++
		}
	}
}

func (s *scale) list(t reflect.Type) {
	var element reflect.Type
	size := 0
	if t != nil {
		switch t.Kind() {
		case reflect.Slice:
			element, size = t.Elem(), int(t.Elem().Size())
		case reflect.Array:
			element = t.Elem()
		case reflect.Interface:
			element, size = t, anyMost
		}
	}
	s.at++
	for s.blank(); s.b[s.at] != ']'; s.blank() {
		s.value(element)
		s.left -= size
		s.next()
	}
	s.at++
}

func (s *scale) object(t reflect.Type) {
	s.at++
	for s.blank(); s.b[s.at] != '}'; s.blank() {
		name := s.text()
		s.blank()
		s.at++ // the colon
		var field reflect.Type
		if t != nil {
			switch t.Kind() {
			case reflect.Struct:
				field = fieldsOf(t)[folded(name)]
			case reflect.Map:
				field = t.Elem()
				s.left -= anyMost + int(t.Elem().Size())
			case reflect.Interface:
				field = t
				s.left -= 2 * anyMost
			}
		}
		s.value(field)
		s.next()
	}
	s.at++
}

// next goes to the next element, or to the end of a list.
func (s *scale) next() {
	s.blank()
	if s.b[s.at] == ',' {
		s.at++
	}
}

func (s *scale) blank() {
	for s.at < len(s.b) && strings.IndexByte(" \t\r\n", s.b[s.at]) >= 0 {
		s.at++
	}
}

// text gives a string as it is written, with its quotes.
func (s *scale) text() []byte {
	from := s.at
	for s.at++; s.b[s.at] != '"'; s.at++ {
		if s.b[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
	return s.b[from:s.at]
}

// folded gives a name as the decoder compares it: letters great and small are one.
func folded(quoted []byte) string {
	name := string(quoted[1 : len(quoted)-1])
	if strings.IndexByte(name, '\\') >= 0 {
		_ = json.Unmarshal(quoted, &name) // the text is valid
	}
	return strings.ToLower(strings.ToUpper(name))
}

var fieldTypes sync.Map // of reflect.Type: its fields by name

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := fieldTypes.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	all, depth := map[string]reflect.Type{}, map[string]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		name = strings.ToLower(strings.ToUpper(name))
		if d := depth[name]; d == 0 || len(f.Index) < d {
			all[name], depth[name] = f.Type, len(f.Index)
		}
	}
	fieldTypes.Store(t, all)
	return all
}
