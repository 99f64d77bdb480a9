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
// three bytes and stands for hundreds. So a message is checked before it is decoded.

const (
	// maxExpansion is how many times the size of a message its lists and maps may take
	// in memory, above what a small message may take in any case. What nodes write
	// takes less than its own size.
	maxExpansion = 16
	freeMemory   = 64 << 10
	// maxElement is more than an element of any list in a message takes.
	maxElement = 1 << 10
	// anySize is what an element takes whose type the text decides.
	anySize = 64
)

var errMemory = errors.New("the message would need many times its size in memory")

// checkMemory refuses a text that would take too much memory as a value of a type.
func checkMemory(b []byte, t reflect.Type) error {
	most := maxExpansion*len(b) + freeMemory
	elements := bytes.Count(b, []byte{','}) + bytes.Count(b, []byte{'['}) + bytes.Count(b, []byte{'{'})
	if elements*maxElement <= most {
		return nil
	}
	if !json.Valid(b) {
		return nil // decoding says what is wrong, before it takes any memory
	}
	s := estimate{b: b, left: most}
	s.value(t)
	if s.left < 0 {
		return errMemory
	}
	return nil
}

// estimate goes through a valid text and subtracts what its elements take.
type estimate struct {
	b    []byte
	at   int
	left int
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// target gives the type that a value is decoded into without pointers; nil: its
// elements take nothing of their own.
func (s *estimate) target(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
		s.left -= int(t.Size())
	}
	if t == nil || reflect.PointerTo(t).Implements(jsonDecoder) || reflect.PointerTo(t).Implements(textDecoder) {
		return nil
	}
	return t
}

func (s *estimate) value(t reflect.Type) {
	s.skipSpace()
	switch s.b[s.at] {
	case '[':
		s.list(s.target(t))
	case '{':
		s.object(s.target(t))
	case '"':
		s.text()
	default:
		for s.at < len(s.b) && !strings.ContainsRune(",]} \t\r\n", rune(s.b[s.at])) {
			s.at++
		}
	}
}

func (s *estimate) list(t reflect.Type) {
	var element reflect.Type
	size := 0
	if t != nil {
		switch t.Kind() {
		case reflect.Slice:
			element, size = t.Elem(), int(t.Elem().Size())
		case reflect.Array:
			element = t.Elem()
		case reflect.Interface:
			element, size = t, anySize
		}
	}
	s.at++
	for s.skipSpace(); s.b[s.at] != ']'; s.skipSpace() {
		s.value(element)
		s.left -= size
		s.next()
	}
	s.at++
}

func (s *estimate) object(t reflect.Type) {
	s.at++
	for s.skipSpace(); s.b[s.at] != '}'; s.skipSpace() {
		name := s.text()
		s.skipSpace()
		s.at++ // the colon
		var field reflect.Type
		if t != nil {
			switch t.Kind() {
			case reflect.Struct:
				field = fieldsOf(t)[folded(name)]
			case reflect.Map:
				field = t.Elem()
				s.left -= anySize + int(t.Elem().Size())
			case reflect.Interface:
				field = t
				s.left -= 2 * anySize
			}
		}
		s.value(field)
		s.next()
	}
	s.at++
}

// next goes to the next element, or to the end of a list.
func (s *estimate) next() {
	s.skipSpace()
	if s.b[s.at] == ',' {
		s.at++
	}
}

func (s *estimate) skipSpace() {
	for s.at < len(s.b) && strings.IndexByte(" \t\r\n", s.b[s.at]) >= 0 {
		s.at++
	}
}

// text gives a string as it is written, with its quotes.
func (s *estimate) text() []byte {
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
