package engine

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Summary is an action in a few words, for readers that pay for each of them.
type Summary struct {
	Name  string
	Value string // its spelling
	Doc   string // one sentence
}

// Summaries lists the actions by name.
func Summaries() []Summary {
	var all []Summary
	for _, name := range ActionNames() {
		d := registry[name]
		all = append(all, Summary{name, d.value.Words, firstSentence(d.doc)})
	}
	return all
}

// HasAction reports whether there is an action of a name.
func HasAction(name string) bool { return registry[name] != nil }

// Help says in plain text all that the reference says of an action. It is empty for a
// name that no action has.
func Help(name string) string {
	d := registry[name]
	if d == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\nvalue: %s\n", d.name, d.doc, d.value.Words)
	for _, o := range d.beside {
		fmt.Fprintf(&b, "beside it, %s: %s\n", o.Name, o.Doc)
	}
	if len(d.opts) > 0 {
		b.WriteString("options:\n")
	}
	for _, o := range d.opts {
		fmt.Fprintf(&b, "- %s (%s): %s\n", o.Name, o.Shape.Words, o.Doc)
	}
	if d.result != "" {
		fmt.Fprintf(&b, "result: %s\n", d.result)
	}
	switch d.not {
	case NotInLoop:
		b.WriteString("not in a loop\n")
	case NotInLoop | NotInBranch:
		b.WriteString("not in a loop, then or else\n")
	}
	fmt.Fprintf(&b, "example: %s\n", d.example)
	return b.String()
}

// SurroundingNames are the fields of config that say what pages find around them.
func SurroundingNames() (names []string) {
	for _, e := range surroundingSchemas() {
		names = append(names, e.name)
	}
	return names
}

// HelpSurroundings says in plain text what the fields of [SurroundingNames] take.
func HelpSurroundings() string {
	var b strings.Builder
	for _, e := range surroundingSchemas() {
		var doc, schema string
		for _, f := range e.value.(object) {
			switch f.name {
			case "description":
				doc = f.value.(string)
			case "anyOf":
				schema = string(f.value.([]json.RawMessage)[0])
			}
		}
		fmt.Fprintf(&b, "- %s: %s Schema: %s\n", e.name, doc, schema)
	}
	return b.String()
}
