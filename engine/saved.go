package engine

import (
	"context"
	"encoding/json"

	"troupe/engine/lang"
)

var _ = define(Action[[]string]{
	Name: "getSavedData", Group: "Data cache",
	Doc: "Returns an object with the value of each key in the data cache, or null for keys without a value.",
	Value: lang.Shape[[]string]{
		Words: "key or array of keys", Schema: `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"},"minItems":1}]}`,
		Read: func(d *lang.Decoder, n *lang.Node) []string {
			if n.IsString() {
				return []string{lang.KeyShape.Read(d, n)}
			}
			if !n.IsArray() || len(n.Elements) == 0 {
				d.Fault(n, "want a key or an array of keys, not %s", n.TypeName())
				return nil
			}
			var keys []string
			for _, e := range n.Elements {
				keys = append(keys, lang.KeyShape.Read(d, e))
			}
			return keys
		},
	},
	Result:  "object",
	Example: `{"getSavedData":["title","price"]}`,
	Run: func(ctx context.Context, r *Run, s *Step, v []string) (Result, error) {
		out := make(map[string]json.RawMessage, len(v))
		size := 0
		for _, k := range v {
			if value, ok := r.cache.Get(k); ok {
				if _, twice := out[k]; !twice {
					size += len(value)
				}
				if size > MaxResult {
					return nil, Problemf(CodeInvalidValue, "the values of these keys have more than %d bytes together, which are the limit", MaxResult)
				}
				out[k] = value
			} else {
				out[k] = json.RawMessage(null)
			}
		}
		return json.Marshal(out)
	},
})

var _ = define(Action[struct{}]{
	Name: "clearSavedData", Group: "Data cache",
	Doc:     "Removes everything from the data cache.",
	Value:   lang.TrueShape,
	Example: `{"clearSavedData":true}`,
	Run: func(ctx context.Context, r *Run, s *Step, _ struct{}) (Result, error) {
		r.cache.Clear()
		return nil, nil
	},
})
