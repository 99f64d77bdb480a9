package engine

import (
	"context"
	"encoding/json"
)

var _ = define(Action[[]string]{
	Name: "getSavedData", Group: "Data cache",
	Doc: "An object that maps each key to its value in the data cache, or to null where there is none.",
	Value: Shape[[]string]{
		Words: "key or array of keys", Schema: `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"},"minItems":1}]}`,
		read: func(d *decoder, n *node) []string {
			if n.isString() {
				return []string{keyShape.read(d, n)}
			}
			if !n.isArray() || len(n.list) == 0 {
				d.fault(n, "want a key or an array of keys, not %s", n.isA())
				return nil
			}
			var keys []string
			for _, e := range n.list {
				keys = append(keys, keyShape.read(d, e))
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
	Doc:     "Forgets everything in the data cache.",
	Value:   trueShape,
	Example: `{"clearSavedData":true}`,
	Run: func(ctx context.Context, r *Run, s *Step, _ struct{}) (Result, error) {
		r.cache.Clear()
		return nil, nil
	},
})
