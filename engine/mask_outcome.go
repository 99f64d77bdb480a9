package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"

	"troupe/engine/mask"
)

// Whatever a task gives leaves by one way: leave. What Play returns goes through
// it, and what the callbacks of a task environment are given. It knows no field by name, so
// that one that is added is masked, too.

// masked lets the callbacks of a task environment get only masked values.
func masked(m *mask.Masker, st TaskEnv) TaskEnv {
	if m == nil {
		return st
	}
	hears := func(f func(StepReport)) func(StepReport) {
		if f == nil {
			return nil
		}
		return func(s StepReport) {
			leave(m, &s)
			f(s)
		}
	}
	st.OnStep, st.Measure = hears(st.OnStep), hears(st.Measure)
	if save := st.SaveFile; save != nil {
		st.SaveFile = func(ctx context.Context, f File, r io.Reader) (string, error) {
			leave(m, &f)
			return save(ctx, f, r)
		}
	}
	return st
}

// leave masks every text that a value holds, wherever it stands in it. What the
// client or the service wrote itself stays: fields with the tag `mask:"own"`.
func leave[V any](m *mask.Masker, v *V) {
	if m != nil {
		leaves(m, reflect.ValueOf(v).Elem())
	}
}

var rawType = reflect.TypeFor[json.RawMessage]()

func leaves(m *mask.Masker, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); s != "" {
			v.SetString(m.Text(s).String())
		}
	case reflect.Slice:
		if v.Type().ConvertibleTo(rawType) && v.Type().Elem().Kind() == reflect.Uint8 {
			// Most of it was masked before it was kept: it is read as a text first.
			if b := v.Bytes(); m.Holds(string(b)) || bytes.Contains(b, []byte(`\u`)) {
				v.SetBytes(m.JSON(b))
			}
			return
		}
		if v.Len() == 0 {
			return
		}
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len()) // others may hold the old one
		reflect.Copy(own, v)
		for i := range own.Len() {
			leaves(m, own.Index(i))
		}
		v.Set(own)
	case reflect.Map:
		if v.Len() == 0 {
			return
		}
		own := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(it.Value())
			leaves(m, value)
			own.SetMapIndex(it.Key(), value)
		}
		v.Set(own)
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			leaves(m, own.Elem())
			v.Set(own)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("mask") != "own" {
				leaves(m, v.Field(i))
			}
		}
	}
}
