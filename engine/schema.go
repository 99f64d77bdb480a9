package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"troupe/engine/lang"
)

// object is an object of JSON whose names keep the order in which they are
// written down.
type object []entry

type entry struct {
	name  string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, e := range o {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(e.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// Schemas returns the JSON Schemas (2020-12) of a request and its parts, by name:
// "Task" is the request. They are made from the definitions that requests are read
// with, and refer to each other below base.
//
// They do not say where an action is allowed, nor how options combine: [Parse]
// checks that.
func Schemas(base string) map[string]json.RawMessage {
	all := map[string]any{
		"Task":      taskSchema(base),
		"NewFlow":   flowSchema(base),
		"operator":  object{{"enum", lang.Operators}, {"description", "How the condition compares."}},
		"condition": described(lang.ConditionSchema(), "A condition: see the table in the reference of actions."),
		"value":     valueSchema(base),
		"selector":  described(lang.SelectorSchema(), "CSS, XPath, a saved element, or an object that says what a person perceives of the element."),
		"wording":   described(lang.WordingSchema(), "A text, or a regular expression."),
		"actions": object{
			{"type", "array"}, {"items", object{{"$ref", base + "action"}}}, {"maxItems", MaxSteps},
			{"description", "Actions that run one after the other."},
		},
	}
	var refs []object
	// In the order of the reference: editors offer them in this order.
	names := ActionNames()
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(slices.Index(groups, registry[a].group), slices.Index(groups, registry[b].group))
	})
	for _, name := range names {
		of := strings.ToUpper(name[:1]) + name[1:] + "Action"
		all[of] = registry[name].schema()
		refs = append(refs, object{{"$ref", base + of}})
	}
	all["action"] = object{
		{"description", "An object with exactly one action name and its value, and optionally options."},
		{"oneOf", refs},
	}
	out := make(map[string]json.RawMessage, len(all))
	for name, v := range all {
		b, err := json.Marshal(v)
		if err != nil {
			panic("engine: the schema of " + name + " is no JSON: " + err.Error())
		}
		// The shapes of the definitions are written without knowing where.
		out[name] = json.RawMessage(strings.ReplaceAll(string(b), `"#/$defs/`, `"`+base))
	}
	return out
}

// valueSchema is that of any value, with the functions that can stand in it.
func valueSchema(base string) object {
	any := []object{}
	for _, f := range lang.FunctionWords() {
		any = append(any, object{
			{"type", "object"}, {"description", f[2]}, {"required", []string{f[0]}}, {"additionalProperties", false},
			{"properties", object{{f[0], object{{"description", f[1]}, {"$ref", base + "value"}}}}},
		})
	}
	for _, t := range []string{"string", "number", "boolean", "null", "array", "object"} { // not a list of types: generators of clients refuse that
		any = append(any, object{{"type", t}})
	}
	return object{{"description", "Any value. A string that is ${key} alone is a saved value; an object with one field such as $trim is the call of a function."}, {"anyOf", any}}
}

// schema is that of an action as a whole.
func (d *definition) schema() object {
	options := append(slices.Clone(d.opts), commonOpts...)
	slices.SortStableFunc(options, func(a, b Opt) int { return cmp.Compare(a.Name, b.Name) })
	// An option of the action's own goes before the common one of its name.
	options = slices.CompactFunc(options, func(a, b Opt) bool { return a.Name == b.Name })
	var opts object
	for _, o := range options {
		opts = append(opts, entry{o.Name, optional(o.Shape.Schema, o.Doc)})
	}
	fields := object{{d.name, described(d.value.Schema, d.value.Words)}}
	for _, o := range d.beside {
		fields = append(fields, entry{o.Name, optional(o.Shape.Schema, o.Doc)})
	}
	return object{
		{"type", "object"}, {"description", d.doc}, {"required", []string{d.name}}, {"additionalProperties", false},
		{"properties", append(fields,
			entry{"options", object{{"type", []string{"object", "null"}}, {"additionalProperties", false}, {"properties", opts}}},
		)},
		{"examples", []json.RawMessage{json.RawMessage(d.example)}},
		{"x-page", demoShop + cmp.Or(d.page, "/")}, // where the example plays
	}
}

// described adds a description to a schema.
func described(schema, doc string) object {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(schema), &fields); err != nil {
		panic("engine: a schema is no JSON: " + schema)
	}
	o := object{{"description", doc}}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		o = append(o, entry{name, fields[name]})
	}
	return o
}

// optional lets a field be null, too: that is what many clients send for "not
// set".
func optional(schema, doc string, more ...entry) object {
	return append(object{{"description", doc}, {"anyOf", []json.RawMessage{json.RawMessage(schema), json.RawMessage(`{"type":"null"}`)}}}, more...)
}

func taskSchema(base string) object {
	part := func(doc string, properties object) object {
		return object{{"description", doc}, {"type", []string{"object", "null"}}, {"additionalProperties", false}, {"properties", properties}}
	}
	text := `{"type":"string","minLength":1}`
	return object{
		{"type", "object"}, {"description", "A request: what to do, and how."}, {"additionalProperties", false},
		{"properties", object{
			{"actions", optional(`{"$ref":"`+base+`actions"}`, "The actions, in order. Optional if the session says to preserve, close or override.")},
			{"workerId", optional(text, "Runs on this worker. Default: any.")},
			{"timeout", optional(lang.MillisShape.Schema, "Time for the whole list, from the start of its first action, in milliseconds. Values above the plan's limit are reduced to it.", entry{"default", Millis(DefaultTimeout)})},
			{"queueTimeout", optional(lang.NumberShape("", 0, float64(Millis(MaxQueueTimeout))).Schema, "How long the request waits for a worker before it is refused, in milliseconds.", entry{"default", 0})},
			{"config", part("Settings for all actions.", append(object{
				{"actionTimeout", optional(lang.MillisShape.Schema, "Time for each action, in milliseconds.", entry{"default", Millis(DefaultActionTimeout)})},
				{"continueOnError", optional(lang.BoolShape.Schema, "Whether the list goes on after a failed action.", entry{"default", true})},
				{"trace", optional(`{"enum":[true,false,"full"]}`, "Adds steps to the response; full also adds a file that shows the page before and after each step.", entry{"default", false})},
				{"onFailure", part("The files to save if the task fails.", object{
					{"screenshot", optional(lang.BoolShape.Schema, "A picture of the page at the failure.", entry{"default", false})},
					{"html", optional(lang.BoolShape.Schema, "The page's source at the failure.", entry{"default", false})},
					{"console", optional(lang.BoolShape.Schema, "The console messages of pages.", entry{"default", false})},
					{"network", optional(lang.BoolShape.Schema, "The network requests of pages.", entry{"default", false})},
				})},
				{"collect", part("What pages said and asked for, as part of the response.", object{
					{"console", optional(lang.BoolShape.Schema, "The console messages of pages.", entry{"default", false})},
					{"network", optional(lang.BoolShape.Schema, "The network requests of pages.", entry{"default", false})},
				})},
				{"har", optional(`{"anyOf":[{"type":"boolean"},{"type":"object","additionalProperties":false,"properties":{"inline":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"bodies":{"anyOf":[{"type":"boolean"},{"type":"null"}]}}}]}`, "Keeps the requests of pages with their answers as HAR 1.2: as a file, or inline in the response. bodies (default true) keeps what was sent and answered.", entry{"default", false})},
				{"dialogs", optional(`{"anyOf":[`+dialogShape.Schema+`,{"type":"array","items":`+dialogShape.Schema+`,"maxItems":`+fmt.Sprint(maxDialogRules)+`}]}`, "How dialogs of pages are answered; of several rules the first that covers a dialog.", entry{"default", "accept"})},
				{"downloads", optional(downloadsShape.Schema, "Whether files that pages send are kept.", entry{"default", "keep"})},
				{"uploads", optional(uploadsShape.Schema, "Whether uploadFile works.", entry{"default", "allow"})},
				{"isolation", optional(isolationShape.Schema, "What the task may find of earlier ones on its worker, and leave for later ones: never less isolation than the operator's (--isolation). Default: the operator's.")},
				{"sites", optional(sitesSchema, "The sites that pages may be from: a host, *.host for all names below it too, or an origin. Default: any.")},
				{"proxy", optional(proxySchema, "The operator's proxy that everything leaves through: a name that GET /v1/usage lists, or false for none. Default: none.")},
			}, append(surroundingSchemas(), requestSchemas()...)...))},
			{"session", part("Keeps a worker for later requests. Plans Standard and Pro.", object{
				{"preserve", optional(lang.BoolShape.Schema, "Reserves the worker after the task.")},
				{"id", optional(text, "Continues that session.")},
				{"close", optional(lang.BoolShape.Schema, "Ends the session of id after the actions.")},
				{"timeout", optional(lang.NumberShape("", float64(Millis(MinSessionTimeout)), float64(Millis(MaxSessionTimeout))).Schema, "How long the session can stay unused, in milliseconds.", entry{"default", Millis(DefaultSessionTimeout)})},
				{"override", optional(lang.BoolShape.Schema, "Takes over a worker that the account has reserved.")},
				{"label", optional(labelSchema, "A name for people, in the list of sessions.")},
				{"save", optional(lang.BoolShape.Schema, "Saves the session's profile after the actions.")},
				{"attach", optional(lang.BoolShape.Schema, "Clients that speak the browser's protocol are to attach to the session: it needs a browser that it shares with no other worker, and is refused without one.")},
			})},
			{"async", optional(lang.BoolShape.Schema, "Responds as soon as a worker has the task. Plans Standard and Pro.", entry{"default", false})},
			{"profile", optional(profileSchema, "The profile whose cookies and storage are put in before the task and saved after it. A session that the task opens keeps it, and saves it.")},
			{"queue", queueSchema()},
			{"notify", optional(NotifySchema(NotifyTask), "Receivers that are told of the task's end. For tasks with async or queue.")},
			{"label", optional(taskLabelSchema, "A name for people, in lists of tasks and runs.")},
			{"metadata", optional(metadataSchema, "Values of the client, by which runs are found.")},
			{"keepResult", optional(lang.BoolShape.Schema, "Keeps a copy of the result with the run, as long as the run is kept. It counts in the account's storage.", entry{"default", false})},
		}},
	}
}
