package lang

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Items gives the elements of an array, or of an object an object {key, value} for
// each field: the first ones, and how many more there are. What is left is not
// decoded: many short values take much more memory than their text.
func Items(v json.RawMessage, most int) (list []json.RawMessage, left int, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	begin, err := d.ReadToken()
	if err != nil || begin.Kind() != '[' && begin.Kind() != '{' {
		return nil, 0, invalid("want an array or an object, not %s", Short(string(v), 100))
	}
	for d.PeekKind() != ']' && d.PeekKind() != '}' {
		var name json.RawMessage
		if begin.Kind() == '{' {
			t, err := d.ReadToken()
			if err != nil {
				return nil, 0, err
			}
			name = quote(t.String())
		}
		if len(list) == most {
			if err := d.SkipValue(); err != nil {
				return nil, 0, err
			}
			left++
			continue
		}
		value, err := d.ReadValue()
		if err != nil {
			return nil, 0, err
		}
		one := bytes.Clone(value)
		if name != nil {
			one = bytes.Join([][]byte{[]byte(`{"key":`), name, []byte(`,"value":`), value, []byte(`}`)}, nil)
		}
		list = append(list, one)
	}
	return list, left, nil
}
