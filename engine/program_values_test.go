package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"troupe/engine/lang"
)

func (m *model) holds(c any) bool {
	fields := c.(anAction)
	if all, ok := fields["all"].([]any); ok {
		return m.holds(all[0]) && m.holds(all[1])
	}
	if all, ok := fields["any"].([]any); ok {
		return m.holds(all[0]) || m.holds(all[1])
	}
	if not, ok := fields["not"]; ok {
		return !m.holds(not)
	}
	var have json.RawMessage
	if f, ok := fields["failure"].([]any); ok {
		if m.last != "" {
			have = encoded(m.last)
		}
		yes, _ := lang.Compare(have, f[0].(string), f[1].(string))
		return yes
	}
	have = m.saved[fields["cached"].(string)]
	yes, _ := lang.Compare(have, fields["operator"].(string), fmt.Sprint(fields["value"]))
	return yes
}

// value is a value of set or return; none where a key in it has none.
func (m *model) value(v any) (json.RawMessage, bool) {
	switch v := v.(type) {
	case []any:
		first, ok := m.value(v[0])
		return encoded([]json.RawMessage{first, encoded(v[1])}), ok
	case anAction:
		of, ok := m.value(v["$length"])
		var n any
		if !ok || json.Unmarshal(of, &n) != nil {
			return nil, false
		}
		switch n := n.(type) {
		case string:
			return encoded(len([]rune(n))), true
		case []any:
			return encoded(len(n)), true
		case map[string]any:
			return encoded(len(n)), true
		}
		return nil, false
	case string:
		if key, code := strings.CutSuffix(strings.TrimSuffix(strings.TrimPrefix(v, "${"), "}"), ".code"); code {
			var fields map[string]json.RawMessage
			_ = json.Unmarshal(m.saved[key], &fields)
			return fields["code"], fields["code"] != nil
		}
		if v == "(${a})" {
			a, ok := m.saved["a"]
			var text string
			if json.Unmarshal(a, &text) != nil {
				text = string(a)
			}
			return encoded("(" + text + ")"), ok
		}
		value, ok := m.saved[strings.TrimSuffix(strings.TrimPrefix(v, "${"), "}")]
		return value, ok
	}
	return encoded(v), true
}
