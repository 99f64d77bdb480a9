package golden

import (
	"reflect"
	"strings"
	"testing"
)

// Unnamed lists the fields of types, and of the types within them, that have no
// explicit name in JSON: a renaming in Go would change what is written of them.
// Embedded structs have no name of their own, their fields do.
func Unnamed(types ...reflect.Type) []string {
	n := &names{seen: map[reflect.Type]bool{}}
	for _, t := range types {
		n.look(t)
	}
	return n.without
}

type names struct {
	seen    map[reflect.Type]bool
	without []string
}

func (n *names) look(t reflect.Type) {
	if n.seen[t] {
		return
	}
	n.seen[t] = true
	switch t.Kind() {
	case reflect.Map:
		n.look(t.Key())
		n.look(t.Elem())
		return
	case reflect.Pointer, reflect.Slice, reflect.Array:
		n.look(t.Elem())
		return
	}
	if t.Kind() != reflect.Struct || special(t) {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch embedded := f.Anonymous && name == "" && inner.Kind() == reflect.Struct; {
		case tag == "-" || !f.IsExported() && !embedded:
			continue
		case name == "" && !embedded:
			n.without = append(n.without, t.String()+"."+f.Name)
		}
		n.look(f.Type)
	}
}

// Named fails for each field of the types of messages and records, and of more
// types, that has no explicit name in JSON.
func Named(t *testing.T, all []Case, more ...reflect.Type) {
	t.Helper()
	for _, k := range all {
		more = append(more, k.Types...)
	}
	for _, field := range Unnamed(more...) {
		t.Errorf("%s is written without a tag that names it: add one, such as `json:\"name\"`, or `json:\"-\"` where it stays in the process", field)
	}
}
