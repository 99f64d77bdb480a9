package cluster

import (
	"encoding/binary"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"troupe/engine"
)

// FuzzDecode: whatever comes is a message or an error, takes no more memory than a
// few times its size, and can be sent on. The seeds have all kinds.
func FuzzDecode(f *testing.F) {
	for i := range 20 {
		if b, err := encode(anyMessage.Example(i)); err == nil {
			f.Add(b)
		}
	}
	for k := kindExecute; k <= kindMayBegin; k++ {
		for _, head := range []any{filled(k), map[string]any{}} {
			text, err := json.Marshal(head)
			if err != nil {
				f.Fatal(err)
			}
			whole := binary.AppendUvarint([]byte{codecVersion, byte(k)}, uint64(len(text)))
			f.Add(append(whole, text...))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode(b)
		if err != nil {
			return
		}
		// Lists grow with room to spare, and what a struct has inside counts here, too.
		if got, most := heldBy(reflect.ValueOf(m)), 4*(heaviest*len(b)+lightWhole); got > most {
			t.Errorf("%d bytes are decoded into %d, more than %d", len(b), got, most)
		}
		if _, err := encode(m); err != nil {
			t.Errorf("%#v cannot be written again: %v", m, err)
		}
	})
}

// TestSeedsHaveAllKinds: a kind that is added is tried by FuzzDecode, too.
func TestSeedsHaveAllKinds(t *testing.T) {
	t.Parallel()
	for k := range 256 {
		if m, _ := empty(kind(k)); (m != nil) != (kindExecute <= kind(k) && kind(k) <= kindMayBegin) {
			t.Errorf("kind %d: %T", k, m)
		}
	}
}

// filled is a message of a kind with something in each of its fields.
func filled(k kind) any {
	m, _ := empty(k)
	fill(reflect.ValueOf(m), 0)
	return m
}

func fill(v reflect.Value, depth int) {
	if depth > 6 || depth > 0 && !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":[1,"b",null]}`))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		return
	case *engine.Task: // what crosses nodes is its source
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		key, one := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(one, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, one)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Int8:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint64, reflect.Uint32, reflect.Uint8:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	}
}

// heldBy is how many bytes a value holds in memory besides itself.
func heldBy(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n = int(v.Elem().Type().Size()) + heldBy(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return 0
		}
		for i := range v.NumField() {
			n += heldBy(v.Field(i))
		}
	case reflect.Slice:
		n = v.Cap() * int(v.Type().Elem().Size())
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return n
		}
		for i := range v.Len() {
			n += heldBy(v.Index(i))
		}
	case reflect.Map:
		for all := v.MapRange(); all.Next(); {
			n += int(v.Type().Key().Size()+v.Type().Elem().Size()) + heldBy(all.Key()) + heldBy(all.Value())
		}
	case reflect.String:
		n = v.Len()
	}
	return n
}
