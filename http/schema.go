package http

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/http/flows"
	"troupe/http/live"
)

// named is what the types on the wire are called in documents.
var named = map[reflect.Type]string{
	reflect.TypeFor[answer.Task]():       "Result",
	reflect.TypeFor[answer.Failure]():    "Failure",
	reflect.TypeFor[answer.Refusal]():    "Error",
	reflect.TypeFor[lang.Fault]():        "Fault",
	reflect.TypeFor[engine.Warning]():    "Warning",
	reflect.TypeFor[engine.StepReport](): "Step",
	reflect.TypeFor[engine.Truncated]():  "Truncated",
	reflect.TypeFor[engine.Dialog]():     "Dialog",
	reflect.TypeFor[engine.Downloaded](): "Download",
	reflect.TypeFor[engine.Code]():       "Code",
	reflect.TypeFor[engine.Plan]():       "Plan",
	reflect.TypeFor[api.State]():         "WorkerState",
	reflect.TypeFor[api.TaskStatus]():    "TaskStatus",
	reflect.TypeFor[started]():           "Started",
	reflect.TypeFor[answer.Pending]():    "Pending",
	reflect.TypeFor[answer.Queued]():     "Queued",
	reflect.TypeFor[answer.QueuedTask](): "QueuedTask",
	reflect.TypeFor[cancelled]():         "Cancelled",
	reflect.TypeFor[validation]():        "Validation",
	reflect.TypeFor[planNeed]():          "PlanNeed",
	reflect.TypeFor[timeNeed]():          "TimeNeed",
	reflect.TypeFor[workerList]():        "Workers",
	reflect.TypeFor[answer.Worker]():     "Worker",
	reflect.TypeFor[answer.RecentTask](): "RecentTask",
	reflect.TypeFor[live.SharedLink]():   "Link",
	reflect.TypeFor[answer.Capacity]():   "Capacity",
	reflect.TypeFor[flows.Flow]():        "Flow",
	reflect.TypeFor[used]():              "Usage",
	reflect.TypeFor[planLimits]():        "PlanLimits",
	reflect.TypeFor[health]():            "Health",
	reflect.TypeFor[readiness]():         "Readiness",
}

// words are the types that have a few values only.
var words = map[reflect.Type]func() any{
	reflect.TypeFor[engine.Code](): func() any {
		table := answer.Codes()
		all := make([]engine.Code, len(table))
		for i, c := range table {
			all[i] = c.Code
		}
		return all
	},
	reflect.TypeFor[engine.Plan](): func() any { return engine.Plans },
	reflect.TypeFor[api.State]():   func() any { return []api.State{api.Online, api.Reserved, api.Busy, api.Offline} },
	reflect.TypeFor[api.TaskStatus](): func() any {
		return []api.TaskStatus{api.TaskPending, api.TaskComplete, api.TaskFailed}
	},
}

// reflector makes JSON Schemas of the types that answers are made of, so that
// what is documented is what is sent.
type reflector struct{ schemas fields }

// anyOf is the schema of a value of one of the types.
func (r *reflector) anyOf(values ...any) any {
	var all []any
	for _, v := range values {
		all = append(all, r.schema(reflect.TypeOf(v)))
	}
	if len(all) == 1 {
		return all[0]
	}
	return fields{"anyOf": all}
}

func (r *reflector) schema(t reflect.Type) any {
	name, ok := named[t]
	if !ok {
		return r.plain(t)
	}
	if _, known := r.schemas[name]; !known {
		r.schemas[name] = nil // while it is made, it may refer to itself
		r.schemas[name] = r.plain(t)
	}
	return fields{"$ref": components + name}
}

func (r *reflector) plain(t reflect.Type) any {
	if of := words[t]; of != nil {
		return fields{"type": "string", "enum": of()}
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return fields{} // any JSON
	case t == reflect.TypeFor[time.Time]():
		return fields{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return r.schema(t.Elem())
	}
	switch t.Kind() {
	case reflect.Bool:
		return fields{"type": "boolean"}
	case reflect.String:
		return fields{"type": "string"}
	case reflect.Int, reflect.Int64:
		return fields{"type": "integer"}
	case reflect.Float64:
		return fields{"type": "number"}
	case reflect.Slice:
		return fields{"type": "array", "items": r.schema(t.Elem())}
	case reflect.Map:
		return fields{"type": "object"}
	case reflect.Struct:
		return r.object(t)
	}
	panic("http: no schema for " + t.String())
}

// object is the schema of a struct. Optional fields are not required; a missing field
// that is not omitted is null.
func (r *reflector) object(t reflect.Type) any {
	properties, required := fields{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if f.Anonymous && name == "" { // its fields are those of the whole
			of := r.object(f.Type).(fields)
			maps.Copy(properties, of["properties"].(fields))
			if more, ok := of["required"].([]string); ok {
				required = append(required, more...)
			}
			continue
		}
		schema := r.schema(f.Type)
		omitted := strings.Contains(options, "omitempty")
		if f.Type.Kind() == reflect.Pointer && !omitted {
			schema = fields{"anyOf": []any{schema, fields{"type": "null"}}}
		}
		properties[name] = schema
		if !omitted {
			required = append(required, name)
		}
	}
	return fields{"type": "object", "properties": properties, "required": required}
}
