package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"troupe/engine/lang"
	"troupe/http/address"
)

// arguments reads the arguments of a tool into a struct. Its error names the argument
// and what would be right.
func arguments(raw json.RawMessage, to any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(to)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return wrongArgument("The argument %q must be %s, not %s", kind.Field, kindName(kind.Type), kind.Value)
	}
	if _, name, ok := strings.Cut(err.Error(), `unknown field "`); ok {
		name = strings.TrimSuffix(name, `"`)
		names := fieldNames(to)
		return wrongArgument("There is no argument %q%s. There are: %s", name, lang.DidYouMean(name, names), strings.Join(names, ", "))
	}
	return wrongArgument("The arguments must be one JSON object: %v", err)
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a " + t.String()
}

func fieldNames(to any) (names []string) {
	var fields func(reflect.Type)
	fields = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Anonymous {
				fields(f.Type)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	fields(reflect.TypeOf(to).Elem())
	return names
}

// oneOf checks an argument that has a few values only, and gives the first where it is
// left out.
func oneOf(name string, value *string, allowed ...string) error {
	if *value == "" {
		*value = allowed[0]
	}
	if !slices.Contains(allowed, *value) {
		return wrongArgument("The argument %q must be one of %s, not %q%s", name, strings.Join(allowed, ", "), lang.Short(*value, 60), lang.DidYouMean(*value, allowed))
	}
	return nil
}

// checkID checks an argument that names something of the service.
func checkID(kind address.Kind, name, id string) error {
	if err := kind.Check(id); err != nil {
		return wrongArgument("The argument %q: %v", name, err)
	}
	return nil
}

// pathOf is the path of what an argument names.
func pathOf(kind address.Kind, name, id string) (address.Path, error) {
	p, err := kind.Path(id, "")
	if err != nil {
		return p, wrongArgument("The argument %q: %v", name, err)
	}
	return p, nil
}

// Bounds of the tokens of an answer.
const (
	defaultTokens = 8000
	minTokens     = 200
	maxTokens     = 200_000
	tokenSize     = 4 // characters
)

// budget is how much of an answer somebody pays for.
type budget struct {
	MaxTokens int `json:"maxTokens"`
}

func (b *budget) check() error {
	if b.MaxTokens == 0 {
		b.MaxTokens = defaultTokens
	}
	if b.MaxTokens < minTokens || b.MaxTokens > maxTokens {
		return wrongArgument("The argument \"maxTokens\" must be %d to %d, not %d", minTokens, maxTokens, b.MaxTokens)
	}
	return nil
}

// list reads a list of actions. Some clients send it as a text with JSON in it.
func list(raw json.RawMessage) ([]json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			raw = json.RawMessage(strings.TrimSpace(text))
		}
	}
	if len(raw) > 0 && raw[0] == '{' { // one action
		raw = append(append([]byte{'['}, raw...), ']')
	}
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil || len(all) == 0 {
		return nil, wrongArgument(`The argument "actions" must be an array of actions, such as [{"open":"https://example.com"},{"getText":"h1"}]`)
	}
	return all, nil
}

// actionName is the name of an action; empty where it has none.
func actionName(action json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(action, &fields) != nil {
		return ""
	}
	delete(fields, "options")
	if _, runs := fields["run"]; runs {
		return "run"
	}
	for name := range fields {
		if len(fields) == 1 {
			return name
		}
	}
	return ""
}
