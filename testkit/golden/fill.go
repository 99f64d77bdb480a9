// Package golden keeps what nodes and stores write, for every later build to
// read. It fills messages and records with values, compares what is written of
// them with files, and finds fields that have no name of their own in JSON.
package golden

import (
	"encoding"
	"encoding/json"
	"hash/fnv"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Makers make values of types that cannot be filled field by field.
type Makers map[reflect.Type]func() any

var (
	rawType   = reflect.TypeFor[json.RawMessage]()
	timeType  = reflect.TypeFor[time.Time]()
	marshals  = reflect.TypeFor[json.Marshaler]()
	writesOut = reflect.TypeFor[encoding.TextMarshaler]()
)

// Fill sets every field of what to points to that JSON has, also within other
// values. A value depends on the field's name in JSON alone, so it is the same
// after a renaming in Go.
func Fill(t testing.TB, to any, makers Makers) {
	t.Helper()
	fill(t, reflect.ValueOf(to).Elem(), "value", makers)
}

func fill(t testing.TB, v reflect.Value, name string, makers Makers) {
	t.Helper()
	if f := makers[v.Type()]; f != nil {
		v.Set(reflect.ValueOf(f()))
		return
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	number := 2 + int64(h.Sum32()%9e6)
	switch v.Kind() {
	case reflect.Int8, reflect.Uint8, reflect.Int16, reflect.Uint16:
		number %= 120
	}
	switch v.Type() {
	case rawType:
		v.SetBytes([]byte(`{"` + name + `":[1,"<ü>"]}`))
		return
	case timeType:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, int(number%60), 120_003_000, time.UTC)))
		return
	}
	if special(v.Type()) {
		t.Fatalf("%v writes itself: give a maker of it", v.Type())
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(name + " <ü>")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(number)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(number))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(number) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), name, makers)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(name))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), name, makers)
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), name, makers)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, name, makers)
		fill(t, value, name, makers)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous:
			case tag == "":
				fill(t, v.Field(i), f.Name, makers)
			default:
				fill(t, v.Field(i), tag, makers)
			}
		}
	default:
		t.Fatalf("a field %q of a message or record is a %v", name, v.Type())
	}
}

// special reports whether a type says itself how it is written.
func special(t reflect.Type) bool {
	return t.Implements(marshals) || reflect.PointerTo(t).Implements(marshals) ||
		t.Implements(writesOut) || reflect.PointerTo(t).Implements(writesOut)
}
