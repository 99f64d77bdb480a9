package mask

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// JSON masks the strings, names and numbers of a JSON value. Where nothing is
// masked it is returned as it is.
func (m *Masker) JSON(b json.RawMessage) json.RawMessage {
	if m == nil || len(b) == 0 {
		return b
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return json.RawMessage(`"` + Mark + `"`) // what cannot be looked through is not given
	}
	changed := false
	v = m.value(v, &changed)
	if !changed {
		return b
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage(`"` + Mark + `"`)
	}
	return bytes.TrimSpace(out.Bytes())
}

func (m *Masker) value(v any, changed *bool) any {
	masked := func(s string) string {
		t := m.replace(s, false)
		*changed = *changed || t != s
		return t
	}
	switch v := v.(type) {
	case string:
		return masked(v)
	case json.Number:
		if s := masked(v.String()); s != v.String() {
			return s
		}
	case []any:
		for i := range v {
			v[i] = m.value(v[i], changed)
		}
	case map[string]any:
		for _, k := range slices.Collect(maps.Keys(v)) {
			e := m.value(v[k], changed)
			if own := masked(k); own != k {
				delete(v, k)
				v[own] = e
			} else {
				v[k] = e
			}
		}
	}
	return v
}
