package engine

import (
	"github.com/go-json-experiment/json/jsontext"

	"troupe/engine/lang"
)

// valueTypes are the types that a parameter and a result of a flow can have.
var valueTypes = []string{"string", "number", "boolean", "array", "object", "any"}

var typeShape = lang.EnumShape("a type", valueTypes...)

var typeWords = map[string]string{
	"string": "a string", "number": "a number", "boolean": "a boolean", "array": "an array", "object": "an object", "any": "a value",
}

// isOfType reports whether a value of this kind has a type. No type is any.
func isOfType(k jsontext.Kind, of string) bool {
	switch of {
	case "string":
		return k == '"'
	case "number":
		return k == '0'
	case "boolean":
		return k == 't' || k == 'f'
	case "array":
		return k == '['
	case "object":
		return k == '{'
	}
	return true
}

// flowSchema is the schema of a flow as it is stored.
func flowSchema(base string) object {
	types := object{{"enum", valueTypes}}
	text := object{{"type", "string"}, {"maxLength", maxDescription}}
	return object{
		{"type", "object"}, {"description", "A flow: a list of actions with parameters, stored under a name."}, {"required", []string{"actions"}}, {"additionalProperties", false},
		{"properties", object{
			{"description", text},
			{"parameters", object{
				{"type", "object"}, {"description", "The parameters by name. An action reads one as ${name}."}, {"maxProperties", MaxParameters}, {"propertyNames", object{{"pattern", `^[A-Za-z_][A-Za-z0-9_-]*$`}}},
				{"additionalProperties", object{{"type", "object"}, {"additionalProperties", false}, {"properties", object{
					{"type", append(types, entry{"default", "string"})},
					{"required", object{{"type", "boolean"}, {"default", false}}},
					{"default", object{{"description", "The value if none is given."}}},
					{"description", text},
					{"secret", object{{"type", "boolean"}, {"default", false}, {"description", "The value is ${secret:NAME}, a secret of the account. An action reads it as ${secret:name}, in fill only."}}},
				}}}},
			}},
			{"result", object{{"type", "object"}, {"additionalProperties", false}, {"properties", object{{"type", types}, {"description", text}}}}},
			{"actions", object{{"$ref", base + "actions"}}},
		}},
	}
}
