package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"troupe/engine/lang"
)

// Bounds of an item of a batch.
const (
	MaxItem   = 256 << 10 // bytes of its JSON
	itemKey   = "item"    // under which the data cache has it
	itemInner = itemKey + "."
)

// Template is a task that a batch plays once for each of its items: ${item.name} reads
// a field of the item.
type Template struct {
	Task *Task
	// reads has what the actions read of the item, and the first action that does.
	reads map[string]string
}

// ParseTemplate decodes the task of a batch. Its error is as that of [ParseWith]. The
// task is queued, whether it says so or not.
func ParseTemplate(body []byte, flows Flows) (*Template, error) {
	return parseTemplate(body, newDecoder(nil, flows))
}

// ParseTemplateFor is ParseTemplate for an account that may use these proxies and no
// others.
func ParseTemplateFor(body []byte, flows Flows, proxies []string) (*Template, error) {
	d := newDecoder(nil, flows)
	d.proxies = &proxies
	return parseTemplate(body, d)
}

func parseTemplate(body []byte, d *decoder) (*Template, error) {
	d.items = true
	source, err := queued(body, "a batch")
	if err != nil {
		return nil, err
	}
	t, err := parse(source, d)
	if err != nil {
		return nil, err
	}
	if t.Queue.Key != "" {
		return nil, &Invalid{Faults: []lang.Fault{{Path: "/queue/key", Message: "the tasks of a batch have no keys: give the batch one"}}}
	}
	return NewTemplate(t), nil
}

// NewTemplate is the template of a task that was parsed by [ParseTemplate].
func NewTemplate(t *Task) *Template {
	v := newReviewer(t)
	v.ofItem = map[string]string{}
	v.whole(t.Steps)
	return &Template{t, v.ofItem}
}

// itemFaults finds what reads a field of the item of a batch in a task that is none's, unless
// something may have saved a value under that name. Scripts are left out: what has no value
// stays in them as it is.
func (e *Invalid) itemFaults() (faults []lang.Fault) {
	v := e.reviewer()
	if v.goesOn() {
		return nil
	}
	v.ofItem = map[string]string{}
	v.list(e.task.Steps)
	for _, key := range slices.Sorted(maps.Keys(v.ofItem)) {
		faults = append(faults, lang.NewFault(v.ofItem[key],
			"${%s} reads the item of a batch, and this task has none: send it as the task of a batch, with the items, or save a value under %q before", key, itemKey))
	}
	return faults
}

// queued is the request with a queue.
func queued(body []byte, of string) ([]byte, error) {
	n, no := readBody(body)
	if no != nil {
		return nil, no
	}
	if !n.IsObject() {
		return nil, &Invalid{Faults: []lang.Fault{{Message: "want an object with the actions, not " + n.TypeName()}}}
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(bytes.TrimPrefix(body, byteOrderMark), &fields); err != nil {
		return nil, fmt.Errorf("read the task of %s: %w", of, err)
	}
	switch string(fields["queue"]) {
	case "false":
		return nil, &Invalid{Faults: []lang.Fault{{Path: "/queue", Message: "the tasks of " + of + " are queued: want true, options, or no queue"}}}
	case "", "null":
		fields["queue"] = json.RawMessage("true")
		return json.Marshal(fields)
	}
	return body, nil
}

// errNoObject: fields can be read of objects only.
var errNoObject = errors.New(`want an object such as {"name":"Ada"}`)

// Check finds what is wrong with an item. Paths are JSON Pointers into the item.
func (t *Template) Check(item []byte) []lang.Fault {
	if len(item) > MaxItem {
		return []lang.Fault{{Message: fmt.Sprintf("has %d bytes: want at most %d", len(item), MaxItem)}}
	}
	n, no := readBody(item)
	switch {
	case no != nil:
		return no.Faults
	case !n.IsObject():
		return []lang.Fault{{Message: errNoObject.Error() + ", not " + n.TypeName()}}
	}
	var faults []lang.Fault
	values := itemValues(item)
	for _, key := range slices.Sorted(maps.Keys(t.reads)) {
		if _, ok := lang.Lookup(values, key); !ok {
			field := key[len(itemInner):]
			faults = append(faults, lang.NewFault("/"+strings.ReplaceAll(field, ".", "/"), "missing: %s of the task reads ${%s}", t.reads[key], key))
		}
	}
	return faults
}

// itemValues are the values that a task has before its first action.
type itemValues json.RawMessage

func (v itemValues) Get(key string) (json.RawMessage, bool) {
	return json.RawMessage(v), key == itemKey
}

// WithItem is the task as it is played for an item.
func (t *Task) WithItem(item json.RawMessage) *Task {
	one := *t
	one.item = item
	return &one
}

// Item is the item of a batch that the task is played for; nil: there is none.
func (t *Task) Item() json.RawMessage { return t.item }
