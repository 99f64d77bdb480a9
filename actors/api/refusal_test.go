package api

import (
	"reflect"
	"testing"
)

// TestRepliesTellTheirRefusals looks for replies with a refusal that nobody would be told of,
// because who asks knows only its method.
func TestRepliesTellTheirRefusals(t *testing.T) {
	told := 0
	for kind := range 256 {
		m := New(byte(kind))
		if m == nil {
			continue
		}
		f := reflect.ValueOf(m).Elem().FieldByName("Refusal")
		if !f.IsValid() {
			continue
		}
		no := &Refusal{}
		f.Set(reflect.ValueOf(no))
		r, may := m.(interface{ Refused() *Refusal })
		if !may || r.Refused() != no {
			t.Errorf("%T has a refusal, and Refused does not tell it", m)
			continue
		}
		told++
	}
	if told == 0 {
		t.Error("no reply has a refusal")
	}
}
