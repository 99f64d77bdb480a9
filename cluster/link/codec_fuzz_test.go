package link

import (
	"encoding/binary"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"troupe/testkit/golden"
)

// lastKind is the highest number that a message has.
var lastKind = func() (last kind) {
	for k := range 256 {
		if m, _ := empty(kind(k)); m != nil {
			last = kind(k)
		}
	}
	return last
}()

// FuzzDecode: whatever comes is a message or an error, takes no more memory than a
// few times its size, and can be sent on. The seeds have all kinds.
func FuzzDecode(f *testing.F) {
	for i := range 20 {
		if b, err := Encode(anyMessage.Example(i)); err == nil {
			f.Add(b)
		}
	}
	for k := kindExecute; k <= lastKind; k++ {
		m, _ := empty(k)
		golden.Fill(f, m, makers)
		for _, head := range []any{m, map[string]any{}} {
			text, err := json.Marshal(head)
			if err != nil {
				f.Fatal(err)
			}
			whole := binary.AppendUvarint([]byte{codecVersion, byte(k)}, uint64(len(text)))
			f.Add(append(whole, text...))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		// Lists grow with room to spare, and what a struct has inside counts here, too.
		if got, most := heldBy(reflect.ValueOf(m)), 4*(maxExpansion*len(b)+freeMemory); got > most {
			t.Errorf("%d bytes are decoded into %d, more than %d", len(b), got, most)
		}
		if _, err := Encode(m); err != nil {
			t.Errorf("%#v cannot be written again: %v", m, err)
		}
	})
}

// TestSeedsHaveAllKinds: numbers are given one after the other, and FuzzDecode tries
// each.
func TestSeedsHaveAllKinds(t *testing.T) {
	t.Parallel()
	for k := range 256 {
		if m, _ := empty(kind(k)); (m != nil) != (kindExecute <= kind(k) && kind(k) <= lastKind) {
			t.Errorf("kind %d: %T", k, m)
		}
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
